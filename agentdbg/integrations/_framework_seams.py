"""
Stand around the methods by which frameworks run their agents and tools.

A `Seam` names one method and how it is read; `stand_around` replaces it, of whatever kind it is: a function, a
coroutine, a generator, one that only starts the work. An agent's call becomes a span, a tool's a TOOL_CALL. Which
frameworks have which methods is left to `frameworks`.
"""

from __future__ import annotations

import functools
import inspect
import sys
from asyncio import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentdbg.around import Pairing, at_place, contained, current_place, enclosing_call, text_of
from agentdbg.integrations._client_recording import Working, request_name
from agentdbg.integrations._private_names import LLAMA_INDEX_FUTURE, STRANDS_FUNCTION

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

__all__ = ["Facts", "Seam", "Switch", "agents_at_work", "is_for_agents", "spoken", "stand_around"]


@dataclass(frozen=True)
class Facts:
    """What a call is: its name, what it was given, and the id that the model asked for it with."""

    name: str
    given: Any
    asked_by: str | None = None


@dataclass(frozen=True)
class Seam:
    """
    One method of a framework: a tool's, or an agent's. `read` tells what is called, `result` what came back.

    Without an `owner` it is a function of the module, whose first argument stands in the owner's place.
    """

    framework: str
    module: str
    owner: str
    method: str
    kind: str
    read: Callable[[Any, dict[str, Any]], Facts | None]
    """None where the call is recorded elsewhere."""
    result: Callable[[Any, dict[str, Any]], tuple[Any, Any]] = lambda result, _: (result, None)
    """From what the method gave, and was given, to a result and an error."""
    can: tuple[str, ...] = ()
    made: Callable[[Any], Any] = lambda original: original
    """The method as a function that gives the result: what a decider answers with, and a tape keeps."""
    stand_in: Callable[[Any, dict[str, Any]], Any] = lambda owner, _: owner
    """What to call a stream's method on: a tool whose function can be answered, where its events cannot."""
    with_subclasses: bool = False
    is_background: bool = False
    """Whether the method only starts the work, and gives a future of its end."""
    is_inner: bool = False
    """Whether another method of the same agent's may be around it already: then it is no step of its own."""


class Switch:
    """Whether agents and tools are recorded."""

    records = False


_running: WeakKeyDictionary[_Step, Any] = WeakKeyDictionary()
"""The agents that are at work, by the step that each of them takes."""


def agents_at_work() -> bool:
    """Whether a framework of the table runs an agent now, anywhere in this process."""
    return bool(_running)


_pairing = functools.cache(Pairing)
"""By the name of the framework."""


def stand_around(seam: Seam) -> None:
    """Replace a method of a module that is imported; nothing where a release does not have it."""
    loaded = sys.modules[seam.module]
    owner = getattr(loaded, seam.owner, None) if seam.owner else loaded
    if owner is not None:
        _replace(owner, seam)
        if seam.with_subclasses:
            _follow_subclasses(owner, seam)


def _replace(owner: Any, seam: Seam) -> None:
    original = vars(owner).get(seam.method)
    if not inspect.isfunction(original) or hasattr(original, "agentdbg_original"):
        return
    is_awaited, is_stream = inspect.iscoroutinefunction(original), inspect.isasyncgenfunction(original)
    around = (
        _coroutine if is_awaited else _async_generator if is_stream else _background if seam.is_background else _plain
    )
    replacement: Any = functools.wraps(original)(around(original, seam))
    replacement.agentdbg_original = original
    setattr(owner, seam.method, replacement)


def _follow_subclasses(base: Any, seam: Seam) -> None:
    before = vars(base).get("__init_subclass__")

    def init_subclass(kind: Any, /, **kwargs: Any) -> None:
        if before is None:
            super(base, kind).__init_subclass__(**kwargs)
        else:
            before.__func__(kind, **kwargs)
        _replace(kind, seam)

    base.__init_subclass__ = classmethod(init_subclass)
    left = list(base.__subclasses__())
    while left:
        kind = left.pop()
        _replace(kind, seam)
        left += kind.__subclasses__()


# Standing around a method, of whatever kind it is.


def _plain(original: Any, seam: Seam) -> Any:
    """A function; what it gives may be something that is awaited or read later."""

    def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        step = _begin(seam, original, owner, args, kwargs)
        if step is None:
            return original(owner, *args, **kwargs)
        try:
            result = step.pairing.make(step, original, owner, *args, **kwargs)
        except BaseException as error:
            step.end(error=error)
            raise
        if inspect.iscoroutine(result):  # nothing is done yet, and others may be begun before
            step.at_work.leave()
            return _awaited(result, step)
        return step.taken(result)

    return call


def _background(original: Any, seam: Seam) -> Any:
    """A function that starts tasks and gives a future: what follows it is the caller's own."""

    def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        with at_place(current_place()):
            step = _begin(seam, original, owner, args, kwargs)
            try:
                result = original(owner, *args, **kwargs)
            except BaseException as error:
                if step is not None:
                    step.end(error=error)
                raise
        future = getattr(result, LLAMA_INDEX_FUTURE, result)
        if step is not None and hasattr(future, "add_done_callback"):
            future.add_done_callback(step.settle)
        return result

    return call


def _coroutine(original: Any, seam: Seam) -> Any:
    async def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        step = _begin(seam, original, owner, args, kwargs)
        if step is None:
            return await original(owner, *args, **kwargs)
        try:
            value = await step.pairing.make_async(step, seam.made(original), owner, *args, **kwargs)
        except BaseException as error:
            step.end(error=error)
            raise
        return step.taken(value)

    return call


def _async_generator(original: Any, seam: Seam) -> Any:
    async def stream(owner: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        step = _begin(seam, original, owner, args, kwargs)
        items = original(owner if step is None else step.stand_in(owner), *args, **kwargs)
        if step is not None:
            step.at_work.leave()
        try:
            async for item in items if step is None else _read_async(items, step):
                yield item
        except Exception as error:
            if step is not None:
                step.end(error=error)
            raise
        finally:
            await items.aclose()

    return stream


async def _awaited(result: Any, step: _Step) -> Any:
    try:
        with step.at_work:
            value = await result
    except BaseException as error:
        step.end(error=error)
        raise
    return step.taken(value)


async def _read_async(items: Any, step: _Step, held_by: Any = None) -> AsyncIterator[Any]:
    last = held_by
    try:
        while True:
            with step.at_work:
                item = await anext(items, _NOTHING)
            if item is _NOTHING:
                break
            last = item if held_by is None else step.heard(item, held_by)
            yield item
    except BaseException as error:
        step.end(last, error=error)
        raise
    step.end(last)


def _read(items: Any, step: _Step, held_by: Any = None) -> Iterator[Any]:
    last = held_by
    try:
        while True:
            with step.at_work:
                item = next(items, _NOTHING)
            if item is _NOTHING:
                break
            last = item if held_by is None else step.heard(item, held_by)
            yield item
    except BaseException as error:
        step.end(last, error=error)
        raise
    step.end(last)


_NOTHING = object()


class _Step:
    """One call of a tool or an agent while it lasts. Also the key it is paired by."""

    def __init__(self, seam: Seam, given: dict[str, Any]) -> None:
        self.pairing = _pairing(seam.framework)
        self._seam = seam
        self._given = given
        self._words = ""
        self.at_work: Any = None

    def stand_in(self, owner: Any) -> Any:
        """What the method is called on."""
        return self._seam.stand_in(owner, self._given)

    def heard(self, item: Any, held_by: Any) -> Any:
        """One more piece of a result that is told in pieces, of which only words are kept."""
        self._words += item if isinstance(item, str) else ""
        return self._words or held_by

    def taken(self, value: Any) -> Any:
        """It gave this: what is read later is its result only then. Gives what its caller gets."""
        around = _read_async if inspect.isasyncgen(value) else _read if inspect.isgenerator(value) else None
        if around is not None:
            self.at_work.leave()
            return around(value, self)
        inner = getattr(value, "result", None) if self._seam.framework == "agno" else None
        if inspect.isasyncgen(inner) or inspect.isgenerator(inner):  # a tool of agno's may tell its result in pieces
            self.at_work.leave()
            read = (_read_async if inspect.isasyncgen(inner) else _read)(inner, self, value)
            for holder in (value, self._given["call"]):  # agno reads it from the one, or from the other
                if holder.result is inner:
                    holder.result = read
        else:
            self.end(value)
        return value

    @contained
    def end(self, result: Any = None, *, error: BaseException | None = None) -> None:
        """It is over; a reader who had enough of its events is no failure."""
        seam = self._seam
        _running.pop(self, None)
        if error is not None and not isinstance(error, GeneratorExit):
            self.pairing.end(self, error=error)
            return
        value, failure = seam.result(result, self._given)
        if seam.kind == "llm":
            self.pairing.end(self, **value)
            return
        is_left = error is not None and (seam.kind == "span" or result is None)
        meta = {"cancelled": True} if is_left else None
        self.pairing.end(self, value if seam.kind == "tool" else spoken(value), error=failure, meta=meta)

    def settle(self, future: Any) -> None:
        """What was started in the background is done."""
        error = CancelledError() if future.cancelled() else future.exception()
        self.end(None if error is not None else future.result(), error=error)


@contained
def _begin(seam: Seam, original: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Step | None:
    if not Switch.records:
        return None
    given = _bound(original, owner, args, kwargs)
    facts, step = seam.read(owner, given), _Step(seam, given)
    if facts is None:
        return None
    step.at_work = Working()
    if seam.kind == "span":
        if seam.is_inner and any(running is owner for running in _running.values()):
            return None
        _running[step] = owner
        started = step.pairing.start(step, "span", facts.name, facts.given, meta={"agent_name": facts.name})
        return step if started else None
    around = enclosing_call(seam.kind)
    if around is not None and (around.name == facts.name or seam.kind == "llm"):
        return None  # one method of the tool calls another
    meta = {"tool_call_id": facts.asked_by} if facts.asked_by else None
    names = [facts.asked_by] if facts.asked_by else []
    if seam.kind == "tool":  # not every framework tells a tool who asked for it
        names.append(request_name(facts.name, facts.given))
    started = step.pairing.start(
        step, seam.kind, facts.name, facts.given, asked_by=tuple(names), meta=meta, can=_can(seam, owner)
    )
    return step if started else None


def _can(seam: Seam, owner: Any) -> tuple[str, ...]:
    """What deciders may do. Nobody else can give the pieces in which a tool of agno's tells its result."""
    if is_for_agents(seam.framework, owner):
        return ()
    function = inspect.unwrap(owner.function.entrypoint) if seam.framework == "agno" else None
    return () if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function) else seam.can


_FOR_AGENTS = {
    "google_adk": "google.adk.",
    "llama_index": "llama_index.core.agent.",
    "semantic_kernel": "semantic_kernel.agents.",
    "strands": "strands.multiagent.",
}
"""Where the frameworks themselves define tools for their agents."""


def is_for_agents(framework: str, owner: Any) -> bool:
    """
    Whether a framework gave its agents this tool: to hand over to another, to ask one, to end a loop.

    It changes what the framework keeps of the agents, which an answer in its place would not do.
    """
    names = ("func", "async_fn", "method", STRANDS_FUNCTION)
    function = next((found for name in names if callable(found := getattr(owner, name, None))), type(owner))
    while isinstance(function, functools.partial):
        function = function.func
    home = _FOR_AGENTS.get(framework)
    return home is not None and str(getattr(inspect.unwrap(function), "__module__", "")).startswith(home)


def _bound(original: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    given = dict(_signature(original).bind_partial(owner, *args, **kwargs).arguments)
    given.pop(next(iter(given), ""), None)
    return given


_signature = functools.lru_cache(maxsize=200)(inspect.signature)


def spoken(value: Any) -> Any:
    """What an agent was told, or said: words where it is that, else as it is."""
    value = value.get("result", value) if isinstance(value, dict) else value
    value = getattr(value, "message", value)
    for name in ("content", "text", "output", "result"):
        told = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if isinstance(told, str):
            return told
        if name == "content" and isinstance(told, list) and text_of(told):
            return text_of(told)
    messages = getattr(value, "messages", None)
    if isinstance(messages, list) and messages and isinstance(getattr(messages[-1], "content", None), str):
        return messages[-1].content
    parts = getattr(value, "parts", None)
    if isinstance(parts, list):
        return "".join(getattr(part, "text", None) or "" for part in parts) or None
    return value
