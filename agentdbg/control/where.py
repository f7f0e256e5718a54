"""
Where a program should pause, as people write it: `tool:refund where args.amount>100`.

A small parser of its own; nothing is evaluated. `Breakpoint` answers two questions: whether to pause before a call,
and whether to pause after it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import fnmatch
import json
import operator as operators
import pathlib
import re
import uuid
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentdbg.control.value_paths import MISSING, parse_path, value_at
from agentdbg.exceptions import UsageError
from agentdbg.faults import pass_on

__all__ = ["Breakpoint", "Progress", "parse_breakpoint"]

_KINDS = ("tool", "llm", "mcp")
_ORDERS = {">": operators.gt, "<": operators.lt, ">=": operators.ge, "<=": operators.le}
_LIMITS = ("cost", "tokens", "calls")
_EXAMPLE = "for example tool:refund, llm:gpt-4o:after, error, loop, cost>0.5, call:12 or every"
_CONDITION = re.compile(
    r"\s*(?P<path>[^\s=<>!~]+)\s*(?P<operator>==|!=|>=|<=|>|<|~|\bin\b)\s*"
    r"""(?P<literal>"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|[^\s"\[\]]+)\s*(?P<more>and\s|$)"""
)


class Progress(Protocol):
    """How far a run has come, when a call is about to be made; `calls` says which call it is, from 1."""

    @property
    def calls(self) -> int: ...

    @property
    def cost_usd(self) -> float: ...

    @property
    def tokens(self) -> int: ...

    @property
    def errors(self) -> int: ...

    @property
    def loops(self) -> int: ...


@dataclass(frozen=True)
class _Condition:
    path: tuple[str | int, ...]
    operator: str
    literal: Any

    def holds(self, facts: dict[str, Any]) -> bool:
        value = value_at(facts, self.path)
        return False if value is MISSING else _compare(_as_typed(value), self.operator, self.literal)


@dataclass
class Breakpoint:
    """One place to pause at."""

    text: str
    kind: str
    """tool, llm, mcp, error, loop, cost, tokens, calls, call or every."""
    name: str = ""
    after: bool = False
    number: float = 0.0
    conditions: tuple[_Condition, ...] = ()
    is_pattern: bool = field(init=False, repr=False)
    """Whether its name may fit more than one call."""
    _seen: float = field(default=0.0, repr=False)
    _is_spent: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        """See what kind of name it has, once."""
        self.is_pattern = not self.name or any(sign in self.name for sign in "*?[")

    def may_be(self, kind: str, name: str, progress: Progress) -> bool:
        """Whether a call of this kind and name is worth a closer look: asked of every call, so it is quick."""
        if self.kind not in _KINDS:
            return self._may_be_reached(progress)
        if self.kind != kind and not (self.kind == "mcp" and kind == "tool"):
            return False
        return self.name == name or self.is_pattern

    def _may_be_reached(self, progress: Progress) -> bool:
        """Whether anything has changed since the last call, for a place that is no kind of call."""
        match self.kind:
            case "error" | "loop":
                return self._seen != (progress.errors if self.kind == "error" else progress.loops)
            case "call":
                return progress.calls == self.number
            case "every":
                return True
        so_far: float = getattr(progress, "cost_usd" if self.kind == "cost" else self.kind)
        return self._is_spent != (so_far > self.number)

    def is_ruled_out(self, facts: dict[str, Any]) -> bool:
        """Whether this call's name or arguments say already that it is not meant, whatever it comes to."""
        if self.kind not in _KINDS and self.kind != "every":
            return False
        return not self._is_call(facts) or not (self.after or self._holds(facts))

    def is_before(self, facts: dict[str, Any], progress: Progress) -> bool:
        """Whether to pause before this call."""
        if self.after or not self._is_here(facts, progress):
            return False
        return self._holds(facts)

    def is_after(self, facts: dict[str, Any]) -> bool:
        """Whether to pause now that this call has ended; `facts` knows its result or error."""
        if not self.after or not self._is_call(facts):
            return False
        return self._holds(facts)

    def _holds(self, facts: dict[str, Any]) -> bool:
        return all(condition.holds(facts) for condition in self.conditions)

    def _is_here(self, facts: dict[str, Any], progress: Progress) -> bool:
        match self.kind:
            case "error" | "loop":
                return self._is_new(progress.errors if self.kind == "error" else progress.loops)
            case "cost":
                return self._once(progress.cost_usd > self.number)
            case "tokens":
                return self._once(progress.tokens > self.number)
            case "calls":
                return self._once(progress.calls > self.number)
            case "call":
                return progress.calls == self.number
        return self._is_call(facts)

    def _is_call(self, facts: dict[str, Any]) -> bool:
        if self.kind == "every":
            return True
        if self.kind == "mcp":
            is_kind = facts.get("kind") == "tool" and bool(facts.get("is_mcp"))
        else:
            is_kind = facts.get("kind") == self.kind
        name = facts.get("name")
        return is_kind and (not self.name or name == self.name or fnmatch.fnmatchcase(str(name), self.name))

    def _is_new(self, count: float) -> bool:
        is_new, self._seen = count > self._seen, count
        return is_new

    def _once(self, holds: bool) -> bool:
        is_first = holds and not self._is_spent
        self._is_spent = holds
        return is_first


def parse_breakpoint(text: str) -> Breakpoint:
    """A place to pause at. Raises UsageError with what is wrong and an example."""
    place, _, rest = f"{text.strip()} ".partition(" where ")
    place = place.strip()
    conditions = _conditions(rest, text) if rest.strip() else ()
    if rest == "" and " where " in f"{text} ":
        raise UsageError(f"{text!r}: a condition is missing after where")
    if place in ("error", "loop", "every"):
        return Breakpoint(text.strip(), place, conditions=conditions)
    if limit := re.fullmatch(r"(cost|tokens|calls)\s*>\s*(\d+(?:\.\d+)?)", place):
        return Breakpoint(text.strip(), limit[1], number=float(limit[2]), conditions=conditions)
    if numbered := re.fullmatch(r"call:(\d{1,18})", place):
        return Breakpoint(text.strip(), "call", number=int(numbered[1]), conditions=conditions)
    kind, _, name = place.partition(":")
    if kind in _KINDS:
        after = name == "after" or name.endswith(":after")
        name = re.sub(r"(?:^|:)(?:after|before)$", "", name)
        return Breakpoint(text.strip(), kind, name=name, after=after, conditions=conditions)
    raise UsageError(f"{text!r} is no place to break at; {_EXAMPLE}")


def _conditions(text: str, whole: str) -> tuple[_Condition, ...]:
    conditions, at, is_open = [], 0, True
    while is_open:
        found = _CONDITION.match(text, at)
        if found is None:
            raise UsageError(
                f"{whole!r}: {text[at:].strip()!r} is no condition; one looks like args.amount>100, joined with `and`"
            )
        conditions.append(_Condition(parse_path(found["path"]), found["operator"], _literal(found["literal"])))
        at, is_open = found.end(), bool(found["more"])
    return tuple(conditions)


def _literal(text: str) -> Any:
    """JSON where it is JSON, also with single quotes, which are easier to type in a shell; else the text itself."""
    for form in (text, text.replace("'", '"') if text[0] in "['" else ""):
        try:
            return json.loads(form)
        except ValueError as error:
            pass_on(error)
    return text


def _as_typed(value: Any) -> Any:
    """A member of an enum, a date or an id as one types it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return str(value) if isinstance(value, (uuid.UUID, pathlib.PurePath)) else value


def _compare(value: Any, operator: str, literal: Any) -> bool:
    match operator:
        case "==":
            return bool(value == literal)
        case "!=":
            return bool(value != literal)
        case "in":
            return isinstance(literal, (list, str)) and value in literal if _fits(value, literal) else False
        case "~":
            return (
                str(literal).casefold()
                in (value if isinstance(value, str) else json.dumps(value, default=str)).casefold()
            )
    if isinstance(value, bool) or isinstance(literal, bool) or not _are_ordered(value, literal):
        return False
    return bool(_ORDERS[operator](value, literal))


def _fits(value: Any, literal: Any) -> bool:
    return isinstance(value, str) or not isinstance(literal, str)


def _are_ordered(value: Any, literal: Any) -> bool:
    numbers = (int, float, decimal.Decimal)
    return (isinstance(value, numbers) and isinstance(literal, numbers)) or (
        isinstance(value, str) and isinstance(literal, str)
    )
