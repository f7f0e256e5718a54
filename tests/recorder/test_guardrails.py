"""Limits: exact, not to be swallowed, and everything that led to the stop on disk before it is raised."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import textwrap
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import (
    AgentDbgGuardrailExceeded,
    AgentDbgLoopAbort,
    llm,
    llm_call,
    record_error,
    record_event,
    record_llm_call,
    record_state,
    record_tool_call,
    tool,
    trace,
    traced_run,
)
from agentdbg.recorder.limits import RunClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Recorded


def _models(count: int) -> None:
    for number in range(count):
        record_llm_call(f"model-{number}", response=str(number))


_CROSSINGS: list[tuple[dict[str, Any], Callable[[], None], str, float]] = [
    ({"max_llm_calls": 3}, lambda: _models(10), "max_llm_calls", 4),
    ({"max_tool_calls": 2}, lambda: [record_tool_call(f"t{n}") for n in range(9)], "max_tool_calls", 3),  # type: ignore[list-item]
    ({"max_events": 2}, lambda: [record_state({"n": n}) for n in range(9)], "max_events", 3),  # type: ignore[list-item]
    ({"max_events": 2}, lambda: [record_error("e") for n in range(9)], "max_events", 3),  # type: ignore[list-item]
    ({"max_events": 2}, lambda: [record_event("OWN", "e") for n in range(9)], "max_events", 3),  # type: ignore[list-item]
    (
        {"max_tokens": 25},
        lambda: [record_llm_call(f"m{n}", usage={"prompt_tokens": 9, "completion_tokens": 1}) for n in range(9)],  # type: ignore[list-item]
        "max_tokens",
        30,
    ),
    ({"max_cost_usd": 0.5}, lambda: [record_llm_call(f"m{n}", cost_usd=0.2) for n in range(9)], "max_cost_usd", 0.6),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("limits", "cross", "name", "actual"), _CROSSINGS)
def test_crossing_a_limit_writes_everything_and_then_raises(
    recorded: Recorded, limits: dict[str, Any], cross: Callable[[], None], name: str, actual: float
) -> None:
    """Whatever stopped the run is on disk when the caller sees the exception."""
    with pytest.raises(AgentDbgGuardrailExceeded) as caught, traced_run("limited", **limits):
        cross()

    run = recorded.only()
    assert (caught.value.guardrail, caught.value.threshold, caught.value.actual) == (name, limits[name], actual)
    error = run.events[-2]
    assert error["event_type"] == "ERROR"
    payload = error["payload"]
    assert payload["error_type"] == "AgentDbgGuardrailExceeded"
    assert payload["message"].startswith(f"{name} exceeded")
    assert payload["stack"] is None
    assert (payload["guardrail"], payload["threshold"], payload["actual"]) == (name, limits[name], actual)
    assert error["parent_id"] == run.events[-3]["parent_id"]
    assert run.events[-1]["payload"]["status"] == run.meta["status"] == "error"
    assert run.one("RUN_START")["payload"]["guardrails"][name] == limits[name]


def test_counts_include_the_crossing_event(recorded: Recorded) -> None:
    """The call was made, so it counts: N+1."""
    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("limited", max_llm_calls=3):
        _models(10)

    run = recorded.only()
    assert run.meta["counts"]["llm_calls"] == len(run.of_type("LLM_CALL")) == 4


def test_an_around_seam_makes_no_call_too_many(recorded: Recorded) -> None:
    """A limit that is noticed after the call has been paid for is half a limit."""
    made = []

    @llm(model="m")
    def ask(n: int) -> int:
        made.append(n)
        return n

    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("limited", max_llm_calls=3):
        for n in range(10):
            ask(n)

    run = recorded.only()
    assert made == [0, 1, 2]
    assert run.meta["counts"]["llm_calls"] == 3
    assert run.types(call_starts=True)[-4:] == ["LLM_CALL", "LOOP_WARNING", "ERROR", "RUN_END"]


def test_sixteen_threads_racing_for_a_hundred_places_make_a_hundred_calls(recorded: Recorded) -> None:
    """Exact across threads: not 101, not 99."""
    made = []

    @llm(model="m")
    def ask(n: int) -> int:
        made.append(n)
        time.sleep(0.0005)
        return n

    def work() -> None:
        try:
            for n in range(50):
                ask(n)
        except AgentDbgGuardrailExceeded:
            pass

    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("race", max_llm_calls=100):
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        record_state({"after": 1})

    run = recorded.only()
    assert len(made) == 100
    assert run.meta["counts"]["llm_calls"] == len(run.of_type("LLM_CALL")) == 100
    assert run.meta["status"] == "error"


def test_a_limit_cannot_be_swallowed(recorded: Recorded) -> None:
    """`except Exception` around every step is what agents look like."""
    made: list[int] = []

    @trace(max_llm_calls=2)
    def agent() -> str:
        while True:
            try:
                with llm_call("m", prompt=len(made)) as call:
                    made.append(1)
                    call.response = len(made)
            except Exception:
                pass

    with pytest.raises(AgentDbgGuardrailExceeded) as caught:
        agent()

    assert caught.value.guardrail == "max_llm_calls"
    assert len(made) == 2
    assert recorded.only().meta["status"] == "error"


def test_a_run_whose_stop_was_swallowed_and_left_normally_still_ends_as_error(recorded: Recorded) -> None:
    """The return value is the caller's; the status is ours."""

    @trace(max_tool_calls=1)
    def agent() -> str:
        try:
            record_tool_call("a")
            record_tool_call("b")
        except Exception:
            return "partial answer"
        return "full answer"

    assert agent() == "partial answer"
    run = recorded.only()
    assert run.meta["status"] == "error"
    assert run.one("RUN_END")["payload"]["error"]["error_type"] == "AgentDbgGuardrailExceeded"


def test_cleanup_after_a_stop_is_recorded_and_not_interrupted(recorded: Recorded) -> None:
    """`finally` blocks save what can be saved; the stop is already on its way."""
    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("limited", max_llm_calls=1):
        try:
            _models(5)
        finally:
            record_state({"saved": True})
            with tool_call_block():
                pass

    run = recorded.only()
    assert run.types() == ["RUN_START", "LLM_CALL", "LLM_CALL", "ERROR", "STATE_UPDATE", "TOOL_CALL", "RUN_END"]


def tool_call_block() -> Any:
    from agentdbg import tool_call

    return tool_call("close files")


def test_a_call_that_crosses_tokens_gives_its_result_and_the_next_is_refused(recorded: Recorded) -> None:
    """The answer was paid for; throwing it away would be a second loss."""
    answers = []

    with pytest.raises(AgentDbgGuardrailExceeded) as caught, traced_run("t", max_tokens=10):
        for n in range(5):
            with llm_call("m", prompt=n) as call:
                call.response = f"answer {n}"
                call.usage = {"prompt_tokens": 8, "completion_tokens": 4}
            answers.append(call.response)

    assert answers == ["answer 0"]
    assert caught.value.actual == 12
    assert recorded.only().types() == ["RUN_START", "LLM_CALL", "ERROR", "RUN_END"]


def test_stop_on_loop_writes_the_warning_then_the_error(recorded: Recorded) -> None:
    """The reason comes before the consequence, in the file too."""
    with pytest.raises(AgentDbgLoopAbort) as caught, traced_run("loop", stop_on_loop=True):
        for _ in range(20):
            record_llm_call("m", response="try again")
            record_tool_call("search", {"q": "same"}, "nothing")

    run = recorded.only()
    assert caught.value.guardrail == "stop_on_loop"
    assert isinstance(caught.value, AgentDbgGuardrailExceeded)
    assert run.types()[-3:] == ["LOOP_WARNING", "ERROR", "RUN_END"]
    warning = run.one("LOOP_WARNING")
    assert warning["payload"]["severity"] == "critical"
    assert warning["payload"]["repetitions"] == caught.value.actual == 3
    assert run.events[-2]["payload"]["error_type"] == "AgentDbgLoopAbort"
    assert run.meta["counts"]["loop_warnings"] == 1


def test_a_later_loop_stop_writes_no_second_warning(recorded: Recorded) -> None:
    """`stop_on_loop_min_repetitions` gives an agent time to find out by itself."""
    with (
        pytest.raises(AgentDbgLoopAbort) as caught,
        traced_run("loop", stop_on_loop=True, stop_on_loop_min_repetitions=5),
    ):
        for _ in range(20):
            record_tool_call("search", {"q": "same"}, "nothing")

    run = recorded.only()
    assert caught.value.actual == 5
    assert len(run.of_type("TOOL_CALL")) == 5
    assert len(run.of_type("LOOP_WARNING")) == 1


def test_a_working_agent_is_never_stopped_by_stop_on_loop(recorded: Recorded) -> None:
    """Think, act, think, act with new results each time is work, not a loop."""
    with traced_run("work", stop_on_loop=True):
        for n in range(30):
            record_llm_call("m", response=f"now looking at page {n} of the manual, section {n * 7}")
            record_tool_call("read_page", {"page": n}, f"text of page {n}: {'lorem ' * n}")

    assert recorded.only().meta["status"] == "ok"


@pytest.mark.parametrize("limit", ["3", 3.0])
def test_limits_from_the_environment_and_odd_types_hold(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, limit: Any
) -> None:
    """Settings are text; arguments are whatever people pass."""
    if isinstance(limit, str):
        monkeypatch.setenv("AGENTDBG_MAX_LLM_CALLS", limit)
        limits = {}
    else:
        limits = {"max_llm_calls": limit}
    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("limited", **limits):
        _models(10)

    assert recorded.only().meta["counts"]["llm_calls"] == 4


def test_arguments_beat_the_environment(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest setting wins."""
    monkeypatch.setenv("AGENTDBG_MAX_LLM_CALLS", "1")
    with traced_run("roomy", max_llm_calls=5):
        _models(5)

    assert recorded.only().meta["status"] == "ok"


def test_a_limit_that_makes_no_sense_is_said_and_not_applied(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    """The agent runs; its owner learns that the limit does not hold."""
    with traced_run("odd", max_llm_calls="many"):
        _models(5)

    assert recorded.only().meta["status"] == "ok"
    assert "max_llm_calls='many', which is not a whole number; kept no limit" in capsys.readouterr().err


def test_tools_of_a_stopped_run_in_other_threads_are_stopped_too(recorded: Recorded) -> None:
    """A stop is for the run, not for the thread that happened to cross the line."""
    stopped = []

    @tool
    def act(n: int) -> int:
        return n

    def other() -> None:
        try:
            act(1)
        except AgentDbgGuardrailExceeded as error:
            stopped.append(error.guardrail)
        try:
            act(2)
        except Exception:
            stopped.append("held")
        except BaseException as error:
            stopped.append(type(error).__name__)

    with pytest.raises(AgentDbgGuardrailExceeded), traced_run("t", max_llm_calls=1):
        try:
            _models(3)
        finally:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    assert stopped == ["max_llm_calls", "RunStopped"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_children_share_the_limit(tmp_path: Path, data_dir: Path, recorded: Recorded) -> None:
    """Over by at most one per process."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import os
            from agentdbg import traced_run, tool, AgentDbgGuardrailExceeded

            @tool
            def act(n): ...

            try:
                with traced_run("forks", max_tool_calls=50):
                    for child in range(4):
                        if os.fork() == 0:
                            try:
                                for n in range(100):
                                    act(n)
                            except AgentDbgGuardrailExceeded:
                                pass
                            os._exit(0)
                    for child in range(4):
                        os.wait()
                    act(0)
            except AgentDbgGuardrailExceeded as error:
                print(error)
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=60, check=True, env={**os.environ}
    )
    assert "max_tool_calls exceeded" in done.stdout, done.stderr
    run = recorded.only()
    assert 50 <= len(run.of_type("TOOL_CALL")) <= 54
    assert run.meta["status"] == "error"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_run_that_was_stopped_in_a_forked_child_ends_as_error(recorded: Recorded) -> None:
    """Workers hit the limit and the parent only waits for them; such a run did not go well."""
    with traced_run("workers", max_tool_calls=2):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                for number in range(5):
                    record_tool_call("act", {"number": number})
            os._exit(0)
        os.waitpid(child, 0)

    run = recorded.only()
    assert run.meta["status"] == "error"
    assert run.one("ERROR")["payload"]["guardrail"] == "max_tool_calls"
    assert "forked" in run.one("RUN_END")["payload"]["error"]["message"]


def test_each_new_thread_meets_the_public_exception_first(recorded: Recorded) -> None:
    """The system gives a new thread the number of one that has ended; it has been told nothing all the same."""
    met: list[str] = []

    def work() -> None:
        try:
            record_tool_call("t")
        except BaseException as error:
            met.append(type(error).__name__)

    with traced_run("threads", max_tool_calls=0):
        for _ in range(5):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

    assert met == ["AgentDbgGuardrailExceeded"] * 5
    assert recorded.only().meta["status"] == "error"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="task groups came with 3.11")
@pytest.mark.parametrize("also_fails", [False, True])
def test_a_stop_swallowed_in_a_task_group_can_be_caught_outside(recorded: Recorded, also_fails: bool) -> None:
    """The group hands on what `except Exception` could not hold inside; outside the run it must be able to."""

    async def stubborn() -> None:
        for _ in range(5):
            with contextlib.suppress(Exception):
                record_tool_call("t")
            await asyncio.sleep(0)

    async def failing() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            raise ValueError("mine")

    async def agent() -> None:
        with traced_run("group", max_tool_calls=1):
            async with asyncio.TaskGroup() as group:  # type: ignore[attr-defined,unused-ignore]
                group.create_task(stubborn())
                if also_fails:
                    group.create_task(failing())

    with pytest.raises(Exception) as caught:
        asyncio.run(agent())

    if also_fails:
        kinds = {type(member).__name__ for member in caught.value.exceptions}  # type: ignore[attr-defined]
        assert kinds == {"AgentDbgGuardrailExceeded", "ValueError"}
    else:
        assert type(caught.value) is AgentDbgGuardrailExceeded
        assert [event["payload"]["guardrail"] for event in recorded.only().of_type("ERROR")] == ["max_tool_calls"]


def test_a_limit_that_cannot_even_be_shown_keeps_nothing_from_being_recorded(recorded: Recorded) -> None:
    """Saying what is wrong with a value must not be what goes wrong."""

    class Unshowable:
        def __repr__(self) -> str:
            raise ValueError("no")

    with traced_run("odd", max_llm_calls=Unshowable()):
        record_llm_call("m")

    assert recorded.only().meta["status"] == "ok"


def test_spending_exactly_the_limit_is_within_it(recorded: Recorded) -> None:
    """A hundred calls of a cent are a dollar, whatever binary fractions say."""
    with traced_run("cents", max_cost_usd=1):
        for _ in range(100):
            record_llm_call("m", cost_usd=0.01)
        with pytest.raises(AgentDbgGuardrailExceeded):
            record_llm_call("m", cost_usd=0.01)

    assert recorded.only().meta["counts"]["llm_calls"] == 101


def test_pauses_that_overlap_are_taken_from_a_runs_time_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls that wait for the same answer of a person have waited as long as one."""
    now = 100.0
    monkeypatch.setattr("agentdbg.recorder.limits.time.monotonic", lambda: now)
    clock = RunClock()
    now = 105.0
    clock.hold()
    now = 108.0
    clock.hold()
    now = 109.0
    assert clock.elapsed_s() == 5.0

    clock.release()
    now = 112.0
    clock.release()
    now = 115.0
    assert clock.paused_s == 7.0
    assert clock.elapsed_s() == 8.0
