"""The limit of time: it stops a run that records nothing, and only that run."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import (
    AgentDbgGuardrailExceeded,
    record_llm_call,
    record_tool_call,
    trace,
    traced_run,
)
from agentdbg.recorder.context import current_scope
from agentdbg.recorder.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Recorded


def test_time_stops_a_busy_thread_that_records_nothing(recorded: Recorded) -> None:
    """An agent stuck in its own code is stuck all the same."""

    @trace(max_duration_s=0.1)
    def agent() -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pass

    started = time.monotonic()
    with pytest.raises(AgentDbgGuardrailExceeded) as caught:
        agent()

    assert time.monotonic() - started < 10
    assert caught.value.guardrail == "max_duration_s"
    assert caught.value.threshold == 0.1
    run = recorded.only()
    assert run.types() == ["RUN_START", "ERROR", "RUN_END"]
    assert run.one("ERROR")["payload"]["guardrail"] == "max_duration_s"


@pytest.mark.asyncio
async def test_time_stops_a_waiting_task(recorded: Recorded) -> None:
    """A task is stopped by cancelling it, and its caller sees why."""

    @trace(max_duration_s=0.05)
    async def agent() -> None:
        record_llm_call("m")
        await asyncio.sleep(20)

    with pytest.raises(AgentDbgGuardrailExceeded) as caught:
        await agent()

    assert caught.value.guardrail == "max_duration_s"
    assert recorded.only().types() == ["RUN_START", "LLM_CALL", "ERROR", "RUN_END"]
    await asyncio.sleep(0)  # the cancelling has been taken back: this task goes on


def test_time_also_stops_at_the_next_record(recorded: Recorded) -> None:
    """The clock is looked at with every event too."""
    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("slow", max_duration_s=0.02):
        for n in range(1000):
            record_tool_call(f"t{n}")
            time.sleep(0.005)

    assert recorded.only().meta["status"] == "error"


def test_time_stops_a_loop_that_waits_inside_a_plain_function(recorded: Recorded) -> None:
    """`@trace` on a function that calls `asyncio.run` is how most agents begin."""

    @trace(max_duration_s=0.1)
    def agent() -> None:
        asyncio.run(asyncio.sleep(20))

    started = time.monotonic()
    with pytest.raises(AgentDbgGuardrailExceeded):
        agent()

    assert time.monotonic() - started < 10
    assert recorded.only().types() == ["RUN_START", "ERROR", "RUN_END"]


def test_a_stop_for_time_can_be_sent_between_processes() -> None:
    """Process pools pickle what a task raised; what cannot be pickled breaks the pool."""

    @trace(max_duration_s=0.05)
    def agent() -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pass

    with pytest.raises(AgentDbgGuardrailExceeded) as caught:
        agent()

    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is AgentDbgGuardrailExceeded
    assert (copy.guardrail, copy.threshold, str(copy)) == ("max_duration_s", 0.05, str(caught.value))


def test_a_limit_of_ages_is_no_fault(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    """Some write a huge number for "no limit"; no clock can wait that long."""
    with traced_run("long", max_duration_s=1e30):
        time.sleep(0.05)

    assert recorded.only().meta["dropped_events"] == 0
    assert capsys.readouterr().err == ""


def test_a_run_left_just_as_its_time_is_up_is_not_stopped_as_well(recorded: Recorded) -> None:
    """Ending in time and being stopped exclude each other, and nothing is raised after the run."""
    with traced_run("just in time", max_duration_s=0.05):
        scope = current_scope()
        assert scope is not None
        run = scope.run
        # Whatever must be waited for at the end is waited for beyond the limit.
        run.before_end["slow"] = lambda: time.sleep(0.2)
    for _ in range(1000):
        pass

    assert recorded.only().types() == ["RUN_START", "RUN_END"]
    assert recorded.only().meta["status"] == "ok"


@pytest.mark.asyncio
async def test_a_task_cancelled_by_somebody_else_stays_cancelled(recorded: Recorded) -> None:
    """A stopped run must not swallow the cancelling of its caller."""

    @trace(max_duration_s=60, max_tool_calls=0)
    async def agent() -> None:
        with contextlib.suppress(AgentDbgGuardrailExceeded):
            record_tool_call("t")
        await asyncio.sleep(20)

    task = asyncio.create_task(agent())
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert recorded.only().meta["status"] == "error"


def test_a_clock_that_strikes_while_the_run_is_being_left_does_not_leave_it_open(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter raises what the clock asked for at any bytecode, also at one of ours."""
    real = Deadline.cancel
    struck: list[bool] = []

    def strike(self: Deadline) -> None:
        if not struck:
            struck.append(True)
            raise AgentDbgGuardrailExceeded("max_duration_s", 60, 61)
        real(self)

    monkeypatch.setattr(Deadline, "cancel", strike)
    with traced_run("left", max_duration_s=60):
        pass

    assert struck
    assert recorded.only().types() == ["RUN_START", "RUN_END"]


def test_a_block_that_is_not_told_of_its_stop_is_closed_all_the_same(recorded: Recorded) -> None:
    """CPython 3.13 leaves the jump back of a loop out of the block that the loop stands in."""

    def agent() -> None:
        steps = 0
        with traced_run("busy", max_duration_s=0.05):
            while steps >= 0:
                steps += 1

    with pytest.raises(AgentDbgGuardrailExceeded):
        agent()

    _wait_until(lambda: "RUN_END" in recorded.only().types())
    assert recorded.only().types() == ["RUN_START", "ERROR", "RUN_END"]
    assert recorded.only().meta["status"] == "error"
    with traced_run("the next"):
        record_llm_call("m")
    assert recorded.all()[1].types() == ["RUN_START", "LLM_CALL", "RUN_END"]


def _wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_thread_that_is_just_starting_another_is_not_struck(recorded: Recorded) -> None:
    """Until the new one runs it has the number of its creator, and would be the one that the stop is raised in."""
    names: dict[str, Any] = {}
    exec(compile("def start(self, wait, end): wait(0.2); end(True)", threading.__file__, "exec"), names)
    ended: list[bool] = []
    beginning = threading.Thread()

    def agent() -> None:
        with traced_run("r", max_duration_s=0.02):
            names["start"](beginning, time.sleep, ended.append)
            _work_until(time.monotonic() + 20)

    with pytest.raises(AgentDbgGuardrailExceeded):
        agent()
    assert ended == [True]
    assert recorded.only().types() == ["RUN_START", "ERROR", "RUN_END"]


def _work_until(end: float) -> None:
    while time.monotonic() < end:
        pass


_MANY = """
import threading, time, agentdbg

def agent():
    with agentdbg.traced_run("r", max_duration_s=0.0005):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            thread = threading.Thread(target=sum, args=([1, 2],))
            thread.start()
            thread.join()
            sum(n for n in range(30000))

stopped = 0
for _ in range(60):
    try:
        agent()
    except agentdbg.AgentDbgGuardrailExceeded:
        stopped += 1
time.sleep(0.1)
print(stopped)
"""


@pytest.mark.slow
def test_a_stop_meets_the_block_that_it_is_for_and_nothing_else(recorded: Recorded) -> None:
    """Not a thread that is just beginning, not the code after the block, and every run is closed."""
    done = subprocess.run([sys.executable, "-c", _MANY], check=True, timeout=300, capture_output=True, text=True)

    # What is raised in a callback of the garbage collector is ignored by the interpreter, and raised again later.
    assert "thread started by" not in done.stderr
    assert int(done.stdout) == 60
    statuses = {run.meta["status"] for run in recorded.all()}
    assert len(recorded.all()) == 60
    assert "running" not in statuses


_PROFILED = """
import sys, time, agentdbg

@agentdbg.trace(max_duration_s=0.05)
def agent():
    while True:
        pass

try:
    agent()
except agentdbg.AgentDbgGuardrailExceeded:
    pass

def goes_on():
    return "and on"

sys.setprofile(lambda *_: None)
goes_on()
"""


@pytest.mark.slow
def test_a_program_that_is_profiled_goes_on_after_its_time_was_up() -> None:
    """An exception that was taken back left a mark in the interpreter, with which CPython 3.11 hangs when profiled."""
    subprocess.run([sys.executable, "-c", _PROFILED], check=True, timeout=30)
