"""Runs that are long or have little in common: the work stays bounded, and what was cut short is said."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.analysis.diff import apply, compare, make_patch, mirror
from agentdbg.analysis.diff.align import _pieces
from agentdbg.analysis.diff.sequences import is_prose, other_wording
from agentdbg.analysis.diff.summary import notes
from tests.analysis.diff.events import llm, run, tool

if TYPE_CHECKING:
    from agentdbg.events import Event


def _readings(side: str, count: int) -> list[Event]:
    """One tool again and again, each time with other arguments than the other run has at any place."""
    return run(
        *(tool("get_page", {"page": f"{side} {number}", "size": number % 5}, f"of {side}") for number in range(count))
    )


def _mixed(side: str) -> list[Event]:
    """Gaps with one way and gaps with a choice between steps that all runs have."""
    steps: list[Event] = []
    for number in range(12):
        steps.append(tool("get_anchor", {"number": number}, number))
        asked = llm(
            [{"role": "user", "content": f"Question {number}"}], f"An answer from {side}, {number % 3} of three."
        )
        steps += [asked, tool("get_page", {"page": f"{side} {number}"}, number)]
        if (number % 3 == 0) == (side == "a"):
            steps += [tool("get_page", {"page": f"{side} again {number}"}, number), tool("send", {"to": side}, None)]
    return run(*steps)


def test_a_long_stretch_without_anything_equal_is_paired_in_pieces_and_that_is_said() -> None:
    """Two thousand steps have four million combinations; nobody waits for them, and nobody is misled."""
    a, b = _readings("a", 300), _readings("b", 280)
    diff = compare(a, b)

    assert diff.pairing.cut == 580
    assert [note for note in notes(diff) if "paired in pieces" in note and note.startswith("580 steps")]
    assert diff.counts["changed"] > 250
    assert apply(a, json.loads(json.dumps(make_patch(a, b, diff)))) == b
    assert mirror(diff).to_json() == compare(b, a).to_json()


def test_a_short_gap_is_never_cut() -> None:
    """The note is for runs that have next to nothing in common."""
    diff = compare(_readings("a", 60), _readings("b", 60))

    assert diff.pairing.cut == 0
    assert not [note for note in notes(diff) if "pieces" in note]


def test_tables_of_a_gap_stay_small_however_long_it_is() -> None:
    """Twice the steps may take twice the time, not four times."""
    for length in (65, 1_000, 2_000, 50_000):
        pieces = _pieces(0, length, 0, length)
        cells = sum((end - begin) * (end_right - begin_right) for begin, end, begin_right, end_right in pieces)

        assert (pieces[0][0], pieces[-1][1], pieces[-1][3]) == (0, length, length)
        assert all(before[1] == after[0] for before, after in pairwise(pieces))
        assert cells <= max(16_384, 16 * length)


def test_events_given_by_hand_may_hold_what_is_no_json() -> None:
    """A set in the arguments is compared as it prints."""
    a, b = run(tool("get", {"ids": {1}})), run(tool("get", {"ids": {2}}))

    assert compare(a, a).verdict == "same"
    assert compare(a, b).counts["changed"] == 1


def test_an_answer_that_comes_back_in_the_next_prompt_is_not_news() -> None:
    """Its ids are its provider's, and what it says stands in its own row."""

    def told(identity: str, echo: str | None = None) -> list[Event]:
        answer: dict[str, Any] = {"role": "assistant", "content": "Let me look.", "id": identity}
        question = {"role": "user", "content": "Where?"}
        repeated = answer if echo is None else {**answer, "content": echo}
        return run(llm([question], answer), llm([question, repeated], "Here."))

    assert compare(told("m-1"), told("m-2")).verdict == "same"
    (changed,) = (row for row in compare(told("m-1"), told("m-2", "Let me see.")).rows if row.op != "same")
    assert [change.path for change in changed.changes] == ["history"]


def test_prose_is_told_by_words_wherever_they_begin() -> None:
    """A long number or link at the beginning makes a sentence no value."""
    assert other_wording("um ७ Uhr, um früh, um fünf", "um ३ Uhr, um früh, um fünf") is False
    assert is_prose("See 1234567890-1234567890-1234567890-1234567890 for all the details")
    assert not is_prose("1234567890-1234567890-1234567890-1234567890")
    assert other_wording("No figures in here at all.", "There are 3 of them in here.")
    assert other_wording("There are 4 of them in here.", "There are 3 of them in here.") is False


def test_a_run_imported_without_times_has_no_duration() -> None:
    """All its events have the time of the file, which makes it neither quick nor slow."""
    a, b = run(tool("get")), run(tool("get"))
    a[0]["meta"] = {"imported_from": {"format": "chat", "times": "not recorded; that of the file is shown"}}
    a[-1]["duration_ms"] = 0
    b[-1]["duration_ms"] = 1_500
    totals = compare(a, b).to_json()["totals"]

    assert (totals["a"]["duration_ms"], totals["b"]["duration_ms"]) == (None, 1_500)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}, (7, 2, 9)),
        ({"prompt_tokens": 7.0, "completion_tokens": 2, "total_tokens": 9}, (7, 2, 9)),
        ({"prompt_tokens": 7, "completion_tokens": True, "total_tokens": 9}, (7, None, 9)),
        ({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 10**30}, (7, 2, 9)),
        ({"input_tokens": 7, "output_tokens": 2}, (7, 2, 9)),
        ({"prompt_tokens": "7", "total_tokens": "9"}, (7, None, 9)),
        ({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 0}, (5, 7, 12)),
        (None, (None, None, None)),
    ],
)
def test_tokens_are_counted_as_far_as_they_are_told(usage: Any, counts: tuple[Any, Any, Any]) -> None:
    """Plain numbers are taken as they are; whatever else providers write is looked at closely."""
    totals = compare(run(llm(usage=usage)), run()).to_json()["totals"]["a"]

    assert (totals["tokens_in"], totals["tokens_out"], totals["total_tokens"]) == counts
