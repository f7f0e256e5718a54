"""
Stand around the functions behind a framework's tools, so that they can be answered without being called.

A framework reports its tools, which makes the events; here is the place where the tool's own code would run. Calls that
are made here are no events of their own. They are on the tape, and deciders are asked about them.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from agentdbg.around import Call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

__all__ = ["follow_subclasses", "make_tool_call", "make_tool_call_async"]


class _SilentCall(Call):
    is_silent = True

    def by_name(self, given: Any) -> Any:
        return {"given": given}


def make_tool_call(name: Any, given: Any, function: Callable[[Any], Any], kind: str = "tool") -> Any:
    """Call the function behind a tool with what it is given, unless a decider answers in its place."""
    call = _SilentCall(kind, name, given, None, {})
    if not call.begin():
        return function(given)

    def made(given: Any) -> Any:  # an edit finds it by this name
        return function(given)

    try:
        result = call.make(made, given)
    except BaseException as error:
        call.fail(error)
        raise
    return call.finish(result)


async def make_tool_call_async(
    name: Any, given: Any, function: Callable[[Any], Awaitable[Any]], kind: str = "tool"
) -> Any:
    """Do the same with a function that is awaited."""
    call = _SilentCall(kind, name, given, None, {})
    if not call.begin():
        return await function(given)

    def made(given: Any) -> Awaitable[Any]:  # as above
        return function(given)

    try:
        result = await call.make_async(made, given)
    except BaseException as error:
        call.fail(error)
        raise
    return call.finish(result)


def follow_subclasses(base: Any, methods: dict[str, Callable[[Any], Any]]) -> None:
    """Stand around these methods of every class derived from this one, also of those that are yet to come."""

    def follow(kind: Any) -> None:
        for name, around in methods.items():
            original = vars(kind).get(name)
            if inspect.isfunction(original) and not hasattr(original, "agentdbg_original"):
                replacement: Any = functools.wraps(original)(around(original))
                replacement.agentdbg_original = original
                setattr(kind, name, replacement)

    before = vars(base).get("__init_subclass__")

    def init_subclass(kind: Any, /, **kwargs: Any) -> None:
        if before is None:
            super(base, kind).__init_subclass__(**kwargs)
        else:
            before.__func__(kind, **kwargs)
        follow(kind)

    base.__init_subclass__ = classmethod(init_subclass)
    for kind in _subclasses(base):
        follow(kind)


def _subclasses(kind: Any) -> Iterator[Any]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)
