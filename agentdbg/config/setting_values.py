"""
What a setting's text or YAML value means: each function gives the value, or raises ValueError saying what it may be.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["boolean", "folder", "number", "patterns", "price_table", "shown", "text", "whole_number", "words"]

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def boolean(given: Any) -> bool:
    """1/0, true/false, yes/no, on/off, in any case."""
    word = str(given).strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError("which is neither 1 nor 0")


def text(given: Any) -> str:
    """Any text."""
    return str(given)


def folder(given: Any) -> Path:
    """A path; `~` is the home folder, a relative one starts at the current folder."""
    if not isinstance(given, (str, os.PathLike)) or not str(given).strip() or "\0" in str(given):
        raise ValueError("which is not a path")
    try:
        return Path(os.path.abspath(os.path.expanduser(given)))
    except OSError as error:  # abspath asks for the current folder, which may have been deleted
        pass_on(error)
        raise ValueError("which cannot be found from a folder that is gone") from None


def words(given: Any) -> tuple[str, ...]:
    """Words separated by commas, or a list."""
    items = given.split(",") if isinstance(given, str) else given
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, (str, int)) for item in items):
        raise ValueError("which is not a list of words")
    found = tuple(str(item).strip() for item in items if str(item).strip())
    if items and not any(letter.isalnum() for word in found for letter in word):
        raise ValueError("which holds no word")  # taken for an empty list, it would switch off what the words are for
    return found


def patterns(given: Any) -> tuple[str, ...]:
    """A list of regular expressions; in text, JSON or one on each line, because a comma may be part of one."""
    if isinstance(given, str):
        if given.lstrip().startswith("["):
            given = _json_list(given)
        if isinstance(given, str):
            given = given.splitlines()
    if not isinstance(given, (list, tuple)) or not all(isinstance(item, str) for item in given):
        raise ValueError("which is not a list of patterns")
    return tuple(item.strip() for item in given if item.strip())


def _json_list(given: str) -> Any:
    import json  # noqa: PLC0415 -- needed for this form alone

    try:
        parsed = json.loads(given)
    except ValueError as error:
        pass_on(error)
        return given  # "[abc]+" is a pattern, not a list
    return parsed if all(isinstance(item, str) for item in parsed) else given


def whole_number(at_least: int) -> Callable[[Any], int]:
    """A whole number from `at_least` upwards."""

    def parse(given: Any) -> int:
        try:
            if isinstance(given, bool) or (isinstance(given, float) and not given.is_integer()):
                raise ValueError
            value = int(str(given).strip()) if isinstance(given, str) else int(given)
        except (TypeError, ValueError, OverflowError) as error:
            pass_on(error)
            raise ValueError("which is not a whole number") from None
        if value < at_least:
            raise ValueError(f"which is less than {at_least}")
        return value

    return parse


def number(at_least: float) -> Callable[[Any], float]:
    """A number from `at_least` upwards."""

    def parse(given: Any) -> float:
        try:
            if isinstance(given, bool):
                raise TypeError
            value = float(given)
        except (TypeError, ValueError, OverflowError) as error:
            pass_on(error)
            raise ValueError("which is not a number") from None
        if not math.isfinite(value) or value < at_least:
            raise ValueError(f"which is not a number of at least {at_least:g}")
        return int(value) if value.is_integer() else value

    return parse


def price_table(given: Any) -> dict[str, dict[str, float]]:
    """`{model: {input: 2.5, output: 10, cached_input: 1.25}}`, in USD per million tokens."""
    if not isinstance(given, dict):
        raise TypeError("which is not a table of models")
    table: dict[str, dict[str, float]] = {}
    for model, prices in given.items():
        if not isinstance(prices, dict) or not {"input", "output"} <= set(prices):
            raise ValueError(f"in which {model!r} has no input and output price")
        table[str(model)] = {str(kind): number(at_least=0)(price) for kind, price in prices.items()}
    return table


def shown(value: Any) -> str:
    """A value the way the documentation and the messages write it."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value)) or "none"
    return str(value)
