"""
Paths into JSON-like values, as people type them: `args.items[0].price`, `messages[-1].content`, `args["odd key"]`.

`parse_path` reads one, `value_at` follows it, `with_value` gives a changed copy. Nothing is evaluated, and the value
that a path leads into is never changed in place. In a list, `items.0` is `items[0]`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from agentdbg.control.object_fields import Fields, field_names, held_under, of_the_same_kind, with_field
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MISSING", "parse_path", "path_text", "value_at", "with_value"]

MISSING: Any = object()
"""What a path leads to where there is nothing."""

_STEP = re.compile(r"""\.?(?P<name>[^\s.\[\]"'=<>!~]+)|\[(?P<index>-?\d{1,18})\]|\[(?P<key>"(?:[^"\\]|\\.)*")\]""")
_POSITION = re.compile(r"-?[0-9]{1,18}")
_PLAIN_NAME = re.compile(r"""[^\s.\[\]"'=<>!~]+""")


def parse_path(text: str) -> tuple[str | int, ...]:
    """The keys and positions that a path names. Raises UsageError where it is none."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None or (found["name"] and bool(steps) != text.startswith(".", at)):
            raise UsageError(f"{text!r} is not a path: column {at + 1} does not fit; a path looks like args.items[0]")
        if found["index"]:
            steps.append(int(found["index"]))
        else:
            steps.append(found["name"] or json.loads(found["key"]))
        at = found.end()
    if not steps:
        raise UsageError("a path is empty; it looks like args.items[0]")
    return tuple(steps)


def path_text(steps: Sequence[str | int]) -> str:
    """A path as one types it."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_NAME.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step)}]"
    return text


def value_at(value: Any, steps: Sequence[str | int]) -> Any:
    """What stands there, or MISSING. In objects it is what they hold under that name; no code of theirs is asked."""
    for step in steps:
        fitting = _fitting(value, step)
        value = value[fitting] if _leads_on(value, fitting) else held_under(value, fitting, MISSING)
        if value is MISSING:
            return MISSING
    return value


def _fitting(value: Any, step: str | int) -> str | int:
    """The step as the value takes it: a number is a position in a list, however it was written."""
    is_position = isinstance(step, str) and isinstance(value, (list, tuple)) and _POSITION.fullmatch(step)
    return int(step) if is_position else step


def _leads_on(value: Any, step: str | int) -> bool:
    if isinstance(step, str):
        return isinstance(value, dict) and step in value
    return isinstance(value, (list, tuple)) and -len(value) <= step < len(value)


def with_value(value: Any, steps: Sequence[str | int], new: Any, *, append: bool = False) -> Any:
    """
    A copy in which `new` stands there; `append` adds it to the list or text that stands there.

    A key that is missing in a dict is added, a position that is missing in a list is not, nor is a field of an object.
    Raises UsageError.
    """
    if not steps:
        return _appended(value, new) if append else of_the_same_kind(value, new)
    step, rest = _fitting(value, steps[0]), steps[1:]
    if isinstance(step, str) and isinstance(value, dict):
        inside = value.get(step, MISSING)
        if inside is MISSING and (rest or isinstance(value, Fields)):
            raise UsageError(f"there is no {step!r} to go into; there are: {_names(value)}")
        return {**value, step: with_value(None if inside is MISSING else inside, rest, new, append=append)}
    if isinstance(step, int) and _leads_on(value, step):
        copy = list(value)
        copy[step] = with_value(copy[step], rest, new, append=append)
        return tuple.__new__(type(value), copy) if isinstance(value, tuple) else copy
    if isinstance(step, str) and (names := field_names(value)) is not None:
        if step not in names:
            raise UsageError(f"there is no {step!r} to go into; there are: {_names(dict.fromkeys(names))}")
        return with_field(value, step, with_value(getattr(value, step), rest, new, append=append))
    if isinstance(step, int) and isinstance(value, (list, tuple)):
        raise UsageError(f"there is no [{step}]: the list has {len(value)} items")
    what = "an object" if isinstance(value, dict) else "a list" if isinstance(value, (list, tuple)) else "a plain value"
    wanted = "a list" if isinstance(step, int) else "an object"
    raise UsageError(f"{path_text([step])} needs {wanted}, and the value there is {what}")


def _appended(value: Any, new: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [*value, new]
    if isinstance(value, str) and isinstance(new, str):
        return value + new
    raise UsageError("only a list can be appended to, or a text by a text")


def _names(value: dict[Any, Any]) -> str:
    names = [str(name) for name in value]
    return ", ".join(names[:8]) + (" …" if len(names) > 8 else "") or "none"
