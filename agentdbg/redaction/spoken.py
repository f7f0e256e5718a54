"""
What a value says of itself in one text, however little its methods can be trusted.

Loaded when a program ends, so it loads nothing else: a module that is loaded while Python leaves because of Ctrl-C may
change the exit code that the shell sees.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from agentdbg.redaction.plain import Walk
from agentdbg.redaction.rules import DEFAULT_MAX_FIELD_BYTES
from agentdbg.redaction.user_code import UserCode, static_attribute, type_name

__all__ = ["spoken", "tells_endlessly"]

_MOST_TOLD = 5_000


def spoken(value: Any) -> str:
    """
    `value` as a text that still has to be redacted: its own words where its type has a `__str__`.

    Everything else is walked, because the text of a list that holds the same list over and over has no end.
    """
    kind = type(value)
    try:
        if issubclass(kind, BaseException) and tells_endlessly(value):
            args = _arguments_of(value)
            return spoken(args[0] if len(args) == 1 else args)
        if not issubclass(kind, (str, bytes, bytearray)) and static_attribute(kind, "__str__") is not object.__str__:
            return str.__str__(UserCode().call(value, str, str))
        return Walk(None, None, DEFAULT_MAX_FIELD_BYTES, set()).text(value)
    except Exception:  # noqa: BLE001 -- nothing can be said of it but what it is
        return f"<{type_name(value)}>"


def tells_endlessly(error: BaseException) -> bool:
    """Whether the text of an exception would be that of a structure far too large to be written out."""
    waiting: list[Any] = [_arguments_of(error)]
    for _ in range(_MOST_TOLD):
        if not waiting:
            return False
        item = waiting.pop()
        if type(item) is dict:
            waiting.extend(islice(item.values(), _MOST_TOLD))
        elif type(item) in (list, tuple, set, frozenset):
            waiting.extend(islice(item, _MOST_TOLD))
    return True


def _arguments_of(error: BaseException) -> Any:
    return BaseException.__dict__["args"].__get__(error)
