"""
Foreign values as the shape one hopes for: an empty one where they are something else.

Files of other tools are not to be trusted with types; reading them through these keeps one odd value from costing more
than itself.
"""

from __future__ import annotations

from typing import Any

__all__ = ["as_dict", "as_list", "as_number", "as_word"]


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_word(value: Any) -> str:
    """The value if it is text, else none at all."""
    return value if isinstance(value, str) else ""


def as_number(value: Any, otherwise: int = 0) -> int:
    """The value if it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
