"""Paths into values: what is typed leads where it says, and changing a copy changes nothing else."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import enum
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from agentdbg.control.kept_values import kept_where_unchanged
from agentdbg.control.value_paths import MISSING, parse_path, path_text, value_at, with_value
from agentdbg.exceptions import UsageError

VALUE: dict[str, Any] = {"args": {"items": [{"price": 3}, {"price": 4}], "odd key": 1, "a.b": 2}, "model": "m"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("model", "m"),
        ("args.items[1].price", 4),
        ("args.items[-1].price", 4),
        ('args["odd key"]', 1),
        ('args["a.b"]', 2),
        ("args.items[7]", MISSING),
        ("args.items.1.price", 4),
        ("args.items.-1.price", 4),
        ("args.items.7", MISSING),
        ("args.nothing", MISSING),
        ("model.x", MISSING),
    ],
)
def test_a_path_leads_where_it_says(text: str, found: Any) -> None:
    """The same paths serve edits, conditions and printing."""
    steps = parse_path(text)

    assert value_at(VALUE, steps) is found or value_at(VALUE, steps) == found
    assert parse_path(path_text(steps)) == steps


@pytest.mark.parametrize("text", ["", ".", "args.", "args..x", "args[", "args[x]", "args items", "[0]x"])
def test_what_is_no_path_is_refused(text: str) -> None:
    """A typing mistake must not become a key."""
    with pytest.raises(UsageError):
        parse_path(text)


def test_changing_gives_a_copy() -> None:
    """The recording that is edited must stay as it is."""
    before = copy.deepcopy(VALUE)

    changed = with_value(VALUE, parse_path("args.items[0].price"), 9)

    assert changed["args"]["items"][0]["price"] == 9
    assert with_value(VALUE, parse_path("args.items.0.price"), 9) == changed
    assert before == VALUE


def test_appending_adds_to_lists_and_texts() -> None:
    """`system+=" Be brief."` is the usual edit of a prompt."""
    assert with_value({"a": [1]}, ("a",), 2, append=True) == {"a": [1, 2]}
    assert with_value({"a": "x"}, ("a",), "y", append=True) == {"a": "xy"}
    with pytest.raises(UsageError):
        with_value({"a": 1}, ("a",), 2, append=True)


def test_a_place_that_is_not_there_is_named() -> None:
    """The message lists what there is."""
    with pytest.raises(UsageError, match="items"):
        with_value(VALUE, parse_path("args.item.x"), 1)
    with pytest.raises(UsageError, match="2 items"):
        with_value(VALUE, parse_path("args.items[5]"), 1)


def test_what_comes_back_unchanged_keeps_its_original() -> None:
    """A secret is shown as a marker, an object as a text; continuing with one changed number must lose neither."""
    client = object()
    original = {"key": "sk-secret", "client": client, "amount": 4000, "rows": [(1, 2), (3, 4)], 7: "seven"}
    shown = {"key": "__REDACTED__", "client": "<object>", "amount": 4000, "rows": [[1, 2], [3, 4]], "7": "seven"}

    result = kept_where_unchanged(original, shown, {**shown, "amount": 40, "rows": [[1, 2], [3, 5]], "new": True})

    assert result == {
        "key": "sk-secret",
        "client": client,
        "amount": 40,
        "rows": [(1, 2), (3, 5)],
        7: "seven",
        "new": True,
    }
    assert result["client"] is client


def test_true_is_not_one() -> None:
    """JSON tells them apart, Python's == does not."""
    assert kept_where_unchanged({"x": 1}, {"x": 1}, {"x": True})["x"] is True


class Unit(enum.Enum):
    EACH = "each"
    BOX = "box"


class Place(NamedTuple):
    shelf: str
    row: int


@dataclasses.dataclass(frozen=True)
class Line:
    sku: str
    price: Decimal
    unit: Unit = Unit.EACH
    at: Place = dataclasses.field(default=Place("a", 1))
    due: dt.date = dt.date(2026, 1, 31)


class Order(BaseModel):
    number: int
    lines: list[Line] = []


@pytest.mark.parametrize(
    ("path", "new", "changed"),
    [
        ("[0].price", 9.75, Line("x", Decimal("9.75"))),
        ("[0].unit", "BOX", Line("x", Decimal(1), Unit.BOX)),
        ("[0].unit", "Unit.BOX", Line("x", Decimal(1), Unit.BOX)),
        ("[0].at.row", 7, Line("x", Decimal(1), at=Place("a", 7))),
        ("[0].at[0]", "b", Line("x", Decimal(1), at=Place("b", 1))),
        ("[0].due", "2027-02-01", Line("x", Decimal(1), due=dt.date(2027, 2, 1))),
    ],
)
def test_a_field_of_an_object_is_changed_as_what_it_is(path: str, new: Any, changed: Line) -> None:
    """Programs of today give each other objects, and go on to reckon with what is in them."""
    before = [Line("x", Decimal(1))]

    assert with_value(before, parse_path("r" + path)[1:], new) == [changed]
    assert before == [Line("x", Decimal(1))]


def test_what_no_object_has_is_told_with_what_it_has() -> None:
    """A field that is made up would be read by nobody."""
    order = Order(number=1, lines=[Line("x", Decimal(1))])

    changed = with_value(order, parse_path("lines[0].sku"), "y")

    assert changed == Order(number=1, lines=[Line("y", Decimal(1))])
    assert order.lines[0].sku == "x"
    with pytest.raises(UsageError, match=r"there is no 'total' to go into; there are: number, lines"):
        with_value(order, ("total",), 3)
