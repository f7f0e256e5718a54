"""An edit of what is shown changes what was edited, and nothing else of the value behind it."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass
from typing import Any

import pytest

import agentdbg
from agentdbg.control.kept_values import kept_where_unchanged
from agentdbg.recorder.context import current_scope

SECRET = "sk-" + "a1B2c3D4" * 5


@dataclass(frozen=True)
class Order:
    """What a program of today passes around instead of a dict."""

    name: str
    amount: int


def shown(value: Any) -> Any:
    """The value as a pause shows it."""
    with agentdbg.traced_run("r"):
        scope = current_scope()
        assert scope is not None
        return copy.deepcopy(scope.run.shown(value))


def test_a_long_conversation_is_edited_at_its_end_and_nothing_of_it_is_lost() -> None:
    """Too long to be shown whole, it has a mark in its middle; the program gets what the mark stands for."""
    messages = [{"role": "user", "content": f"{n}: " + "word " * 2_000} for n in range(300)]
    before = shown(messages)
    edited = copy.deepcopy(before)
    assert len(edited) < 300
    edited[-1]["content"] = "short"

    whole = kept_where_unchanged(messages, before, edited)

    assert whole == [*messages[:-1], {"role": "user", "content": "short"}]
    edited[0]["content"] = "first"
    assert [one["content"][:5] for one in kept_where_unchanged(messages, before, edited)[:2]] == [
        "first",
        "1: wo",
    ]
    assert len(kept_where_unchanged(messages, before, [*edited, {"role": "user", "content": "more"}])) == 301
    assert kept_where_unchanged(messages, before, edited[-1:]) == edited[-1:]


def test_a_text_is_edited_around_a_secret() -> None:
    """Who changes 4000 to 40 in a sentence does not mean to take the key out of it."""
    text = f"Pay 4000 with {SECRET}, then mail bob the key {SECRET}x"
    marked = shown({"text": text})
    assert SECRET not in json.dumps(marked)

    edited = {"text": marked["text"].replace("4000", "40")}
    assert kept_where_unchanged({"text": text}, marked, edited)["text"] == text.replace("4000", "40")
    without = {"text": marked["text"].replace("__REDACTED__", "nothing", 1)}
    assert kept_where_unchanged({"text": text}, marked, without) == without


def test_a_text_too_long_to_be_shown_is_edited_at_its_beginning() -> None:
    """Its end is not there to be edited, and stays."""
    text = "please " + "x" * 2_000_000 + " end"
    marked = shown(text)

    assert kept_where_unchanged(text, marked, marked.replace("please", "do not")) == "do not" + text[6:]


def test_a_dict_with_too_many_entries_keeps_those_that_were_not_shown() -> None:
    """A mark of their own stands for them."""
    many = {f"k{n}": "v" * 300 for n in range(10_000)}
    before = shown(many)
    assert len(before) < 10_000

    assert kept_where_unchanged(many, before, {**before, "k0": 1}) == {**many, "k0": 1}


def test_items_are_taken_out_and_moved_with_what_is_behind_them() -> None:
    """The second secret does not become the first because one item went."""
    items = [{"key": f"{SECRET}{n}", "n": n} for n in range(4)]
    first, second, third, fourth = shown(items)

    assert kept_where_unchanged(items, shown(items), [second, third, fourth]) == items[1:]
    changed = kept_where_unchanged(items, shown(items), [first, {**third, "n": 7}, fourth, {"new": 1}])
    assert changed[0] == items[0]
    assert changed[-2:] == [items[3], {"new": 1}]
    assert kept_where_unchanged(tuple(items), shown(items), [first, {**second, "n": 9}, third, fourth]) == (
        items[0],
        {**items[1], "n": 9},
        *items[2:],
    )


def test_an_object_of_fields_stays_one() -> None:
    """A tool that was declared with an Order cannot do anything with a dict."""
    order = Order(f"bob {SECRET}", 4000)
    marked = shown({"order": order})
    marked["order"]["amount"] = 40

    assert kept_where_unchanged({"order": order}, shown({"order": order}), marked) == {"order": Order(order.name, 40)}
    assert order.amount == 4000


@pytest.mark.parametrize("seed", range(30))
def test_one_change_changes_one_place(seed: int) -> None:
    """Whatever the value is: what one edit of its JSON does is what the program sees of it, and no more."""
    chance = random.Random(seed)

    def made(depth: int) -> Any:
        if depth == 0 or chance.random() < 0.3:
            return chance.choice([1, True, None, "", "text", f"a {SECRET}{chance.randint(0, 3)} b", "é\n", 0.5])
        if chance.random() < 0.5:
            return [made(depth - 1) for _ in range(chance.randint(0, 5))]
        return {chance.choice("abcdefg"): made(depth - 1) for _ in range(chance.randint(0, 5))}

    def places(value: Any) -> list[tuple[Any, Any]]:
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [one for key, inside in list(pairs) for one in [(value, key), *places(inside)]]

    original = {"root": made(4)}
    marked = shown(original)
    at = chance.randrange(len(places(marked)))
    edited, wanted = copy.deepcopy(marked), copy.deepcopy(original)
    for value in (edited, wanted):
        owner, key = places(value)[at]
        owner[key] = "edited"

    assert kept_where_unchanged(original, marked, edited) == wanted
