"""What holds for every run: the same answer twice, nothing kept, nothing changed, nothing that grows."""

from __future__ import annotations

import copy
import gc
import json
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.loops import LoopDetector, LoopFinding
from agentdbg.loops.step_contents import Characters, find_period, has_period, input_key
from agentdbg.loops.volatile import strip_volatile
from benchmarks.loop_quality import judge
from benchmarks.loop_traces import Recorder

if TYPE_CHECKING:
    from agentdbg.events import Event

pytestmark = pytest.mark.slow


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
_prompts = (
    st.none()
    | st.text(max_size=20)
    | st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": _json}), max_size=3
    )
)


@st.composite
def _runs(draw: st.DrawFn) -> list[Event]:
    """Runs of few different events, so that they repeat themselves."""
    run = Recorder()
    kinds = draw(st.lists(st.sampled_from(["tool", "fail", "model", "state", "span", "other"]), min_size=1, max_size=5))
    values = draw(st.lists(_json, min_size=1, max_size=3))
    block = [(kind, draw(st.sampled_from("ab")), draw(st.sampled_from(values))) for kind in kinds]
    picks = draw(st.lists(st.integers(0, len(block) - 1), max_size=20)) + list(range(len(block))) * draw(
        st.integers(0, 5)
    )
    for pick in picks:
        kind, name, value = block[pick]
        if kind == "tool":
            run.tool(name, value, draw(st.sampled_from(values)))
        elif kind == "fail":
            run.fail(name, value)
        elif kind == "model":
            run.model(value, draw(_prompts), name)
        elif kind == "state":
            run.add("STATE_UPDATE", "state", {"state": value, "diff": None})
        elif kind == "span":
            run.add("STATE_UPDATE", name, {"state": None}, {"span": name})
        else:
            run.add("MY_TYPE", name, {"value": value})
    return run.events


@settings(max_examples=60, deadline=None)
@given(_runs(), st.integers(4, 30), st.integers(2, 4))
def test_a_log_read_again_gives_the_same_findings(events: list[Event], window: int, repetitions: int) -> None:
    """An imported or old run must be judged as it would have been when it ran."""
    online = judge(events, window, repetitions)
    again = judge([json.loads(json.dumps(event)) for event in events], window, repetitions)

    assert [finding.payload() for finding in online] == [finding.payload() for finding in again]


@settings(max_examples=60, deadline=None)
@given(_runs(), st.integers(4, 30), st.integers(2, 4))
def test_each_pattern_is_told_once_per_severity(events: list[Event], window: int, repetitions: int) -> None:
    """A pattern may come again only as something worse."""
    rank = {"info": 1, "warning": 2, "critical": 3}
    told: dict[tuple[str, ...], int] = {}
    for finding in judge(events, window, repetitions):
        names = finding.pattern.split(" -> ")
        key = min(tuple(names[start:] + names[:start]) for start in range(len(names)))
        assert rank[finding.severity] > told.get(key, 0)
        told[key] = rank[finding.severity]


@settings(max_examples=60, deadline=None)
@given(_runs())
def test_findings_are_well_formed_and_events_untouched(events: list[Event]) -> None:
    """The payload goes into the log as it is, and the events belong to the user."""
    before = copy.deepcopy(events)
    ids = {event["event_id"] for event in events}
    for finding in judge(events):
        json.dumps(finding.payload(), allow_nan=False)
        assert finding.repetitions >= 3
        assert finding.explanation.endswith(".")
        assert set(finding.evidence_event_ids) <= ids
        assert len(finding.evidence_event_ids) >= 3
        assert len(finding.evidence) <= 3
        assert finding.first_event_id == finding.evidence_event_ids[0]

    assert events == before


def _naive_period(text: str, repetitions: int, length: int, shortest: int) -> int:
    text = text[-length:]
    for period in range(shortest, len(text) // repetitions + 1):
        block = text[-period:]
        if text.endswith(block * repetitions):
            return period
    return 0


@settings(max_examples=300, deadline=None)
@given(
    st.text("abc", max_size=12),
    st.text("abc", min_size=1, max_size=40),
    st.integers(1, 8),
    st.integers(2, 5),
    st.integers(4, 200),
    st.integers(1, 3),
)
def test_the_period_found_is_the_one_a_plain_search_finds(
    head: str, block: str, rounds: int, repetitions: int, length: int, shortest: int
) -> None:
    """The quick search must be exact, also for blocks longer than its gram."""
    text = head + block * rounds

    assert find_period(text, repetitions, length, shortest) == _naive_period(text, repetitions, length, shortest)


@given(st.text("ab", min_size=1, max_size=12), st.integers(1, 12))
def test_a_text_has_a_period_when_it_repeats_after_it(text: str, period: int) -> None:
    """What "could still become a block" rests on."""
    expected = all(text[index] == text[index - period] for index in range(period, len(text)))

    assert has_period(text, period) == expected


@given(st.lists(st.sampled_from("abcdefgh"), max_size=60), st.integers(1, 10))
def test_things_of_late_have_one_character_each(things: list[str], kept: int) -> None:
    """Blocks are looked for in text, so equal must mean equal and different, different."""
    characters = Characters(kept)
    met = [(thing, *characters.meet(thing, number)) for number, thing in enumerate(things, 1)]
    for place, (thing, is_known, character) in enumerate(met):
        before = met[max(0, place - kept) : place]
        assert is_known == any(thing == other for other, _, _ in before)
        assert all((thing == other) == (character == its) for other, _, its in before)


@given(st.dictionaries(st.text(max_size=5), _json, max_size=5), st.randoms())
def test_an_input_has_one_key_in_any_order_and_any_writing(value: dict[str, Any], chance: Any) -> None:
    """Models write their arguments as JSON in a text, in any order."""
    keys = list(value)
    chance.shuffle(keys)
    shuffled = {key: value[key] for key in keys}

    assert input_key(value) == input_key(shuffled) == input_key(json.dumps(shuffled, ensure_ascii=False))


@given(st.binary(max_size=300))
def test_stripping_takes_any_bytes(text: bytes) -> None:
    """What tools return is anything at all."""
    assert isinstance(strip_volatile(text), bytes)


class _Watched(dict[str, Any]):
    """A dict whose end can be observed."""


def test_nothing_of_the_payload_is_kept() -> None:
    """A result of a hundred megabytes must go when the user lets go of it."""
    run = Recorder()
    detector = LoopDetector()
    watched = []
    for _ in range(5):
        value = _Watched(rows=["x" * 50])
        watched.append(weakref.ref(value))
        event = run.tool("search", {"q": 1}, value)
        detector.observe(event)
        event["payload"]["result"] = None
        del value, event
    gc.collect()

    assert [reference() for reference in watched] == [None] * 5


def test_memory_does_not_grow_with_the_run() -> None:
    """Agents run for days; names, inputs and answers may all be different every time."""
    detector = LoopDetector()
    # Names are let go in heaps, so the most there is at a time counts: over a hundred rounds, early and late.
    early, late = range(2_000, 2_100), range(5_900, 6_000)
    held: dict[int, int] = {}
    for number in range(late.stop):
        run = Recorder()
        detector.observe(run.model(f"answer {number} in some words", None, f"model-{number % 700}"))
        detector.observe(run.tool(f"tool-{number}", {"n": number}, f"result {number}"))
        detector.observe(run.tool("search", {"n": number}, f"result {number}"))
        # Comes back twice after it was out of reach, and goes again.
        if number % 20 < 2:
            detector.observe(run.tool("now_and_then", {"n": number}, f"result {number}"))
        if number in early or number in late:
            held[number] = _objects_held()

    assert max(held[number] for number in late) <= max(held[number] for number in early) + 5


def _objects_held() -> int:
    gc.collect()
    return sum(1 for item in gc.get_objects() if str(type(item).__module__).startswith("agentdbg.loops"))


@pytest.mark.parametrize("value", [float("nan"), object(), b"bytes", {1: 2}, {"a": {3, 4}}, "\ud800", [[[[[1]]]]] * 2])
def test_odd_values_do_not_raise(value: Any) -> None:
    """The detector runs inside the user's program."""
    run = Recorder()
    for _ in range(4):
        run.model(value, value)
        run.tool("search", value, value)
        run.tool("fail", value, None, error=value)

    assert all(isinstance(finding, LoopFinding) for finding in judge(run.events))
