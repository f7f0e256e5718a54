"""A traced generator is one run, from its first item to its last or to where its consumer left it."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import (
    has_active_run,
    record_llm_call,
    record_state,
    record_tool_call,
    trace,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator

    from tests.conftest import Recorded


def test_a_generator_is_one_run_however_it_is_consumed(recorded: Recorded) -> None:
    """Streaming agents are generators; what they yield belongs to the consumer, what they record to the run."""

    @trace
    def agent(n: int) -> Generator[int, str | None, None]:
        for i in range(n):
            record_llm_call("m", prompt=i)
            got = yield i
            if got:
                record_state({"sent": got})
        return

    stream = agent(3)
    assert next(stream) == 0
    assert not has_active_run()
    record_llm_call("outside", prompt="belongs to nobody")
    assert stream.send("hello") == 1
    assert list(stream) == [2]
    run = recorded.only()
    assert run.types() == ["RUN_START", "LLM_CALL", "STATE_UPDATE", "LLM_CALL", "LLM_CALL", "RUN_END"]
    assert run.meta["status"] == "ok"


def test_interleaved_generators_never_mix(recorded: Recorded) -> None:
    """Two agents streaming at once is what a chat server does all day."""

    @trace
    def agent(name: str) -> Iterator[str]:
        for _ in range(5):
            record_tool_call(name)
            yield name

    for _ in zip(agent("a"), agent("b"), strict=True):
        pass

    tools = [{event["name"] for event in run.of_type("TOOL_CALL")} for run in recorded.all()]
    assert sorted(map(sorted, tools)) == [["a"], ["b"]]


@pytest.mark.parametrize("how", ["close", "drop", "throw"])
def test_a_generator_its_consumer_leaves_is_closed(recorded: Recorded, how: str) -> None:
    """Having heard enough is no failure; throwing into it is."""
    cleaned = []

    @trace
    def agent() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            cleaned.append(has_active_run())

    stream: Any = agent()
    next(stream)
    if how == "close":
        stream.close()
    elif how == "throw":
        with pytest.raises(ValueError, match="thrown in"):
            stream.throw(ValueError("thrown in"))
    else:
        del stream
        gc.collect()

    assert cleaned == [True]
    assert recorded.only().meta["status"] == ("error" if how == "throw" else "ok")


def test_what_a_generator_returns_still_reaches_yield_from(recorded: Recorded) -> None:
    """Generators are composed; the value of `yield from` is part of their result."""

    @trace
    def part() -> Any:
        yield 1
        return "value"

    def whole() -> Any:
        return (yield from part())

    stream = whole()
    assert next(stream) == 1
    with pytest.raises(StopIteration) as stop:
        next(stream)

    assert stop.value.value == "value"
    assert recorded.only().one("RUN_END")["payload"]["result"] == "value"


@pytest.mark.asyncio
async def test_an_async_generator_is_one_run(recorded: Recorded) -> None:
    """The same, in async code."""

    @trace
    async def agent() -> AsyncIterator[int]:
        for i in range(2):
            await asyncio.sleep(0)
            record_llm_call("m", prompt=i)
            yield i

    assert await _collect(agent()) == [0, 1]
    run = recorded.only()
    assert run.types() == ["RUN_START", "LLM_CALL", "LLM_CALL", "RUN_END"]


def test_an_abandoned_async_generator_ends_its_run(recorded: Recorded) -> None:
    """`break` in an `async for` leaves the generator to the event loop."""

    @trace
    async def agent() -> AsyncIterator[int]:
        record_llm_call("m")
        yield 1
        yield 2

    async def main() -> None:
        async for _ in agent():
            break

    asyncio.run(main())
    assert recorded.only().meta["status"] == "ok"


def test_a_generator_called_with_wrong_arguments_ends_its_run(recorded: Recorded) -> None:
    """The run began before Python refused the call; it must not stay open."""

    @trace
    def steps(first: int) -> Iterator[int]:
        yield first

    @trace
    async def later(first: int) -> AsyncIterator[int]:
        yield first

    with pytest.raises(TypeError, match="first"):
        next(steps())  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="first"):
        asyncio.run(anext(later()))  # type: ignore[call-arg,arg-type]

    assert [run.meta["status"] for run in recorded.all()] == ["error", "error"]


async def _collect(stream: AsyncIterator[int]) -> list[int]:
    return [item async for item in stream]
