"""What holds for any two runs, tried on thousands of made-up ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.analysis.diff import apply, compare, make_patch, mirror, mirror_patch
from agentdbg.analysis.diff.sequences import common_pairs, longest_increasing, word_segments
from tests.analysis.diff.events import call_start, event, llm, run, tool

if TYPE_CHECKING:
    from agentdbg.events import Event

pytestmark = pytest.mark.slow

_NAMES = st.sampled_from(["get_a", "get_b", "book", "send"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([1.0, 0.5, "", "x", "two words here", '{"a": 1}']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
_MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": st.sampled_from("pqr")}
    ),
    max_size=4,
)


@st.composite
def runs(draw: st.DrawFn) -> list[Event]:
    """A small run: calls, spans, errors and states, hanging anywhere."""
    events = run()
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["tool", "tool", "llm", "span", "state", "error", "started", "loop"]))
        parent = draw(st.sampled_from(events[:-1]))
        made = _one(draw, kind, parent)
        made["duration_ms"] = draw(st.sampled_from([None, 0, 5, 5_000]))
        events[-1:-1] = [call_start(made), made] if kind in ("tool", "llm") and draw(st.booleans()) else [made]
        if kind == "started":
            events[-2] = call_start(made)
    return events


def _one(draw: st.DrawFn, kind: str, parent: Event) -> Event:
    if kind in ("tool", "started"):
        error = draw(st.sampled_from([None, None, "no"]))
        return tool(draw(_NAMES), draw(_VALUES), draw(_VALUES), parent, error=error)
    if kind == "llm":
        prompt: Any = draw(_MESSAGES | st.sampled_from(["hello", None]))
        return llm(prompt, draw(_VALUES), parent, model=draw(st.sampled_from(["m1", "m2"])))
    if kind == "span":
        payload = {"state": None, "diff": None, "error": None}
        return event("STATE_UPDATE", draw(_NAMES), payload, parent, meta={"span": "s"})
    if kind == "loop":
        return event("LOOP_WARNING", "p", {"pattern": "p", "kind": "cycle", "severity": "critical"}, parent)
    name = {"state": "STATE_UPDATE", "error": "ERROR"}[kind]
    return event(name, draw(_NAMES), {"state": draw(_VALUES), "error_type": "E", "message": "m"}, parent)


@settings(max_examples=200, deadline=None)
@given(runs(), runs())
def test_b_is_rebuilt_exactly_from_a_and_the_patch(a: list[Event], b: list[Event]) -> None:
    """Nothing is lost in a comparison, and it reads the same backwards."""
    patch = json.loads(json.dumps(make_patch(a, b, compare(a, b))))

    assert json.dumps(apply(a, patch), sort_keys=True) == json.dumps(b, sort_keys=True)
    assert json.dumps(apply(b, mirror_patch(patch)), sort_keys=True) == json.dumps(a, sort_keys=True)
    assert mirror_patch(mirror_patch(patch)) == patch


@settings(max_examples=200, deadline=None)
@given(runs(), runs())
def test_swapping_the_runs_mirrors_the_comparison(a: list[Event], b: list[Event]) -> None:
    """Which run is called A decides nothing but the side it stands on."""
    there, back = compare(a, b), compare(b, a)

    assert mirror(there).to_json() == back.to_json()
    assert mirror(mirror(there)).to_json() == there.to_json()


@settings(max_examples=200, deadline=None)
@given(runs(), runs())
def test_every_step_stands_in_exactly_one_row(a: list[Event], b: list[Event]) -> None:
    """A comparison that hides a step is worse than none."""
    diff = compare(a, b)
    for side, numbers in ((a, [row.a for row in diff.rows]), (b, [row.b for row in diff.rows])):
        shown = sorted(number for number in numbers if number is not None)
        ended = {call["event_id"] for call in side if call["event_type"] != "CALL_START"}
        hidden = [
            number
            for number, found in enumerate(side, 1)
            if found["event_type"] == "CALL_START" and found["payload"]["call_id"] in ended
        ]

        assert shown == sorted(set(range(1, len(side) + 1)) - set(hidden))


@settings(max_examples=200, deadline=None)
@given(runs())
def test_a_run_is_the_same_as_itself(a: list[Event]) -> None:
    """Whatever is in it."""
    diff = compare(a, json.loads(json.dumps(a)))

    assert diff.verdict == "same"
    assert all(row.a == row.b and row.op == "same" for row in diff.rows)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=60), st.lists(st.integers(0, 5), max_size=60))
def test_equal_elements_are_paired_in_order(left: list[int], right: list[int]) -> None:
    """Both sides grow, and nothing unequal is paired."""
    pairs = common_pairs(left, right)

    assert all(left[at] == right[at_right] for at, at_right in pairs)
    assert [at for at, _ in pairs] == sorted({at for at, _ in pairs})
    assert [at for _, at in pairs] == sorted({at for _, at in pairs})
    if left == right:
        assert len(pairs) == len(left)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 30), unique=True, max_size=9))
def test_the_longest_growing_run_is_as_long_as_any(numbers: list[int]) -> None:
    """Held against trying every choice."""
    found = [numbers[at] for at in longest_increasing(numbers)]
    best = 0
    for choice in range(2 ** len(numbers)):
        chosen = [number for at, number in enumerate(numbers) if choice >> at & 1]
        best = max(best, len(chosen) if chosen == sorted(chosen) else 0)

    assert found == sorted(found)
    assert len(found) == best


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab 1.\n", max_size=40), st.text(alphabet="ab 1.\n", max_size=40))
def test_the_words_of_a_difference_give_both_texts_back(was: str, now: str) -> None:
    """Nothing is dropped between the words."""
    segments = word_segments(was, now)

    assert "".join(text for kind, text in segments if kind != "now") == was
    assert "".join(text for kind, text in segments if kind != "was") == now
