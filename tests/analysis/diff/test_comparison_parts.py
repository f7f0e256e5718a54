"""The parts that a comparison is made of, each held against its own law."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentdbg.analysis.conversation import answer, last_text, turns
from agentdbg.analysis.diff.align import Pairing, _best_sums, _in_fixed_order, lay_out
from agentdbg.analysis.diff.changes import sorted_changes, value_changes
from agentdbg.analysis.diff.model_context import ContextReader
from agentdbg.analysis.diff.read_side import read_side
from agentdbg.analysis.diff.sequences import longest_increasing, other_wording
from agentdbg.analysis.diff.steps import Arguments, _shared, _words, likeness
from agentdbg.analysis.effects import normal_form
from agentdbg.analysis.run_columns import TOOL
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_json
from agentdbg.loops.volatile import strip_volatile
from tests.analysis.diff.events import llm, run, tool

pytestmark = pytest.mark.slow

_TEXTS = st.text(alphabet="ab Zé9,.'\"\\\n\t-\x1c\xa0", max_size=30)
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS | st.just("long " * 200)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)
_CALLS = st.lists(
    st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": _TEXTS, "arguments": _TEXTS | _VALUES})}),
    max_size=2,
)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda width: st.lists(st.lists(st.sampled_from([0.0, 0.3, 0.35, 0.9]), min_size=width, max_size=width))
    )
)
def test_no_choice_of_pairs_comes_to_more_than_the_sum_in_its_corner(table: list[list[float]]) -> None:
    """Held against going through the table cell by cell."""
    width = len(table[0]) if table else 0
    best = [[0.0] * (width + 1)]
    for likes in table:
        row = [0.0]
        for column, like in enumerate(likes):
            row.append(max(row[-1], best[-1][column + 1], best[-1][column] + like if like else 0.0))
        best.append(row)

    sparse = [{column: like for column, like in enumerate(likes) if like} for likes in table]

    assert _best_sums(sparse, width) == best


@settings(max_examples=200, deadline=None)
@given(st.none() | _TEXTS, st.none() | _CALLS)
def test_a_plain_answer_reads_as_one_with_more_in_it(content: str | None, calls: list[Any] | None) -> None:
    """A field that says nothing sends it the long way."""
    message = {"role": "assistant", "content": content} | ({} if calls is None else {"tool_calls": calls})

    assert answer(message) == answer({**message, "refusal": None})


@settings(max_examples=200, deadline=None)
@given(st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": _TEXTS | _VALUES}) | _TEXTS, max_size=3))
def test_the_last_text_is_that_of_the_last_turn(messages: list[Any]) -> None:
    """Whatever stands before it."""
    assert last_text(messages) == " ".join(turn.text for turn in turns(messages, last=1))


@settings(max_examples=300, deadline=None)
@given(_VALUES, st.integers(0, 40), st.sampled_from(["", ",", "NaN", "\\ud800", "01", "\x00", " "]))
def test_a_text_is_opened_as_the_standard_library_would(value: Any, place: int, put_in: str) -> None:
    """Another decoder may be quicker; what is JSON and what is not does not depend on it."""
    text = json.dumps(value)
    text = text[:place] + put_in + text[place:]
    try:
        opened = json.loads(text) if text.strip()[:1] in ("{", "[") and text.strip()[-1:] in ("}", "]") else text
    except ValueError:
        opened = text

    assert repr(parse_embedded(text)) == repr(opened)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.sampled_from("pqrs").map(lambda text: {"role": "user", "content": text}), max_size=6)))
def test_a_history_is_the_same_whatever_was_said_before(prompts: list[list[Any]]) -> None:
    """What is known of earlier messages is taken over, also where some of them were dropped."""
    reader = ContextReader()
    for prompt in prompts:
        payload = {"prompt": prompt, "response": "yes"}
        alone = ContextReader().read(payload, tools_are_events=True)

        assert reader.read(payload, tools_are_events=True).history == alone.history


_PIECES = st.sampled_from(
    [
        *("the", "noon", "said", "s", "ms", "seconds", "HAT172", "5", "at", "(", ")", ".", ",", "é", "\n", "T", "Z"),
        *("10:11:12", "10:11:13.5", "+01:00", "2026-11-15", "1.5s", "2.5 s", ".5 sec", "12345678901234567890.25"),
        *("1700000000", "1700000001123", "0x7f00aa", " at 0xabcdefabcdefabcd", "call_", "a1b2c3d4e5f60718", "req-"),
        *(
            "abcdefabcdefabcd",
            "abcdefab-abcd-abcd-abcd-abcdefabcdef",
            "b" * 15 + "7",
            "x" * 25,
            "run_" + "z" * 30 + "1",
        ),
    ]
)
_TEXTS_WITH_IDS = st.lists(_PIECES | st.just(" ") | st.just(" "), max_size=9).map("".join)


@settings(max_examples=500, deadline=None)
@given(_TEXTS_WITH_IDS, _TEXTS_WITH_IDS, _TEXTS_WITH_IDS, _TEXTS_WITH_IDS)
def test_long_texts_say_the_same_if_nothing_but_ids_differs(begin: str, was: str, now: str, end: str) -> None:
    """However long the texts are, and however little of them is looked at."""
    begin += "and so on, " * 30
    was, now = begin + was + end, begin + now + end
    assume(was != now)
    alike = strip_volatile(was.encode()) == strip_volatile(now.encode())
    have_digits = bool(re.search(r"\d", was) and re.search(r"\d", now))

    assert (other_wording(was, now) is None) == (have_digits and alike)


_STEPS = st.lists(st.integers(1, 12), unique=True)


@settings(max_examples=300, deadline=None)
@given(_STEPS, _STEPS, st.randoms(use_true_random=False))
def test_steps_are_laid_out_as_if_one_by_one(a: list[int], b: list[int], chance: Any) -> None:
    """Held against going through A step by step."""
    pairs = dict(zip(chance.sample(a, min(len(a), len(b)) // 2), chance.sample(b, len(b)), strict=False))
    paired = [number for number in a if number in pairs]
    spine = {paired[position] for position in longest_increasing([b.index(pairs[number]) for number in paired])}
    places: list[tuple[int | None, int | None]] = []
    left = list(b)
    for number in a:
        while number in spine and left and pairs[number] in left:
            places.append((None, left.pop(0)))
        places.append((number, pairs.get(number)))
    places += [(None, number) for number in left]
    expected = [place for place in places if place[0] is not None or place[1] not in pairs.values()]
    sides: Any = [SimpleNamespace(order=[SimpleNamespace(number=number) for number in side]) for side in (a, b)]

    assert lay_out(Pairing(pairs, {}), *sides) == expected


def test_of_many_changes_the_first_are_told() -> None:
    """In their order, wherever in a value they are."""
    was = {"a": [{"b": [number, -number]} for number in range(150)], "c": 1}
    found = sorted_changes(value_changes(was, {"a": [{"b": [0.5, 0.5]} for _ in range(150)], "c": 2}, "x"))
    listed = sorted_changes(value_changes(list(range(500)), [], ""))

    assert [change.path for change in found] == [f"x.a[{at // 2}].b[{at % 2}]" for at in range(200)]
    assert [change.path for change in listed] == [f"[{at}]" for at in range(200)]


_SETS = st.frozensets(st.sampled_from(["one", "two", "three", "four"]))
_ARGUMENTS = (
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([2.0, 2.5, "a b", "b c", ["a"], {"b": "a"}])
)
_TABLES = st.dictionaries(st.sampled_from(["a", "b", "c", "request_id"]), _ARGUMENTS)


@settings(max_examples=100, deadline=None)
@given(_SETS, _SETS)
def test_what_is_shared_is_the_part_of_all(left: frozenset[str], right: frozenset[str]) -> None:
    """Two that have nothing are equal."""
    assert _shared(left, right) == (1.0 if left == right else len(left & right) / len(left | right))


@pytest.mark.parametrize(("text", "other", "alike"), [("", "", 0.95), ("", "a", 0.55), ("a", "b", 0.55)])
def test_answers_without_words_are_compared_too(text: str, other: str, alike: float) -> None:
    """There is nothing to divide by."""
    left, right = (read_side(run(llm([], said))).order[1:2] for said in (text, other))

    assert likeness(left[0], right[0]) == pytest.approx(alike)


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
