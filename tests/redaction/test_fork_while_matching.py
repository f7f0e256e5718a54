"""A process forked while another thread records never waits for that thread."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

# The other thread is nearly always inside a search of a long text when the children are made.
_PROGRAM = """
import multiprocessing, threading
import agentdbg

TEXT = "a harmless word, " * 20_000


def work(number):
    agentdbg.record_tool_call("work", {"number": number, "text": TEXT}, number)
    return number


if __name__ == "__main__":
    with agentdbg.traced_run("pool"):
        stop = threading.Event()

        def record():
            number = 0
            while not stop.is_set():
                number += 1
                agentdbg.record_llm_call("m", prompt=f"{number} {TEXT}", response="x", note={"deep": [TEXT, number]})

        threads = [threading.Thread(target=record) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            with multiprocessing.get_context("fork").Pool(4) as pool:
                assert sum(pool.map(work, range(12), chunksize=1)) == 66
        stop.set()
        for thread in threads:
            thread.join()
    print("done")
"""


@pytest.mark.parametrize("attempt", range(4))
def test_a_pool_started_while_threads_record_does_its_work(attempt: int, tmp_path: Path) -> None:
    """The matcher takes a lock inside its own library; a child that inherits it taken would hang for ever."""
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    environment = {**os.environ, "AGENTDBG_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.stdout == "done\n", done.stderr
