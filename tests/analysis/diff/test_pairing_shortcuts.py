"""Pairing takes short ways for what is nearly always so; each gives what the long way gives."""

from __future__ import annotations

import json
import re
import sys
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.analysis.diff.align import _actions, _in_fixed_order
from agentdbg.analysis.diff.likeness import Arguments, _shared, _words, are_akin, likeness, likeness_table
from agentdbg.analysis.diff.read_side import read_side
from agentdbg.analysis.diff.sequences import common_pairs
from agentdbg.analysis.diff.steps import families_of
from agentdbg.analysis.effects import normal_form
from agentdbg.analysis.run_columns import TOOL
from agentdbg.analysis.wording import as_json
from tests.analysis.diff.events import llm, run, tool
from tests.analysis.diff.test_laws import runs

if TYPE_CHECKING:
    from agentdbg.events import Event

pytestmark = pytest.mark.slow

_SIGNS = "ab Z9_,.-\n“”’—…€°😀éßΩİ٣"
_SETS = st.frozensets(st.sampled_from([b"one", b"two", b"three", b"four"]))
_VALUES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([2.0, 2.5, "a b", "b c", ["a"], {"b": "a"}])
_TABLES = st.dictionaries(st.sampled_from(["a", "b", "c", "request_id"]), _VALUES)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=_SIGNS, max_size=40))
def test_signs_between_words_are_between_them_in_every_alphabet(text: str) -> None:
    """Quotation marks and dashes do not send a text the slow way; letters that are not ASCII do."""
    assert {word.decode() for word in _words(text)} == set(re.findall(r"\w+", text.lower()))


def test_what_is_in_no_word_is_in_none_as_a_small_letter_either() -> None:
    """So a text may be asked for such signs before its letters are made small."""
    in_a_word = re.compile(r"\w")
    others = (chr(code) for code in range(128, sys.maxunicode + 1) if not in_a_word.match(chr(code)))

    assert not [sign for sign in others if in_a_word.search(sign.lower())]


@settings(max_examples=100, deadline=None)
@given(_SETS, _SETS)
def test_what_is_shared_is_the_part_of_all(left: frozenset[bytes], right: frozenset[bytes]) -> None:
    """Two that have nothing are equal."""
    assert _shared(left, right) == (1.0 if left == right else len(left & right) / len(left | right))


@pytest.mark.parametrize(("text", "other", "alike"), [("", "", 0.95), ("", "a", 0.55), ("a", "b", 0.55)])
def test_answers_without_words_are_compared_too(text: str, other: str, alike: float) -> None:
    """There is nothing to divide by, and the table writes out what two steps are asked for."""
    left, right = (read_side(run(llm([], said))).order[1:2] for said in (text, other))

    assert likeness(left[0], right[0]) == pytest.approx(alike)
    assert likeness_table(left, right) == [{0: likeness(left[0], right[0])}]


@settings(max_examples=100, deadline=None)
@given(runs(), runs())
def test_what_is_akin_to_nothing_does_what_nothing_does_there(a: list[Event], b: list[Event]) -> None:
    """So its arguments need not be read, and the same steps are paired."""
    left, right = read_side(a).order, read_side(b).order
    families, families_right = families_of(left), families_of(right)
    actions = _actions(left, families, families_right, "left")
    actions_right = _actions(right, families_right, families, "right")

    assert all(are_akin(*pair) for pair in product(left, right) if pair[0].action == pair[1].action)
    assert common_pairs(actions, actions_right) == common_pairs(
        [step.action for step in left], [step.action for step in right]
    )


@settings(max_examples=300, deadline=None)
@given(_TABLES, _TABLES)
def test_arguments_are_as_alike_as_the_mean_of_them(left: dict[str, Any], right: dict[str, Any]) -> None:
    """Equal ones count whole, two texts or tables by their words, and any others not at all."""

    def alike(one: Any, other: Any) -> float:
        are_wordy = isinstance(one, (str, list, dict)) and isinstance(other, (str, list, dict))
        return 1.0 if one == other else 0.9 * _shared(_words(one), _words(other)) if are_wordy else 0.0

    total = sum(alike(item, right[key]) for key, item in left.items() if key in right)
    expected = total / len(left.keys() | right.keys()) if left or right else 1.0

    assert Arguments(left).likeness(Arguments(right)) == pytest.approx(expected)


@settings(max_examples=300, deadline=None)
@given(_TABLES)
def test_arguments_have_one_form_whatever_the_order_of_their_keys(args: dict[str, Any]) -> None:
    """A table of one key is in order already; ids go, whole numbers are whole, and the caller keeps his table."""
    before = json.dumps(args)
    expected = {key: 2 if args[key] == 2.0 else args[key] for key in sorted(args) if key != "request_id"}

    assert json.dumps(normal_form(args)) == json.dumps(expected)
    assert normal_form(args) is not args
    assert json.dumps(args) == before


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=4) | st.none(), max_size=3)))
def test_calls_stand_in_the_order_of_their_json(given: list[dict[str, Any]]) -> None:
    """Whether it is written with spaces or without."""
    steps = [step for step in read_side(run(*(tool("look", args) for args in given))).order if step.kind == TOOL]

    assert [as_json(step.content["args"]) for step in _in_fixed_order(steps)] == sorted(
        as_json(step.content["args"]) for step in steps
    )
