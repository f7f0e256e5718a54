"""Limits given to a nested trace are that span's own budget: they stop a sub-agent, not the run."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import (
    AgentDbgGuardrailExceeded,
    AgentDbgLoopAbort,
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
from agentdbg.exceptions import RunStopped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from tests.conftest import Recorded, RecordedRun

USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def _model() -> None:
    record_llm_call("gpt-4o", "question", "answer", USAGE)


CROSSED: dict[str, tuple[dict[str, Any], Callable[[int], Any]]] = {
    "max_llm_calls": ({"max_llm_calls": 2}, lambda _: record_llm_call("m")),
    "max_tool_calls": ({"max_tool_calls": 2}, lambda n: record_tool_call("search", {"page": n}, n)),
    "max_events": ({"max_events": 2}, lambda n: record_event("CHECKPOINT", "c", {"n": n})),
    "max_events by states": ({"max_events": 2}, lambda n: record_state({"n": n})),
    "max_events by errors": ({"max_events": 2}, lambda n: record_error(f"failed {n}")),
    "max_tokens": ({"max_tokens": 50}, lambda _: _model()),
    "max_cost_usd": ({"max_cost_usd": 0.0003}, lambda _: _model()),
    "stop_on_loop": ({"stop_on_loop": True}, lambda _: record_tool_call("search", {"q": "same"}, "nothing")),
}


def _span(run: RecordedRun, name: str) -> Any:
    return next(event for event in run.events if event["meta"].get("span") == name)


@pytest.mark.parametrize("limit", list(CROSSED))
def test_a_limit_of_a_span_stops_the_span_and_the_run_goes_on(recorded: Recorded, limit: str) -> None:
    """The planner around a researcher that ran away should be able to go on without it."""
    limits, work = CROSSED[limit]
    with traced_run("planner"):
        for number in range(2):
            work(number)  # counted in the run, not in the span
        with pytest.raises(AgentDbgGuardrailExceeded) as stopped, traced_run("researcher", **limits):
            for number in range(9):
                work(100 + number)
        assert record_state({"researcher": "gave up"}) is not None

    run = recorded.only()
    errors = [event for event in run.events if event["payload"].get("guardrail")]
    assert stopped.value.guardrail == limit.partition(" ")[0]
    assert isinstance(stopped.value, AgentDbgLoopAbort) == (limit == "stop_on_loop")
    assert (run.meta["status"], len(errors), errors[0]["payload"]["fatal"]) == ("ok", 1, False)
    assert errors[0]["payload"]["guardrail"] == stopped.value.guardrail
    assert _span(run, "researcher")["payload"]["error"]["error_type"] == type(stopped.value).__name__
    assert run.events[-1]["payload"]["status"] == "ok"


def test_a_span_that_stays_within_its_limits_is_left_alone(recorded: Recorded) -> None:
    """N calls are allowed, not N - 1; and what the run did before the span does not count in it."""
    with traced_run("planner"):
        for _ in range(5):
            record_llm_call("m")
        for _ in range(3):
            with traced_run("researcher", max_llm_calls=2, max_events=2):
                record_llm_call("m")
                record_llm_call("m")

    run = recorded.only()
    assert (run.meta["status"], run.meta["counts"]["llm_calls"], run.meta["counts"]["errors"]) == ("ok", 11, 0)


def test_a_stop_nobody_handles_ends_the_run_and_is_one_error(recorded: Recorded) -> None:
    """The same exception reaches the caller of the run, and the trace tells of it once."""

    @trace(max_llm_calls=1)
    def researcher() -> None:
        record_llm_call("m")
        record_llm_call("m")

    @trace
    def planner() -> None:
        researcher()

    with pytest.raises(AgentDbgGuardrailExceeded, match="max_llm_calls"):
        planner()

    run = recorded.only()
    assert (run.meta["status"], run.meta["counts"]["errors"]) == ("error", 1)
    assert [event["event_type"] for event in run.events].count("ERROR") == 1
    assert run.events[-1]["payload"]["error"]["error_type"] == "AgentDbgGuardrailExceeded"


def test_a_seam_makes_no_call_beyond_the_limit_of_its_span(recorded: Recorded) -> None:
    """A budget that is noticed after the call was paid for is none."""
    made = []

    @tool
    def search(page: int) -> int:
        made.append(page)
        return page

    with traced_run("planner"):
        with pytest.raises(AgentDbgGuardrailExceeded), traced_run("researcher", max_tool_calls=2):
            for page in range(9):
                search(page)
        search(100)

    assert made == [0, 1, 100]
    assert recorded.only().meta["counts"]["tool_calls"] == 3


def test_the_limits_of_the_run_hold_in_a_span_and_win(recorded: Recorded) -> None:
    """An outer limit cannot be widened from the inside, nor handled there."""
    with pytest.raises(AgentDbgGuardrailExceeded) as stopped, traced_run("planner", max_llm_calls=2):
        try:
            with traced_run("researcher", max_llm_calls=2, max_tokens=10**6):
                for _ in range(9):
                    record_llm_call("m")
        except AgentDbgGuardrailExceeded:
            record_llm_call("m")  # being handled: kept
        record_llm_call("m")

    run = recorded.only()
    assert (stopped.value.span_id, run.meta["status"]) == (None, "error")
    assert [event["payload"]["fatal"] for event in run.events if event["payload"].get("guardrail")] == [True]


def test_a_stop_cannot_be_swallowed_inside_its_span(recorded: Recorded) -> None:
    """Agents catch everything around a tool; a limit that they can catch for ever is none."""
    seen: list[str] = []
    with traced_run("planner"):
        with pytest.raises(AgentDbgGuardrailExceeded), traced_run("researcher", max_llm_calls=1):
            for _ in range(9):
                try:
                    record_llm_call("m")
                except Exception as error:
                    seen.append(type(error).__name__)
                seen.append("went on")
        assert record_llm_call("m") is not None

    assert seen == ["went on", "AgentDbgGuardrailExceeded", "went on"]
    assert recorded.only().meta["status"] == "ok"


def test_a_span_whose_stop_was_swallowed_ends_as_error_all_the_same(recorded: Recorded) -> None:
    """What it came to was not what was asked for."""
    with traced_run("planner"), traced_run("researcher", max_llm_calls=1):
        record_llm_call("m")
        with suppress(AgentDbgGuardrailExceeded):
            record_llm_call("m")

    run = recorded.only()
    assert run.meta["status"] == "ok"
    assert "max_llm_calls" in _span(run, "researcher")["payload"]["error"]["message"]


def test_a_span_in_a_span_spends_from_both(recorded: Recorded) -> None:
    """A team has a budget, and each of its members too."""
    with traced_run("company"):
        with pytest.raises(AgentDbgGuardrailExceeded) as team, traced_run("team", max_llm_calls=5):
            for _ in range(9):
                with pytest.raises(AgentDbgGuardrailExceeded) as member, traced_run("member", max_llm_calls=2):
                    for _ in range(9):
                        record_llm_call("m")
                assert member.value.threshold in (2, 5)
                if member.value.threshold == 5:
                    raise member.value
        assert record_llm_call("m") is not None

    run = recorded.only()
    stops = [event["payload"]["threshold"] for event in run.events if event["payload"].get("guardrail")]
    assert (team.value.threshold, stops, run.meta["status"]) == (5, [2, 5], "ok")


@pytest.mark.parametrize("place", ["thread", "pool", "task"])
def test_what_a_span_starts_spends_from_its_budget(recorded: Recorded, place: str) -> None:
    """A sub-agent that works in parallel is still one sub-agent; the count is exact."""

    def work(_: int = 0) -> None:
        with llm_call("m") as call:
            call.response = "x"

    async def tasks() -> None:
        async def one() -> None:
            work()

        await asyncio.gather(*(one() for _ in range(20)), return_exceptions=True)

    with traced_run("planner"):
        with traced_run("researcher", max_llm_calls=7):
            if place == "thread":
                threads = [threading.Thread(target=_quietly(work)) for _ in range(20)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            elif place == "pool":
                with ThreadPoolExecutor(4) as pool:
                    list(pool.map(_quietly(work), range(20)))
            else:
                asyncio.run(tasks())
        work()

    run = recorded.only()
    assert (run.meta["counts"]["llm_calls"], run.meta["status"]) == (8, "ok")
    assert len([event for event in run.events if event["payload"].get("guardrail")]) == 1


def _quietly(work: Callable[..., None]) -> Callable[..., None]:
    def run(*args: Any) -> None:
        with suppress(AgentDbgGuardrailExceeded, RunStopped):
            work(*args)

    return run


def test_two_spans_at_once_have_a_budget_each(recorded: Recorded) -> None:
    """What one researcher does must not be paid for by the other."""

    async def researcher(calls: int) -> int:
        async with traced_run("researcher", max_llm_calls=3):
            for _ in range(calls):
                record_llm_call("m")
                await asyncio.sleep(0)
        return calls

    async def planner() -> Any:
        async with traced_run("planner"):
            return await asyncio.gather(researcher(3), researcher(9), researcher(3), return_exceptions=True)

    first, second, third = asyncio.run(planner())

    assert (first, type(second), third) == (3, AgentDbgGuardrailExceeded, 3)
    assert recorded.only().meta["counts"]["llm_calls"] == 3 + 4 + 3


def test_every_kind_of_function_has_its_own_budget(recorded: Recorded) -> None:
    """`@trace` works on all of them, so its limits do."""

    @trace(max_llm_calls=1)
    def plain() -> None:
        record_llm_call("m")
        record_llm_call("m")

    @trace(max_llm_calls=1)
    async def coroutine() -> None:
        record_llm_call("m")
        record_llm_call("m")

    @trace(max_llm_calls=1)
    def generator() -> Iterator[int]:
        for number in range(9):
            record_llm_call("m")
            yield number

    @trace(max_llm_calls=1)
    async def stream() -> AsyncIterator[int]:
        for number in range(9):
            record_llm_call("m")
            yield number

    async def consume() -> None:
        async for _ in stream():
            record_tool_call("between", {}, 1)

    def iterate() -> None:
        for _ in generator():
            record_llm_call("m")  # the consumer's own, not the generator's

    with traced_run("planner"):
        for work in (plain, lambda: asyncio.run(coroutine()), iterate, lambda: asyncio.run(consume())):
            with pytest.raises(AgentDbgGuardrailExceeded):
                work()

    run = recorded.only()
    assert run.meta["status"] == "ok"
    assert run.meta["counts"]["llm_calls"] == 4 * 2 + 1


def _work_until(end: float) -> None:
    while time.monotonic() < end:
        pass


def test_time_of_a_silent_span_is_over(recorded: Recorded) -> None:
    """A sub-agent that hangs records nothing."""
    with traced_run("planner"):
        started = time.monotonic()
        with pytest.raises(AgentDbgGuardrailExceeded, match="max_duration_s"), traced_run("slow", max_duration_s=0.1):
            _work_until(started + 20)
        time.sleep(0.05)
        assert record_llm_call("m") is not None

    run = recorded.only()
    assert run.meta["status"] == "ok"
    assert _span(run, "slow")["duration_ms"] < 5_000


def test_time_of_a_task_is_over_and_the_task_goes_on(recorded: Recorded) -> None:
    """The cancelling is taken back where the span ends, or the next await would raise too."""

    async def planner() -> str:
        async with traced_run("planner"):
            try:
                async with traced_run("slow", max_duration_s=0.1):
                    await asyncio.sleep(20)
            except AgentDbgGuardrailExceeded as stopped:
                await asyncio.sleep(0)
                return stopped.guardrail
        return ""

    assert asyncio.run(planner()) == "max_duration_s"
    assert recorded.only().meta["status"] == "ok"


def test_the_consumer_of_a_generator_is_not_stopped_in_its_place(recorded: Recorded) -> None:
    """While its consumer runs, a generator has no code that could be stopped."""

    @trace(max_duration_s=0.1)
    def generator() -> Iterator[int]:
        yield 1
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            pass

    with traced_run("planner"):
        steps = generator()
        assert next(steps) == 1
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            pass
        with pytest.raises(AgentDbgGuardrailExceeded, match="max_duration_s"):
            next(steps)

    assert recorded.only().meta["status"] == "ok"


def test_what_outlives_its_span_still_spends_from_its_budget(recorded: Recorded) -> None:
    """A sub-agent's background work is the sub-agent's; and what it raises can be caught by whoever waits for it."""

    async def late() -> None:
        await asyncio.sleep(0.01)
        for _ in range(3):
            try:
                record_llm_call("m")
            except AgentDbgGuardrailExceeded:
                continue
        record_llm_call("m")

    async def planner() -> None:
        with traced_run("planner"):
            with traced_run("researcher", max_llm_calls=1):
                record_llm_call("m")
                task = asyncio.ensure_future(late())
            with pytest.raises(AgentDbgGuardrailExceeded):
                await task
            assert record_llm_call("m") is not None

    asyncio.run(planner())
    assert recorded.only().meta["status"] == "ok"


def test_a_limit_that_makes_no_sense_is_said_and_the_others_hold(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for a run: it never stops an agent that is not over its limits."""
    with traced_run("planner"), traced_run("researcher", max_llm_calls="many", max_tool_calls=0, stop_on_loop=False):
        record_llm_call("m")

    assert recorded.only().meta["status"] == "ok"
    assert "max_llm_calls" in capsys.readouterr().err


def test_a_loop_in_a_span_is_told_of_once(recorded: Recorded) -> None:
    """The run looks for loops too; two warnings would say there were two."""
    with (
        traced_run("planner"),
        pytest.raises(AgentDbgLoopAbort),
        traced_run("researcher", stop_on_loop=True, stop_on_loop_min_repetitions=5),
    ):
        for _ in range(20):
            record_tool_call("search", {"q": "same"}, "nothing")

    run = recorded.only()
    assert (
        run.meta["counts"]["loop_warnings"]
        == len([event for event in run.events if event["event_type"] == "LOOP_WARNING"])
        == 1
    )
    assert run.meta["counts"]["tool_calls"] == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_spends_from_the_budget_of_its_span(recorded: Recorded) -> None:
    """Over by at most one for each process, as for a run."""
    with traced_run("planner"):
        with traced_run("researcher", max_llm_calls=4):
            for _ in range(3):
                record_llm_call("m")
            child = os.fork()
            if child == 0:
                try:
                    for _ in range(9):
                        record_llm_call("m")
                except AgentDbgGuardrailExceeded:
                    os._exit(0)
                os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
            with pytest.raises(AgentDbgGuardrailExceeded):
                record_llm_call("m")
        assert record_llm_call("m") is not None

    assert [event["event_type"] for event in recorded.only().events].count("LLM_CALL") == 3 + 2 + 1 + 1
