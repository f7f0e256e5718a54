"""What differs inside two values: paths, words, and what only looks different."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.analysis.diff.changes import Change, from_first_difference, sorted_changes, value_changes
from agentdbg.analysis.diff.sequences import other_wording, word_segments


def _paths(was: Any, now: Any) -> list[tuple[str, str]]:
    return [(change.path, change.op) for change in sorted_changes(value_changes(was, now, "x"))]


@pytest.mark.parametrize(
    ("was", "now", "paths"),
    [
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, []),
        ({"a": 1}, {"a": True}, [("x.a", "changed")]),
        ({"a": {"b": [1, 2, 3]}}, {"a": {"b": [1, 9, 3]}}, [("x.a.b[1]", "changed")]),
        ([1, 2, 3], [0, 1, 2, 3], [("x[0]", "added")]),
        ([1, 2, 3], [2, 3], [("x[0]", "removed")]),
        ([{"n": 1}, {"n": 2}], [{"n": 0}, {"n": 1}, {"n": 3}], [("x[0]", "added"), ("x[1→2].n", "changed")]),
        ('{"a": 1}', '{"a": 2}', [("x.a", "changed")]),
        ('{"a": 1}', {"a": 1}, []),
        ({"a": None}, {}, [("x.a", "removed")]),
        ({"r": {"request_id": "1", "v": 1}}, {"r": {"request_id": "2", "v": 1}}, []),
        ("took at 10:11:12", "took at 10:11:13", []),
        ("a long text __TRUNCATED__", "a long text that goes on", []),
        ("a long text__TRUNCATED__", "another text", [("x", "changed")]),
        ("a long__TRUNCATED__ goes on\n", "a long text that goes on\n", []),
        ("a long te__TRUNCATED__t goes on\n", "a long __TRUNCATED__es on\n", []),
        ("a long__TRUNCATED__ goes on", "a long text that stops", [("x", "changed")]),
    ],
)
def test_differences_are_named_by_their_paths(was: Any, now: Any, paths: list[tuple[str, str]]) -> None:
    """The reader sees the leaf that changed, and nothing that did not."""
    assert _paths(was, now) == paths


def test_positions_are_listed_by_size() -> None:
    """[2] comes before [10]."""
    was, now = list(range(12)), [-1] * 12

    assert [path for path, _ in _paths(was, now)] == [f"x[{at}]" for at in range(12)]


def test_a_small_difference_far_inside_is_found_at_once() -> None:
    """1 is true in Python, so that every level around them looks the same at first."""
    was: Any = {"flag": 1}
    now: Any = {"flag": True}
    for _ in range(30):
        was, now = {"in": [was], "b": 2}, {"b": 2.0, "in": [now]}

    assert _paths(was, now) == [("x" + ".in[0]" * 20, "changed")]


def test_a_change_can_be_read_backwards() -> None:
    """Whoever swaps A and B gets the same story told the other way round."""
    change = Change("args.tags[1→2]", "added", None, 5)

    assert change.swapped() == Change("args.tags[2→1]", "removed", 5, None)
    assert change.swapped().swapped() == change


@pytest.mark.parametrize(
    ("was", "now", "is_wording"),
    [
        ("The total is $105 for you", "You would pay $105 in total", True),
        ("The total is $105 for you", "The total is $207 for you", False),
        ("Your booking M05KNL is ready now", "Your booking is ready now", True),
        ("1. Take the train\n2. Walk home", "Take the train, then walk home", True),
        ("Paris", "London", False),
        ("HAT172", "HAT132", False),
        ("It leaves at 06:00 in May", "It leaves at 6:00 in the month of May", True),
        ("1,250 dollars are left here", "There are 1250 dollars left", True),
    ],
)
def test_other_wording_is_prose_that_contradicts_nothing(was: str, now: str, is_wording: bool) -> None:
    """Figures, dates and codes are facts; words are words."""
    assert other_wording(was, now) is is_wording
    assert other_wording(now, was) is is_wording


def test_two_texts_are_told_word_by_word() -> None:
    """The eye finds the one word that changed."""
    assert word_segments("the flight costs 105 dollars", "the flight costs 207 dollars, one way") == [
        ("same", "the flight costs "),
        ("was", "105"),
        ("now", "207"),
        ("same", " dollars"),
        ("now", ", one way"),
    ]


@pytest.mark.parametrize(
    ("was", "now", "shown"),
    [
        ("a short text", "a short word", ("a short text", "a short word")),
        (
            "The policy allows it. The total is 4000",
            "The policy allows it. The total is 40",
            ("…total is 4000", "…total is 40"),
        ),
        ("x" * 50 + "a", "x" * 50 + "b", ("…" + "x" * 8 + "a", "…" + "x" * 8 + "b")),
        (4000, 40, (4000, 40)),
    ],
)
def test_of_two_long_texts_the_part_that_differs_is_shown(was: Any, now: Any, shown: tuple[Any, Any]) -> None:
    """The beginning that both have says nothing, and takes the room of what does."""
    assert from_first_difference(was, now, 8) == shown
