"""Real signals at random instants, in real processes: what the tracer of the other tests cannot show."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="no such signals here")]

_RANDOM_TIMES = """
    import ctypes, os, random, signal, sys, threading, time
    import agentdbg
    from agentdbg.recorder.context import live_runs

    how, attempts = sys.argv[1], int(sys.argv[2])
    random.seed(7)

    class TimeIsUp(OSError):
        pass

    class Odd:
        def __repr__(self):
            return "".join(random.choices("abc", k=20))

    def time_is_up(signum, frame):
        raise current

    def strike(thread_id, seconds):
        time.sleep(seconds)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(TimeIsUp))

    @agentdbg.tool
    def tool(number):
        return Odd()

    @agentdbg.trace
    def agent(end):
        number = 0
        while time.monotonic() < end:
            number += 1
            agentdbg.record_llm_call("gpt-4o", f"question {number}", Odd(), usage={"input_tokens": 1})
            tool(number)
            agentdbg.record_state({"number": number})
            with agentdbg.traced_run("span"):
                agentdbg.record_error(ValueError(number))

    signal.signal(signal.SIGALRM, time_is_up)
    if how == "thread":
        agent(0)  # an import swallows an OSError that another thread raises in it, and no handler can be put off there
    descriptors = len(os.listdir("/dev/fd"))
    swallowed = 0
    for attempt in range(attempts):
        current = TimeIsUp(attempt)
        seconds = random.uniform(0.0002, 0.02)
        try:
            if how == "signal":
                signal.setitimer(signal.ITIMER_REAL, seconds)
            else:
                threading.Thread(target=strike, args=(threading.get_ident(), seconds)).start()
            agent(time.monotonic() + 5)
            swallowed += 1
        except TimeIsUp as error:
            if how == "signal":
                assert error is current
        assert not live_runs, live_runs
    assert len(os.listdir("/dev/fd")) == descriptors
    sys.exit(f"{swallowed} of {attempts} were swallowed" if swallowed else 0)
"""


@pytest.mark.parametrize("how", ["signal", "thread"])
def test_a_timeout_at_a_random_instant_reaches_the_program(tmp_path: Path, data_dir: Path, how: str) -> None:
    """A signal's handler, and the timeouts that one thread raises in another."""
    done = _run(tmp_path, _RANDOM_TIMES, how, "150")

    assert (done.returncode, done.stderr) == (0, "")
    assert _open_runs(data_dir) == []


_WHILE_LOADING = """
    import signal, sys
    module, signal_name = sys.argv[1:]

    class Press:
        def find_spec(self, name, path=None, target=None):
            if name == module:
                signal.raise_signal(getattr(signal, signal_name))

    def time_is_up(signum, frame):
        raise TimeoutError("time is up")

    signal.signal(signal.SIGALRM, time_is_up)
    sys.meta_path.insert(0, Press())
    import agentdbg

    try:
        with agentdbg.traced_run("first"):
            agentdbg.record_llm_call("m", "p", "r")
    except (KeyboardInterrupt, TimeoutError) as error:
        print(type(error).__name__)
    del sys.meta_path[0]
    with agentdbg.traced_run("second"):
        print(agentdbg.record_llm_call("m", "p", "r") is not None)
"""


@pytest.mark.parametrize(
    "module", ["msgspec", "msgspec._utils", "re2", "agentdbg.config", "agentdbg.loops", "traceback"]
)
@pytest.mark.parametrize(("name", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGALRM", "TimeoutError")])
def test_what_a_handler_raises_while_a_run_loads_its_modules_reaches_the_program(
    tmp_path: Path, data_dir: Path, module: str, name: str, raised: str
) -> None:
    """Some imports swallow it: msgspec makes an ImportError of Ctrl-C, and Python's own an absent file of a timeout."""
    done = _run(tmp_path, _WHILE_LOADING, module, name)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"{raised}\nTrue\n", "")
    assert _open_runs(data_dir) == []


_CTRL_C = """
    import os, random, signal, sys, threading, time
    import agentdbg

    def press():
        time.sleep(float(sys.argv[1]))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with agentdbg.traced_run("stuck"):
        while True:
            agentdbg.record_tool_call("t", {"a": object()}, "r")
"""


@pytest.mark.parametrize("milliseconds", range(0, 240, 20))
def test_ctrl_c_around_the_first_record_ends_the_program(tmp_path: Path, data_dir: Path, milliseconds: int) -> None:
    """Whether it meets the start of the run, the loading of its modules, or a record."""
    done = _run(tmp_path, _CTRL_C, str(milliseconds / 1000))

    assert done.returncode == -signal.SIGINT
    assert _open_runs(data_dir) == []


def _run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program), encoding="utf-8")
    command = [sys.executable, str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def _open_runs(data_dir: Path) -> list[str]:
    """Runs that are not closed, or whose lines are not whole."""
    found = []
    for folder in (data_dir / "runs").iterdir() if (data_dir / "runs").is_dir() else ():
        events = [json.loads(line) for line in (folder / "events.jsonl").read_bytes().splitlines()]
        if (
            json.loads((folder / "run.json").read_bytes())["status"] == "running"
            or events[-1]["event_type"] != "RUN_END"
        ):
            found.append(folder.name)
    return found
