"""Making rows takes short ways, too; each gives what the long way gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentdbg.analysis.diff.align import Pairing, lay_out
from agentdbg.analysis.diff.changes import Change, sorted_changes, value_changes
from agentdbg.analysis.diff.result import Row, new_row
from agentdbg.analysis.diff.sequences import (
    _contradict,
    _facts,
    _first_difference,
    _part_in_lasting_words,
    has_digit,
    longest_increasing,
    other_wording,
)
from agentdbg.analysis.wording import as_json, cut
from agentdbg.loops.volatile import strip_volatile

pytestmark = pytest.mark.slow

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
_TEXTS = st.lists(_PIECES | st.just(" ") | st.just(" "), max_size=9).map("".join)


@settings(max_examples=500, deadline=None)
@given(_TEXTS, _TEXTS, _TEXTS, _TEXTS)
def test_texts_that_part_in_lasting_words_differ_in_more_than_ids(begin: str, was: str, now: str, end: str) -> None:
    """Only the place where they part is looked at, whatever stands elsewhere."""
    was, now = begin + was + end, begin + now + end
    assume(was != now)

    assert not _part_in_lasting_words(was, now) or strip_volatile(was.encode()) != strip_volatile(now.encode())


@settings(max_examples=500, deadline=None)
@given(_TEXTS, _TEXTS, _TEXTS, _TEXTS)
def test_long_texts_say_the_same_if_nothing_but_ids_differs(begin: str, was: str, now: str, end: str) -> None:
    """However long the texts are, and however little of them is looked at."""
    begin += "and so on, " * 30
    was, now = begin + was + end, begin + now + end
    assume(was != now)
    alike = strip_volatile(was.encode()) == strip_volatile(now.encode())

    assert (other_wording(was, now) is None) == (has_digit(was) and has_digit(now) and alike)


def test_a_word_beside_an_id_is_no_id() -> None:
    """An edited file is another one, though it has clocks in it."""
    text = "It was 10:11:12 when they left. " * 20

    assert _part_in_lasting_words(text + "All went home then.", text + "All went away then.")
    assert not _part_in_lasting_words(text + "at \ud800 then", text + "at \ud801 then")
    assert not _part_in_lasting_words(text + "at 10:11:12 then", text + "at 10:11:13 then")


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab", max_size=100), st.text(alphabet="ab", max_size=100))
def test_texts_part_at_their_first_difference(was: str, now: str) -> None:
    """Or where the shorter one ends."""
    assume(was != now)
    at = _first_difference(was, now)

    assert was[:at] == now[:at]
    assert was[at : at + 1] != now[at : at + 1]


@settings(max_examples=500, deadline=None)
@given(*[st.text(alphabet="ab 019,.'()$-é\n", max_size=40)] * 2)
def test_texts_contradict_each_other_if_each_has_a_fact_of_its_own(was: str, now: str) -> None:
    """Most often that is known before all facts are found."""
    facts, facts_now = set(_facts(was)), set(_facts(now))

    assert _contradict(was, now) == bool(facts - facts_now and facts_now - facts)


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


def test_a_row_made_the_quick_way_is_a_row() -> None:
    """Nothing of the class is missed by going past it."""
    changes = (Change("args", "changed", 1, 2),)
    row = new_row(("changed", 1, 2, 3, "name", 0, False, False, None, None, changes))

    assert row == Row("changed", 1, 2, 3, "name", changes=changes)
    assert type(row) is Row


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet='a"\\\né ', max_size=20), st.integers(0, 60))
def test_a_long_text_is_shortened_as_its_whole_json(piece: str, times: int) -> None:
    """Only its beginning is written as JSON, for no more of it is shown."""
    text = piece * times

    assert Change("x", "changed", text, None).to_short_json()["was"] == cut(as_json(text)[:400], 80)
