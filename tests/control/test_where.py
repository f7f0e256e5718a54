"""Where to pause: what people write is read as they mean it, or refused with an example."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from agentdbg.control.pauses import steps_into
from agentdbg.control.where import Breakpoint, parse_breakpoint
from agentdbg.exceptions import UsageError

REFUND: dict[str, Any] = {"kind": "tool", "name": "refund", "args": {"amount": 400, "currency": "EUR", "ids": [1, 2]}}
MODEL: dict[str, Any] = {"kind": "llm", "name": "gpt-4o", "messages": [{"role": "user", "content": "Refund A-17"}]}


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    calls: int = 0
    cost_usd: float = 0.0
    tokens: int = 0
    errors: int = 0
    loops: int = 0


def before(text: str, facts: dict[str, Any], progress: Progress | None = None) -> bool:
    return parse_breakpoint(text).is_before(facts, progress or Progress(calls=1))


@pytest.mark.parametrize(
    ("text", "facts", "pauses"),
    [
        ("tool:refund", REFUND, True),
        ("tool:refund:before", REFUND, True),
        ("tool:ref*", REFUND, True),
        ("tool", REFUND, True),
        ("tool:search", REFUND, False),
        ("tool:refund:after", REFUND, False),
        ("llm", REFUND, False),
        ("llm:gpt-4o", MODEL, True),
        ("llm:ollama:llama3", {**MODEL, "name": "ollama:llama3"}, True),
        ("mcp:refund", REFUND, False),
        ("mcp:refund", {**REFUND, "is_mcp": True}, True),
        ("every", MODEL, True),
        ("call:1", MODEL, True),
        ("call:2", MODEL, False),
        ("tool:refund where args.amount>100", REFUND, True),
        ("tool:refund where args.amount>400", REFUND, False),
        ('tool:refund where args.amount>=400 and args.currency=="EUR"', REFUND, True),
        ("tool:refund where args.currency==EUR", REFUND, True),
        ("tool:refund where args.currency=='EUR' and args.amount>3", REFUND, True),
        ("tool:refund where args.currency in ['EUR', 'USD']", REFUND, True),
        ("tool:refund where args.currency in ['EUROPE']", REFUND, False),
        ('tool:refund where args.currency != "EUR"', REFUND, False),
        ('tool:refund where args.currency in ["EUR", "USD"]', REFUND, True),
        ("tool:refund where args.ids[-1] == 2", REFUND, True),
        ("tool:refund where args.missing==1", REFUND, False),
        ('tool:refund where args.amount>"100"', REFUND, False),
        ("llm where messages[0].content~refund", MODEL, True),
        ("every where kind==tool", REFUND, True),
        ("every where kind==tool", MODEL, False),
    ],
)
def test_a_place_is_read_as_it_is_meant(text: str, facts: dict[str, Any], pauses: bool) -> None:
    """A breakpoint that silently never hits costs somebody an afternoon."""
    assert before(text, facts) is pauses


@pytest.mark.parametrize(
    "text",
    [
        "",
        "refund",
        "tools:refund",
        "cost>much",
        "tool:x where",
        "tool:x where args",
        "call:x",
        "call:" + "9" * 5_000,
        "tool:x where a==1 or b==2",
    ],
)
def test_what_is_no_place_is_refused_with_an_example(text: str) -> None:
    """The message must say how it is done."""
    with pytest.raises(UsageError, match=r"example|looks like|condition"):
        parse_breakpoint(text)


def test_a_number_longer_than_python_reads_is_refused() -> None:
    """Python raises its own error for one of five thousand digits."""
    with pytest.raises(UsageError, match="path"):
        parse_breakpoint(f"tool:x where a[{'9' * 5_000}]==1")


def test_after_looks_at_the_outcome() -> None:
    """`tool:refund:after where result.ok==false` is how one catches a refused write."""
    place = parse_breakpoint("tool:refund:after where result.ok==false")

    assert place.is_after({**REFUND, "result": {"ok": False}})
    assert not place.is_after({**REFUND, "result": {"ok": True}})
    assert not place.is_before(REFUND, Progress(calls=1))


def test_error_and_loop_pause_once_for_each_new_one() -> None:
    """Otherwise every call after the first error would pause."""
    place = parse_breakpoint("error")

    pauses = [place.is_before(MODEL, Progress(calls=n, errors=errors)) for n, errors in enumerate([0, 1, 1, 2, 2])]

    assert pauses == [False, True, False, True, False]


def test_a_limit_pauses_when_it_is_passed_and_not_again() -> None:
    """`cost>0.5` is asked before each call, but one pause is enough."""
    place = parse_breakpoint("cost>0.5")

    pauses = [place.is_before(MODEL, Progress(calls=1, cost_usd=cost)) for cost in (0.1, 0.5, 0.6, 0.9)]

    assert pauses == [False, False, True, False]


def test_nothing_in_a_condition_is_executed() -> None:
    """Places come from pages and assistants too."""
    place: Breakpoint = parse_breakpoint("tool where args.x==\"__import__('os').system('true')\"")

    assert not place.is_before({"kind": "tool", "name": "t", "args": {"x": 1}}, Progress())


class Currency(enum.Enum):
    EUR = "eur"


class Place(NamedTuple):
    x: int


@dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: Currency = Currency.EUR


class Order(BaseModel):
    total: Money
    due: dt.date = dt.date(2026, 3, 1)


class Slots:
    __slots__ = ("total", "unset")

    def __init__(self) -> None:
        self.total = 7


class Session:
    """A class like any other; a property of it is code, and is not asked."""

    def __init__(self) -> None:
        self.step = 3

    @property
    def dangerous(self) -> int:
        raise AssertionError


@pytest.mark.parametrize(
    ("condition", "pauses"),
    [
        ("args.order.total.amount>100", True),
        ("args.order.total.amount>200.5", False),
        ("args.order.total.currency==eur", True),
        ("args.order.due<2026-03-02", True),
        ("args.order.nothing==1", False),
        ("args.slots.total==7", True),
        ("args.slots.unset==7", False),
        ("args.session.step>=3", True),
        ("args.session.dangerous==1", False),
        ("args.place.x==1", True),
    ],
)
def test_a_condition_looks_into_objects(condition: str, pauses: bool) -> None:
    """Programs give each other objects as often as dicts."""
    order = Order(total=Money(Decimal("150.50")))
    args = {"order": order, "slots": Slots(), "session": Session(), "place": Place(1)}

    place = parse_breakpoint(f"tool where {condition}")

    assert place.is_before({"kind": "tool", "name": "t", "args": args}, Progress()) is pauses


@pytest.mark.parametrize(
    ("root", "value", "path", "steps"),
    [
        ("args", {"amount": 1}, "args.amount", ("args", "amount")),
        ("args", {"amount": 1}, "amount", ("args", "amount")),
        ("result", "a thought", "response", ("result",)),
        ("result", {"content": ""}, "response.content", ("result", "content")),
        ("prompt", [{"content": ""}], "messages[0].content", ("prompt", 0, "content")),
        ("prompt", {"messages": [{}], "seed": 1}, "messages[0].content", ("prompt", "messages", 0, "content")),
    ],
)
def test_a_path_at_a_pause_may_begin_with_any_word_for_it(root: str, value: Any, path: str, steps: Any) -> None:
    """`fork --set` and conditions say response and messages; at the prompt they meant nothing, and nothing was said."""
    assert steps_into(root, value, path) == steps


def test_a_path_that_leads_nowhere_at_a_pause_is_told() -> None:
    """An edit that changes nothing must not look like one that does."""
    with pytest.raises(UsageError, match="paths begin with args"):
        steps_into("args", {"amount": 1}, "amout")
