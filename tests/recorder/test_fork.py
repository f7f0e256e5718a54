"""A fork may meet another thread anywhere: its child must still record, and never hang."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")]

# A thread stands in the import of one module (or in nothing, once everything is loaded) while another forks.
_STANDING_IN_AN_IMPORT = """
    import os, signal, sys, threading, time
    module, moment = sys.argv[1:]
    there = threading.Event()

    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name == module and threading.current_thread() is not threading.main_thread():
                there.set()
                time.sleep(0.3)

    sys.meta_path.insert(0, Slow())
    import agentdbg

    def work():
        with agentdbg.traced_run("work"):
            agentdbg.record_llm_call("m", prompt=object(), response="password=hunter2hunter2")
            agentdbg.record_tool_call("t", {"a": 1}, error=ValueError("x"))
            agentdbg.record_state({"a": object()})

    def fork_and_work():
        thread = threading.Thread(target=work)
        thread.start()
        there.wait(1)
        if os.fork() == 0:
            signal.alarm(20)
            work()
            os._exit(0)
        status = os.wait()[1]
        thread.join()
        return status

    if moment == "before any run":
        status = fork_and_work()
    else:
        with agentdbg.traced_run("main"):
            status = fork_and_work()
    sys.exit(1 if status else 0)
"""
_MODULES = (
    "msgspec",
    "re2",
    "traceback",
    "agentdbg.loops",
    "agentdbg.redaction.objects",
    "agentdbg.recorder.active_run",
)


@pytest.mark.parametrize("module", _MODULES)
@pytest.mark.parametrize("moment", ["before any run", "inside a run"])
def test_a_child_forked_while_a_thread_loads_a_module_of_ours_records(tmp_path: Path, module: str, moment: str) -> None:
    """multiprocessing forks when it likes, and a child that waits for a dead thread's lock waits for ever."""
    done = _run(tmp_path, _STANDING_IN_AN_IMPORT, module, moment)

    assert (done.returncode, done.stderr) == (0, "")


_MANY_THREADS = """
    import multiprocessing, sys, threading
    import agentdbg

    def record(number):
        for again in range(20):
            agentdbg.record_tool_call("t", {"number": number, "odd": object()}, error=KeyError(again))
            agentdbg.record_llm_call("m", f"question {again}", "password=hunter2hunter2", usage={"input_tokens": 1})
        return number

    @agentdbg.trace
    def agent():
        threads = [threading.Thread(target=record, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map_async(record, range(4)).get(timeout=60) == [0, 1, 2, 3]
        for thread in threads:
            thread.join()

    agent()
"""


def test_pools_of_forked_workers_record_while_threads_do(tmp_path: Path) -> None:
    """The usual shape: threads that record, and a pool that forks in the middle of them."""
    done = _run(tmp_path, _MANY_THREADS)

    assert (done.returncode, done.stderr) == (0, "")


def _run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program), encoding="utf-8")
    command = [sys.executable, "-W", "ignore", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
