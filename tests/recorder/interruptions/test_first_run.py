"""
The first run of a process loads, opens and hooks what later ones find: interrupted, or forked, at places in there.

A sample of the places, another one each time, with its seed in the failure; `make soak` takes many more.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")]

_PROGRAM = Path(__file__).with_name("first_run.py")
_SAMPLES = int(os.environ.get("AGENTDBG_TEST_SAMPLES") or 500)


@pytest.mark.parametrize(("how", "share"), [("interrupt", 0.14), ("fork", 0.06)])
@pytest.mark.parametrize("program", ["function", "coroutine", "block", "implicit", "pause"])
def test_a_first_run_is_interrupted_or_forked_anywhere(program: str, how: str, share: float) -> None:
    """The same exception comes out, every run is closed, and no child hangs."""
    seed = random.randrange(10**6)
    command = [sys.executable, "-W", "ignore", str(_PROGRAM), program, how, str(seed), str(int(_SAMPLES * share))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=36_000)

    assert (done.returncode, done.stdout) == (0, ""), f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
