"""What a value says of itself in one text, however little its methods can be trusted."""

from __future__ import annotations

from typing import Any

from agentdbg.interruptions import is_not_ours
from agentdbg.redaction.plain import Walk
from agentdbg.redaction.rules import DEFAULT_MAX_FIELD_BYTES
from agentdbg.user_code import UserCode, exception_arguments, static_attribute, tells_endlessly, type_name

__all__ = ["spoken"]


def spoken(value: Any) -> str:
    """
    `value` as a text that still has to be redacted: its own words where its type has a `__str__`.

    Everything else is walked, because the text of a list that holds the same list over and over has no end.
    """
    kind = type(value)
    try:
        if issubclass(kind, BaseException) and tells_endlessly(value):
            args = exception_arguments(value)
            return spoken(args[0] if len(args) == 1 else args)
        if not issubclass(kind, (str, bytes, bytearray)) and static_attribute(kind, "__str__") is not object.__str__:
            return str.__str__(UserCode().call(value, str, str))
        return Walk(None, None, DEFAULT_MAX_FIELD_BYTES, set()).text(value)
    except Exception as error:  # nothing can be said of it but what it is
        if is_not_ours(error):
            raise
        return f"<{type_name(value)}>"
