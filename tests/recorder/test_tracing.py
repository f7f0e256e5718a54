"""trace and traced_run: where a run begins and ends, whatever the function is and however it ends."""

from __future__ import annotations

import asyncio
import inspect
import re
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import (
    current_run,
    faults,
    has_active_run,
    record_error,
    record_event,
    record_llm_call,
    record_state,
    record_tool_call,
    trace,
    traced_run,
)
from agentdbg.recorder import active_run, run_lifecycle, run_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.conftest import Recorded


def test_a_traced_function_makes_a_run_with_start_and_end(recorded: Recorded) -> None:
    """The core promise: one decorator, one complete run."""

    @trace
    def agent(question: str, *, depth: int = 1) -> str:
        """Answers."""
        record_llm_call(model="gpt-4", prompt=question, response="42")
        return "42"

    assert agent("why?", depth=2) == "42"

    run = recorded.only()
    assert run.types() == ["RUN_START", "LLM_CALL", "RUN_END"]
    start, end = run.one("RUN_START"), run.one("RUN_END")
    assert start["parent_id"] is None
    assert start["payload"]["function_name"] == "agent"
    assert start["payload"]["args"] == {"question": "why?"}
    assert start["payload"]["kwargs"] == {"depth": 2}
    assert end["parent_id"] == start["event_id"]
    assert end["payload"]["status"] == "ok"
    assert end["payload"]["result"] == "42"
    assert end["payload"]["summary"]["llm_calls"] == 1
    assert run.meta["status"] == "ok"
    assert run.meta["counts"] == {"llm_calls": 1, "tool_calls": 0, "errors": 0, "loop_warnings": 0}


def test_the_duration_is_one_number_in_all_three_places(recorded: Recorded) -> None:
    """Two answers to "how long did it take" would be one too many."""
    with traced_run("timed"):
        pass

    run = recorded.only()
    end = run.one("RUN_END")
    assert end["duration_ms"] == end["payload"]["summary"]["duration_ms"] == run.meta["duration_ms"]


def test_a_run_is_as_long_as_the_time_between_its_ends(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it takes us to prepare the first run of a process is not the run's."""
    prepare = run_log.start_fields

    def slowly(*given: Any) -> dict[str, Any]:
        time.sleep(0.1)
        return prepare(*given)

    monkeypatch.setattr(active_run, "start_fields", slowly)
    with traced_run("short"):
        pass

    assert recorded.only().meta["duration_ms"] < 90


@pytest.mark.parametrize("form", ["bare", "called", "named", "keyword"])
def test_every_form_of_the_decorator_works(recorded: Recorded, form: str) -> None:
    """People write it all four ways."""
    decorators: dict[str, Any] = {
        "bare": trace,
        "called": trace(),
        "named": trace("my agent"),
        "keyword": trace(name="my agent"),
    }

    def agent(value: int) -> int:
        return value

    assert decorators[form](agent)(3) == 3
    name = recorded.only().meta["run_name"]
    if form in ("named", "keyword"):
        assert name == "my agent"
    else:
        assert re.fullmatch(r".*test_tracing\.py:agent - \d{4}-\d\d-\d\d \d\d:\d\d", name)


def test_the_environment_names_the_run_before_the_code_does(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name given for this very start is the most particular one."""
    monkeypatch.setenv("AGENTDBG_RUN_NAME", "from outside")
    with traced_run("from inside"):
        pass

    assert recorded.only().meta["run_name"] == "from outside"


def test_a_traced_function_stays_the_kind_of_function_it_was() -> None:
    """Frameworks look at what they are given before they call it."""

    @trace
    def plain(a: int, b: str = "x") -> None:
        """Doc."""

    @trace
    async def coroutine() -> None: ...

    @trace
    def generator() -> Iterator[int]:
        yield 1

    @trace
    async def async_generator() -> AsyncIterator[int]:
        yield 1

    assert plain.__name__ == "plain"
    assert plain.__doc__ == "Doc."
    assert str(inspect.signature(plain)) == "(a: 'int', b: 'str' = 'x') -> 'None'"
    assert inspect.iscoroutinefunction(coroutine)
    assert inspect.isgeneratorfunction(generator)
    assert inspect.isasyncgenfunction(async_generator)


def test_methods_of_every_sort_are_traced_without_self(recorded: Recorded) -> None:
    """An object's repr in every run would be noise, or a secret."""

    class Agent:
        @trace
        def plain(self, x: int) -> int:
            return x

        @trace
        @classmethod
        def of_class(cls, x: int) -> int:
            return x

        @staticmethod
        @trace
        def static(x: int) -> int:
            return x

    assert (Agent().plain(1), Agent.of_class(2), Agent.static(3)) == (1, 2, 3)
    assert [run.one("RUN_START")["payload"]["args"] for run in recorded.all()] == [{"x": 1}, {"x": 2}, {"x": 3}]


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        KeyError("k"),
        _Unprintable(),
        KeyboardInterrupt(),
        SystemExit(3),
        SystemExit("message"),
        asyncio.CancelledError(),
        MemoryError(),
        RecursionError(),
        StopIteration(5),
        OSError(5, "io"),
        BaseException("base"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_same_exception_reaches_the_caller_and_the_run_is_closed(recorded: Recorded, error: BaseException) -> None:
    """The trace of a failed run is the one people need most, and their error handling must not notice us."""

    @trace
    def agent() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        agent()

    assert caught.value is error
    assert error.__cause__ is None
    assert error.__context__ is None
    run = recorded.only()
    assert run.types() == ["RUN_START", "ERROR", "RUN_END"]
    event = run.one("ERROR")
    assert event["name"] == event["payload"]["error_type"] == type(error).__name__
    assert event["payload"]["fatal"] is True
    assert "in agent" in event["payload"]["stack"]
    assert "functions.py" not in event["payload"]["stack"]
    end = run.one("RUN_END")["payload"]
    assert end["status"] == "error"
    assert end["error"]["error_type"] == type(error).__name__
    assert run.meta["status"] == "error"
    assert run.meta["counts"]["errors"] == 1


@pytest.mark.parametrize("code", [0, None])
def test_leaving_with_exit_code_0_is_a_good_end(recorded: Recorded, code: int | None) -> None:
    """`sys.exit(0)` is how many programs say they are done."""
    with pytest.raises(SystemExit), traced_run("done"):
        raise SystemExit(code)

    run = recorded.only()
    assert run.types() == ["RUN_START", "RUN_END"]
    assert run.meta["status"] == "ok"


def test_a_nested_trace_is_a_span_of_the_outer_run(recorded: Recorded) -> None:
    """One agent is one run, however many of its parts are decorated."""

    @trace
    def inner() -> str:
        record_tool_call("search", {"q": 1}, "r")
        return "x"

    @trace
    def outer() -> None:
        inner()
        record_state({"after": True})

    outer()
    run = recorded.only()
    assert run.types() == ["RUN_START", "TOOL_CALL", "STATE_UPDATE", "STATE_UPDATE", "RUN_END"]
    tool, span, state = run.events[1:4]
    assert span["meta"] == {"span": "inner"}
    assert span["name"] == "inner"
    assert span["payload"]["state"] is None
    assert span["payload"]["error"] is None
    assert span["duration_ms"] is not None
    assert tool["parent_id"] == span["event_id"]
    assert span["parent_id"] == state["parent_id"] == run.events[0]["event_id"]
    assert run.one("RUN_END")["payload"]["final_state"] == {"after": True}


def test_a_span_holds_what_its_function_was_given_and_what_it_returned(recorded: Recorded) -> None:
    """A sub-agent is a function inside a run; what it was asked and what it said is what one wants to see of it."""

    @trace
    def inner(question: str, *, api_key: str, tries: int = 2) -> str:
        return f"{question}: 42"

    with traced_run("outer"), traced_run("block"):
        inner("how many", api_key="a-secret-of-mine")

    inner_span, block = recorded.only().events[1:3]
    assert inner_span["payload"]["input"] == {"question": "how many", "api_key": "__REDACTED__"}
    assert inner_span["payload"]["output"] == "how many: 42"
    assert "input" not in block["payload"]


def test_arguments_of_spans_are_left_out_on_request(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting is for all traced functions, wherever they stand."""
    monkeypatch.setenv("AGENTDBG_CAPTURE_ARGS", "0")
    with traced_run("outer"):
        trace(lambda question: question)("private")

    assert "private" not in str(recorded.only().events)


def test_a_span_whose_end_is_interrupted_is_written_all_the_same(recorded: Recorded) -> None:
    """What was recorded in it names it as its parent, which is no sign that it stands there itself."""

    class Slow(Exception):
        def __str__(self) -> str:
            signal.raise_signal(signal.SIGINT)
            return "slow"

    with pytest.raises(KeyboardInterrupt), traced_run("agent"), traced_run("inner"):
        record_state({"a": 1})
        raise Slow

    run = recorded.only()
    state, span = run.of_type("STATE_UPDATE")
    assert (span["name"], span["event_id"]) == ("inner", state["parent_id"])
    assert span["payload"]["error"]["error_type"] == "KeyboardInterrupt"


def test_a_failing_span_says_so_and_the_error_is_told_once(recorded: Recorded) -> None:
    """The span knows what failed in it; the run has one ERROR, not two."""

    @trace
    def inner() -> None:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"), traced_run("outer"):
        inner()

    run = recorded.only()
    assert run.types() == ["RUN_START", "STATE_UPDATE", "ERROR", "RUN_END"]
    assert run.events[1]["payload"]["error"]["error_type"] == "ValueError"
    assert run.meta["counts"]["errors"] == 1


def test_a_tool_call_hangs_under_the_model_call_that_led_to_it(recorded: Recorded) -> None:
    """The tree should say why a tool was called."""
    with traced_run("tree"):
        record_tool_call("before")
        first = record_llm_call("m")
        record_tool_call("a")
        record_state({})
        second = record_llm_call("m")
        record_tool_call("b")

    run = recorded.only()
    start = run.one("RUN_START")["event_id"]
    parents = [event["parent_id"] for event in run.events]
    assert parents == [None, start, start, first, start, start, second, start]


@pytest.mark.asyncio
async def test_a_cancelled_agent_closes_its_run(recorded: Recorded) -> None:
    """Timeouts cancel; the trace of the timed-out agent is the interesting one."""

    @trace
    async def agent() -> None:
        record_llm_call("m")
        await asyncio.sleep(10)

    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(agent(), 0.02)

    run = recorded.only()
    assert run.types() == ["RUN_START", "LLM_CALL", "ERROR", "RUN_END"]
    assert run.one("ERROR")["name"] == "CancelledError"


def test_nothing_is_recorded_outside_a_run(recorded: Recorded) -> None:
    """A library may record; whether anything is stored is its user's decision."""
    assert record_llm_call("m") is None
    assert record_tool_call("t") is None
    assert record_state({}) is None
    assert record_error("e") is None
    assert record_event("CHECKPOINT", "c") is None
    assert current_run() is None
    assert recorded.run_dirs() == []


def test_agentdbg_enabled_0_turns_everything_off(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """In production one variable has to be enough."""
    monkeypatch.setenv("AGENTDBG_ENABLED", "0")

    @trace
    def agent() -> int:
        assert not has_active_run()
        return 7

    assert agent() == 7
    with traced_run("off") as run:
        assert not run
        assert run.run_id == ""
        assert not run.path.is_dir()
    assert recorded.run_dirs() == []


def test_the_handle_says_where_the_run_is(recorded: Recorded) -> None:
    """People print it, log it, and open the folder."""
    with traced_run("here") as run:
        assert current_run() is not None
        assert current_run().run_id == run.run_id  # type: ignore[union-attr]
        assert run.path.is_dir()

    assert recorded.only().path == run.path


def test_meta_of_the_run_is_stored_with_the_run(recorded: Recorded) -> None:
    """Sessions, users and experiments are found by it."""
    with traced_run("m", meta={"session_id": "s1", "tags": ["a"]}):
        pass

    run = recorded.only()
    assert run.one("RUN_START")["meta"] == run.meta["metadata"] == {"session_id": "s1", "tags": ["a"]}


def test_what_comes_after_the_end_is_counted_not_written(recorded: Recorded) -> None:
    """A background task that outlives its run must not tear the file's last word from RUN_END."""
    import contextvars

    with traced_run("over"):
        context = contextvars.copy_context()
    assert context.run(record_llm_call, "late") is None

    run = recorded.only()
    assert run.types() == ["RUN_START", "RUN_END"]
    assert run.meta["dropped_events"] == 1, "the first is told at once"

    assert context.run(record_llm_call, "later") is None
    for ended in run_lifecycle._recently_ended:
        ended.refresh_late()
    assert recorded.only().meta["dropped_events"] == 2, "the others at the latest when the program ends"


def test_arguments_and_results_can_be_left_out(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some arguments are too big or too private even redacted."""
    monkeypatch.setenv("AGENTDBG_CAPTURE_ARGS", "0")

    @trace
    def agent(secret_plan: str) -> str:
        return "result text"

    agent("plan text")
    content = (recorded.only().path / "events.jsonl").read_text()
    assert "plan text" not in content
    assert "result text" not in content


@pytest.mark.parametrize("argv", [None, [1, b"x", None]])
def test_a_program_without_arguments_of_its_own_is_recorded(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, argv: Any
) -> None:
    """Embedded interpreters and notebooks put anything into sys.argv."""
    monkeypatch.setattr(sys, "argv", argv)
    with traced_run("r"):
        pass

    assert len(recorded.only().one("RUN_START")["payload"]["argv"]) == len(argv or [])


def test_what_could_not_be_prepared_is_prepared_by_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first run without a free descriptor must not leave threads unrecorded for good."""
    calls: list[str] = []

    def fail() -> None:
        calls.append("fail")
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(faults.settings, "raise_faults", False)
    monkeypatch.setattr(run_lifecycle._process, "is_prepared", False)
    monkeypatch.setattr("os.register_at_fork", lambda **_: None)
    monkeypatch.setattr("atexit.register", lambda _: None)
    monkeypatch.setattr(run_lifecycle, "carry_into_threads", fail)
    with traced_run("first") as first:
        assert not first
    monkeypatch.setattr(run_lifecycle, "carry_into_threads", lambda: calls.append("done"))
    with traced_run("second") as second:
        assert second

    assert calls == ["fail", "done"]


def test_one_traced_run_can_be_entered_again_inside_itself(recorded: Recorded) -> None:
    """Kept in a constant and used by functions that call each other, it must not leave the outer run open."""
    shared = traced_run("shared")

    with shared as outer:
        with shared:
            record_state({"step": 1})
        assert current_run() is not None

    assert current_run() is None
    assert recorded.only().meta["status"] == "ok"
    with shared as again:
        pass
    assert again.run_id != outer.run_id
