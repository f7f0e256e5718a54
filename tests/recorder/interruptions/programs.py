"""Small programs that use every public verb, to be interrupted at every line."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import agentdbg

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator

__all__ = ["PROGRAMS"]


class Odd:
    """An object of a program, which the recorder has to ask."""

    def __repr__(self) -> str:
        return "an odd thing"


def record_verbs() -> None:
    with agentdbg.traced_run("verbs", meta={"user": "u"}):
        agentdbg.record_llm_call("gpt-4o", "question", Odd(), usage={"input_tokens": 3, "output_tokens": 4})
        agentdbg.record_tool_call("search", {"q": "password=hunter2hunter2"}, [Odd()], meta={"a": Odd()}, effect="read")
        agentdbg.record_state({"step": 1})
        agentdbg.record_state({"step": 2, "odd": Odd()})
        agentdbg.record_error(ValueError("bad"), context="here", details={"x": 1})
        agentdbg.record_event("CHECKPOINT", "half way", {"x": Odd()})


@agentdbg.tool
def add(a: int, b: Any = None) -> Any:
    return a, b


@agentdbg.tool
def fails() -> None:
    raise LookupError("nothing there")


@agentdbg.llm(model="m")
def ask(prompt: str) -> dict[str, Any]:
    return {"text": prompt, "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}


@agentdbg.llm(model="streaming")
def stream(count: int) -> Generator[str, None, None]:
    yield from map(str, range(count))


@agentdbg.trace
def stand_around_calls() -> Any:
    add(1, b=Odd())
    ask("hello")
    list(stream(2))
    pieces = stream(9)
    next(pieces)
    pieces.close()
    with agentdbg.tool_call("block", {"x": Odd()}, effect="write") as call:
        call.result = Odd()
    with agentdbg.llm_call("m", "prompt") as call:
        call.response = "answer"
    try:
        fails()
    except LookupError:
        return Odd()
    return None


@agentdbg.trace("inner", meta={"inner": True})
def inner(number: int) -> int:
    agentdbg.record_tool_call("in a span", {"number": number})
    return number


@agentdbg.trace(max_llm_calls=50, max_duration_s=60)
def outer() -> int:
    with agentdbg.traced_run("a span"):
        inner(1)
    try:
        with agentdbg.traced_run("a failing span"):
            raise LookupError("inside")
    except LookupError:
        return inner(2)


def end_with_an_error() -> None:
    @agentdbg.trace
    def agent() -> None:
        agentdbg.record_llm_call("m", "p", "r")
        raise LookupError("the end")

    with contextlib.suppress(LookupError):
        agent()


def stop_at_a_limit() -> None:
    @agentdbg.trace(max_tool_calls=1, stop_on_loop=True)
    def agent() -> None:
        for _ in range(5):
            add(1)

    with contextlib.suppress(agentdbg.AgentDbgGuardrailExceeded):
        agent()


def go_round_in_a_loop() -> None:
    @agentdbg.trace
    def agent() -> None:
        for _ in range(4):
            agentdbg.record_tool_call("search", {"q": "the same"}, "nothing")

    agent()


@agentdbg.trace
def traced_generator() -> Generator[int, None, None]:
    agentdbg.record_event("STEP", "one")
    yield 1
    yield 2


def iterate() -> None:
    assert list(traced_generator()) == [1, 2]
    generator = traced_generator()
    next(generator)
    generator.close()


@agentdbg.tool
async def add_later(a: int) -> int:
    await asyncio.sleep(0)
    return a


@agentdbg.llm(model="async")
async def stream_later(count: int) -> AsyncIterator[str]:
    for number in range(count):
        yield str(number)


@agentdbg.trace
async def async_agent() -> None:
    await add_later(1)
    assert [piece async for piece in stream_later(2)] == ["0", "1"]
    async with agentdbg.tool_call("block") as call:
        call.result = 1
    async with agentdbg.traced_run("span"):
        agentdbg.record_llm_call("m", "p", "r")


def run_async(coroutine: Coroutine[Any, Any, None]) -> None:
    """Drive it by hand: a loop has its own ways with what a handler raises."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass
    finally:
        coroutine.close()


class Decides(agentdbg.around.Decider):
    """Answers some calls, changes others, and must let go of each."""

    def __init__(self) -> None:
        self.held: set[str] = set()

    def decide(self, call: agentdbg.around.AnnouncedCall) -> Any:
        self.held.add(call.call_id)
        if call.name == "m":
            return agentdbg.around.Answer("served")
        return agentdbg.around.Proceed({**call.input, "b": 2}) if call.name == "add" else None

    def wait(self, call: agentdbg.around.AnnouncedCall) -> None:
        agentdbg.record_state({"held": call.name})

    def ended(self, call: agentdbg.around.AnnouncedCall, outcome: agentdbg.around.Outcome) -> Any:
        return agentdbg.around.Outcome([outcome.value]) if call.name == "add" else None

    def released(self, call: agentdbg.around.AnnouncedCall) -> None:
        self.held.discard(call.call_id)


def let_others_decide() -> None:
    with agentdbg.around.deciding(Decides()), agentdbg.traced_run("decided"):
        add(1)
        ask("hello")
        list(stream(2))
        with agentdbg.tool_call("block", {"x": 1}) as call:
            call.result = call.served
        with contextlib.suppress(LookupError):
            fails()


@agentdbg.trace("streams")
async def traced_async_generator() -> AsyncGenerator[int, str]:
    agentdbg.record_state({"at": await add_later(1)})
    with contextlib.suppress(LookupError):
        yield 1
    yield 2


async def async_generators() -> None:
    assert [number async for number in traced_async_generator()] == [1, 2]
    dropped = traced_async_generator()
    await anext(dropped)
    await dropped.asend("given")
    await dropped.aclose()
    thrown = traced_async_generator()
    await anext(thrown)
    assert await thrown.athrow(LookupError("into it")) == 2
    await thrown.aclose()


def look_around() -> None:
    assert not agentdbg.has_active_run()
    with agentdbg.traced_run("looking", max_tokens=1_000_000) as run:
        agentdbg.breakpoint("here", odd=Odd(), run=run.run_id)
        assert agentdbg.current_run() is not None
        with contextlib.suppress(RecursionError):
            agentdbg.record_error(RecursionError("deep"), fatal=False)
        with agentdbg.tool_call("failing") as call:
            call.error = {"type": "Odd", "message": Odd()}
        agentdbg.record_outcome(True, score=0.5, why="it was right")


def _draw_nothing() -> None:
    raise LookupError("nothing to draw")


def draw_by_chance() -> None:
    with agentdbg.traced_run("drawing"):
        assert agentdbg.draw("number", max, 3, 4) == 4
        agentdbg.draw("odd", Odd)
        with contextlib.suppress(LookupError):
            agentdbg.draw("failing", _draw_nothing)
    assert agentdbg.draw("outside", int) == 0


class Holder:
    """Methods of every kind."""

    @agentdbg.tool(name="method")
    def plain(self, value: Any) -> Any:
        return value

    @classmethod
    @agentdbg.llm(model="m")
    def of_class(cls, prompt: Any) -> Any:
        return prompt

    @staticmethod
    @agentdbg.trace
    def static(value: Any) -> Any:
        with contextlib.suppress(agentdbg.AgentDbgGuardrailExceeded), agentdbg.traced_run("short", max_tool_calls=1):
            Holder().plain(value)
            Holder().plain([value] * 3)
        return Holder.of_class([{"role": "user", "content": [{"type": "text", "text": "x" * 30_000}]}])


def record_long_values() -> None:
    Holder.static({"key": "sk-" + "a1B2c3D4" * 6, "text": "y" * 30_000, "set": {1, 2}, "bytes": b"z" * 40_000})


PROGRAMS: dict[str, Callable[[], object]] = {
    "record verbs": record_verbs,
    "calls": stand_around_calls,
    "spans": outer,
    "error": end_with_an_error,
    "limit": stop_at_a_limit,
    "loop": go_round_in_a_loop,
    "generator": iterate,
    "async": lambda: run_async(async_agent()),
    "async generators": lambda: run_async(async_generators()),
    "looking": look_around,
    "draws": draw_by_chance,
    "long values": record_long_values,
    "deciders": let_others_decide,
}
