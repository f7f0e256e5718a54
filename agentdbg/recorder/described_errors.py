"""
What went wrong, in the one shape events store: `{error_type, message, stack, details}`.

Takes an exception, a text or a dict, in the names users know. Never raises, whatever the exception's own methods do.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from agentdbg.interruptions import is_interruption
from agentdbg.loading import not_swallowed
from agentdbg.recorder.source_lines import is_own_file, is_user_file
from agentdbg.redaction.safe_str import spoken
from agentdbg.user_code import tells_endlessly

if TYPE_CHECKING:
    from types import FrameType, TracebackType

__all__ = ["FailedCalls", "describe_error", "is_clean_exit", "safe_text"]

_MOST_REMEMBERED = 64
_MOST_FRAMES = 80

_KNOWN = {"error_type", "type", "message", "stack", "stack_trace", "details"}


def describe_error(given: Any) -> dict[str, Any]:
    """The stored shape of an exception, a text or a dict."""
    kind = type(given)  # not isinstance: that asks the object, which may lie or raise
    if issubclass(kind, BaseException):
        return {
            "error_type": _name_of(kind),
            "message": safe_text(given),
            "stack": _stack(given),
            "details": None,
        }
    if issubclass(kind, dict):
        return _from_dict(given)
    if issubclass(kind, type) and issubclass(given, BaseException):
        return {"error_type": _name_of(given), "message": "", "stack": None, "details": None}
    return {"error_type": "Error", "message": safe_text(given), "stack": None, "details": None}


def _name_of(kind: type) -> str:
    return str(type.__getattribute__(kind, "__name__"))  # past any metaclass


def is_clean_exit(error: BaseException) -> bool:
    """Whether what ended a run is no failure."""
    kind = type(error)  # not isinstance, as above
    return issubclass(kind, GeneratorExit) or (issubclass(kind, SystemExit) and _is_zero(error))


def _is_zero(error: Any) -> bool:
    code = error.code
    return code is None or (issubclass(type(code), int) and int.__index__(code) == 0)


def safe_text(value: Any) -> str:
    """`str(value)`, or something readable where that raises or would not end."""
    if type(value) is str:
        return value
    return spoken(value)


def _from_dict(given: dict[Any, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    rest: dict[Any, Any] = {}
    for key, value in dict.items(given):  # not its own methods: they may be anything
        if type(key) is str and key in _KNOWN:
            known[key] = value
        else:
            rest[key] = value
    stack = known.get("stack", known.get("stack_trace"))
    details = known.get("details")
    return {
        "error_type": _first_text(known.get("error_type"), known.get("type")) or "Error",
        "message": safe_text(known.get("message", "")),
        "stack": None if stack is None else safe_text(stack),
        "details": rest if details is None and rest else details,
    }


def _first_text(*candidates: Any) -> str:
    """The first of them that says anything, as text."""
    texts = (safe_text(candidate) for candidate in candidates if candidate is not None)
    return next(filter(None, texts), "")


def _stack(error: BaseException) -> str | None:
    """The traceback as Python prints it, without the frames that are only our wrappers."""
    try:
        if error.__traceback__ is None:
            return None
        return not_swallowed(_told, error, error.__traceback__)
    except Exception as raised:  # __cause__, __notes__ and friends may be anything
        if is_interruption(raised):
            raise
        return None


def _told(error: BaseException, trace: TracebackType) -> str:
    if tells_endlessly(error):  # Python would write it out
        return "".join(traceback.format_tb(trace))
    shown = traceback.TracebackException(type(error), error, trace, compact=True)
    _drop_own_frames(shown)
    shown.stack[:0] = _callers(trace.tb_frame)
    return "".join(shown.format())


def _callers(caught_in: FrameType) -> list[traceback.FrameSummary]:
    """
    The program's own frames above a call that we stood around.

    The traceback of what such a call raised begins with us; who made the call is what the developer looks for.
    """
    if not is_own_file(caught_in.f_code.co_filename):
        return []
    frames: list[FrameType] = []
    frame = caught_in.f_back
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        if is_user_file(frame.f_code.co_filename):
            frames.append(frame)
        frame = frame.f_back
    return list(traceback.StackSummary.extract((frame, frame.f_lineno) for frame in reversed(frames)))


def _drop_own_frames(shown: Any, depth: int = 0) -> None:
    """Also in the exceptions it came from, as far as anyone would read."""
    theirs = [frame for frame in shown.stack if not is_own_file(frame.filename)]
    if theirs:
        shown.stack[:] = theirs
    for other in (shown.__cause__, shown.__context__):
        if other is not None and depth < 10:
            _drop_own_frames(other, depth + 1)


class FailedCalls:
    """The exceptions that calls have recorded: one that then ends the run is one error, not two."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[int, tuple[str, str, str]] = {}

    def remember(self, error: BaseException, call_id: str) -> None:
        """This call recorded this exception."""
        if len(self._calls) >= _MOST_REMEMBERED:
            self._calls.pop(next(iter(self._calls)))
        self._calls[id(error)] = (_name_of(type(error)), safe_text(error), call_id)

    def call_of(self, error: BaseException) -> str | None:
        """The call that recorded this exception, if one did."""
        known = self._calls.get(id(error))
        # The interpreter gives the id of a dead object to a new one, hence the second look.
        if known is None or known[:2] != (_name_of(type(error)), safe_text(error)):
            return None
        return known[2]


def _load_the_rest() -> None:
    """Tell of an exception once: the standard library imports more modules when it does so, and none may be left."""
    try:
        _load_the_rest.__dict__["nothing"]
    except KeyError as error:
        _stack(error)


_load_the_rest()
