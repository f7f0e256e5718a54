"""A real agent with threads, forks and tasks, under signals, kills, a full disk and a jumping clock: all holds."""

from __future__ import annotations

import os
import random
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.chaos.judging import Chaos, Reader, small_disk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="no such signals here"),
]

_SECONDS = 20.0
_WAYS = ("left alone", "kill", "terminate", "interrupt")


def test_nothing_is_lost_swallowed_hung_or_torn_in_chaos(tmp_path: Path) -> None:
    """`AGENTDBG_TEST_SEED` repeats the choices of a run that failed; the moments are the machine's."""
    seed = int(os.environ.get("AGENTDBG_TEST_SEED") or random.randrange(10**6))
    print(f"AGENTDBG_TEST_SEED={seed}")
    with small_disk(tmp_path / "disk") as disk:
        data_dir = (disk or tmp_path) / "data"
        chaos, reader = Chaos(data_dir, seed, disk=disk), Reader(data_dir)
        end, turn = time.monotonic() + _SECONDS, 0
        while time.monotonic() < end or turn < len(_WAYS):
            chaos.run_agent(chaos.dice.uniform(2, 6), _WAYS[turn % len(_WAYS)])
            turn += 1
        reader.end()

    wrong = chaos.wrong + reader.wrong
    assert not wrong, "\n".join(wrong)
    assert chaos.recorded
    assert reader.asked
