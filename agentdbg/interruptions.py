"""
Tell what interrupted our code from what went wrong in it.

Our code runs inside the user's program, and two kinds of exceptions come out of it. A fault of ours, or of the data we
look at, ends where it happened. What a signal handler raises (Ctrl-C, a timeout, a soft time limit, the `sys.exit` of
SIGTERM), or what another thread raises in this one, belongs to the program and must reach it, wherever it arrived.

The traceback tells them apart. The interpreter calls a handler in the middle of whatever runs, and hands it that very
frame: `handler(signum, frame)`, as it hands a tracer `trace(frame, event, arg)`. So an exception came from outside when
a frame of its traceback was called with the frame above it, is that of a handler set just now (it may have deleted its
arguments), or was called at an instruction that calls nothing. Ctrl-C without a handler of the program's own, and what
`PyThreadState_SetAsyncExc` raises, have no frame. They show at the innermost one: they arrive where the interpreter
looks for them, and the instruction there is no `raise`.
"""

from __future__ import annotations

import os
import sys

# The plain functions: those of `signal` make enums of what they give, which takes ten times as long.
from _signal import default_int_handler, getsignal, valid_signals  # type: ignore[import-not-found]
from functools import partial
from opcode import opmap
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import ref

from agentdbg.exceptions import AgentDbgGuardrailExceeded, AgentDbgReplayDiverged, ReplayReached, RunStopped

if TYPE_CHECKING:
    from types import FrameType, TracebackType

__all__ = ["WeakBag", "hide_own_frames", "is_interruption", "is_not_ours", "without_ours"]

_STOPS = (AgentDbgGuardrailExceeded, AgentDbgReplayDiverged, ReplayReached, RunStopped)
_EVENTS = frozenset({"call", "line", "return", "exception", "opcode", "c_call", "c_return", "c_exception"})
_VARARGS = 0x04
_SIGNALS = tuple(map(int, valid_signals()))
_RAISING = {opmap[name] for name in ("RAISE_VARARGS", "RERAISE") if name in opmap}
# Here the interpreter looks for signals, and nothing can fail.
_LOOKING = {opmap[name] for name in ("RESUME", "JUMP_BACKWARD", "JUMP_ABSOLUTE") if name in opmap}
_OF_THE_INTERPRETER = (MemoryError, RecursionError, StopIteration, StopAsyncIteration)
_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_OURS_OR_PYTHONS = (_OWN_FOLDER, os.path.dirname(os.__file__) + os.sep, "<frozen ")
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LONGEST_CHAIN = 20
_OUR_LIBRARIES = frozenset({"agentdbg", "msgspec", "re2"})
_SMALLEST_BAG = 64

Thing = TypeVar("Thing")


class WeakBag(Generic[Thing]):
    """
    Things for as long as somebody else holds them. No code runs when one goes, as it does in a WeakSet.

    Python drops what a signal handler raises in the callback of a weak reference, and it would be a callback of ours.
    """

    __slots__ = ("_most", "_things")

    def __init__(self) -> None:
        self._things: dict[int, ref[Thing]] = {}
        self._most = _SMALLEST_BAG

    def add(self, thing: Thing) -> None:
        """Hold one more; those that are gone are forgotten now and then."""
        things = self._things
        if len(things) >= self._most:
            for key, held in list(things.items()):
                # Another thread may do the same; after the call nothing comes between this and the next line.
                if held() is None and key in things and things[key] is held:
                    del things[key]
            self._most = max(_SMALLEST_BAG, 2 * len(things))
        things[id(thing)] = ref(thing)

    def now(self) -> list[Thing]:
        """Those that are still there."""
        return [thing for held in list(self._things.values()) if (thing := held()) is not None]


def is_interruption(error: BaseException) -> bool:
    """Whether `error` came from a signal handler, from another thread, or from a guardrail; for code of any kind."""
    kind, trace = type(error), error.__traceback__
    if issubclass(kind, _STOPS):
        return True
    if trace is None:
        return False
    handlers = _handlers()
    while trace.tb_next is not None:
        called = trace.tb_next.tb_frame
        if called.f_code in handlers or (_instruction(trace) in _LOOKING) or _is_given(called, trace.tb_frame):
            return True
        trace = trace.tb_next
    instruction = _instruction(trace)
    if instruction in _RAISING or issubclass(kind, _OF_THE_INTERPRETER):
        return False
    # A call into C fails too, but with a reason, or with an exception of Python's own.
    is_bare = not _reasons(error) and not _is_pythons(kind)
    return instruction in _LOOKING or is_bare or issubclass(kind, KeyboardInterrupt)


def is_not_ours(error: BaseException) -> bool:
    """
    Whether `error` passed through our own code without being a fault of it; not for what a user's object raised.

    Our code raises no SystemExit, and what it calls raises nothing but Python's own exceptions, with a reason in them.
    """
    kind = type(error)
    return not issubclass(kind, Exception) or is_interruption(error) or _arrived_from_nowhere(error, kind)


def without_ours(context: BaseException | None) -> BaseException | None:
    """
    What the program was handling, of what an interruption is said to have come in the handling of.

    Exceptions that never leave our code are nobody else's business; the interpreter chains to them all the same.
    """
    for _ in range(_LONGEST_CHAIN):  # it could be a ring
        if context is None or issubclass(type(context), _STOPS) or not _stayed_inside(context):
            return context
        context = context.__context__
    return context


def hide_own_frames(error: BaseException) -> None:
    """Let what the program, or its framework, prints of its exception look as it would without us."""
    first = here = _next_of_theirs(error.__traceback__)
    while here is not None:
        here.tb_next = _next_of_theirs(here.tb_next)
        here = here.tb_next
    if first is not None:
        BaseException.with_traceback(error, first)  # not assigned: a frozen one raises then


def _next_of_theirs(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OWN_FOLDER):
        trace = trace.tb_next
    return trace


def _stayed_inside(error: BaseException) -> bool:
    trace = error.__traceback__
    if trace is None:
        return False
    while trace is not None:
        if not _is_ours_or_pythons(trace.tb_frame):
            return False
        trace = trace.tb_next
    return True


def _is_ours_or_pythons(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    return path.startswith(_OWN_FOLDER) or (
        path.startswith(_OURS_OR_PYTHONS) and not any(folder in path for folder in _PACKAGES)
    )


def _handlers() -> set[CodeType]:
    """The code of the handlers that are set for signals just now."""
    found = set()
    for signum in _SIGNALS:
        handler: Any = getsignal(signum)
        while type(handler) is partial:
            handler = handler.func
        if callable(handler) and handler is not default_int_handler:
            function = getattr(handler, "__func__", handler)  # a method's
            if type(function) is not FunctionType:
                function = type(handler).__call__  # an object's
            code = getattr(function, "__code__", None)
            if type(code) is CodeType:
                found.add(code)
    return found


def _is_given(frame: FrameType, caller: FrameType) -> bool:
    """Whether the interpreter itself called this frame in the middle of `caller`: nobody else hands over that frame."""
    given = _arguments(frame)
    for at, value in enumerate(given):
        if value is caller:
            before, after = given[at - 1] if at else None, given[at + 1] if at + 1 < len(given) else None
            return issubclass(type(before), int) or (type(after) is str and after in _EVENTS)
    return False


def _arguments(frame: FrameType) -> list[Any]:
    """What a function was called with, by position."""
    code, values = frame.f_code, frame.f_locals
    given = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & _VARARGS:
        rest = values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        given += rest if type(rest) is tuple else ()
    return given


def _instruction(trace: TracebackType) -> int:
    return trace.tb_frame.f_code.co_code[trace.tb_lasti]


def _arrived_from_nowhere(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an instruction of ours, or of Python's, that raises nothing of the kind ends the traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not _is_ours_or_pythons(trace.tb_frame):
        return False
    if _instruction(trace) in _RAISING or issubclass(kind, _OF_THE_INTERPRETER):
        return False
    return not _reasons(error) or not _is_pythons(kind, _OUR_LIBRARIES)


def _reasons(error: BaseException) -> Any:
    return BaseException.__dict__["args"].__get__(error)


def _is_pythons(kind: type[BaseException], or_of: frozenset[str] = frozenset()) -> bool:
    """Whether an exception is one of the interpreter's, the standard library's, or of these other packages."""
    package = str(type.__getattribute__(kind, "__module__")).partition(".")[0]
    return package in sys.stdlib_module_names or package in or_of
