"""A loop that goes on and on: it is told once, counted, and its events are known when something else comes."""

from __future__ import annotations

import gc

import pytest

from agentdbg.loops import LoopDetector
from benchmarks.loop_quality import judge
from benchmarks.loop_traces import Recorder

LONG = "the answer is long enough to tell somebody something"


def test_the_result_of_each_tool_call_in_the_prompt_is_no_person_speaking() -> None:
    """What is new in a prompt that is one text may be the tool's result, in the tenth round as in the first."""
    run, detector = Recorder(), LoopDetector()
    looping = []
    for second in range(9):
        result = f"{LONG}, as of 10:30:0{second}"
        detector.observe(run.tool("search", {"q": 1}, result))
        detector.observe(run.model(LONG, f"Now write about {result}"))
        looping.append(detector.active is not None)

    assert looping[2:] == [True] * 7


def test_one_call_marked_as_polling_hides_a_cycle_only_while_it_is_part_of_it() -> None:
    """A mark on one of a hundred calls says little of the others."""
    run = Recorder()
    for number in range(40):
        run.tool("search", {"q": 1}, LONG, meta={"polling": True} if number == 2 else None)
        run.tool("read", {"q": 1}, LONG)

    assert [finding.kind for finding in judge(run.events)] == ["repetition", "cycle"]


def test_a_loop_is_counted_on_when_it_goes_on_in_other_words() -> None:
    """`stop_on_loop_min_repetitions` counts what the agent said again, to the letter or nearly so."""
    run, detector = Recorder(), LoopDetector()
    for number in range(12):
        detector.observe(run.model(LONG if number < 8 else f"{LONG} {number}"))

    assert detector.active is not None
    assert detector.active.repetitions == 12


def test_the_events_of_a_loop_are_evidence_of_what_follows_it() -> None:
    """A finding that follows the loop has to point at the right events."""
    run = Recorder()
    for _ in range(50):
        run.tool("search", {"q": 1}, LONG)
    for _ in range(3):
        run.tool("other", {"n": 0}, f"{LONG} 0")

    findings = judge(run.events)

    assert [finding.pattern for finding in findings] == ["TOOL_CALL:search", "TOOL_CALL:other"]
    assert findings[1].evidence_event_ids == [event["event_id"] for event in run.events[-3:]]


def test_a_loop_that_never_ends_holds_no_memory() -> None:
    """Somebody forgets an agent over the weekend."""
    detector = LoopDetector()
    sizes = []
    for number in range(6_000):
        run = Recorder()
        detector.observe(run.model("thinking about it"))
        detector.observe(run.tool("search", {"q": 1}, LONG))
        if number in {2_000, 5_999}:
            sizes.append(len(gc.get_objects()))

    assert sizes[1] <= sizes[0] + 50


def test_a_tool_that_went_out_of_reach_is_met_as_if_for_the_first_time() -> None:
    """What is found must follow from what is within reach, however the run began."""
    run = Recorder()
    run.tool("search", {"q": 1}, LONG)
    run.tool("search", {"q": 1}, LONG)
    for number in range(40):
        run.model(f"thought {number}")
    late = run.tool("search", {"q": 1}, LONG)
    detector = LoopDetector()
    found = {event["event_id"]: detector.observe(event) for event in run.events}

    assert found[late["event_id"]] is None


@pytest.mark.parametrize("known", ["never", "before the loop", "in the loop"])
def test_a_price_nobody_knows_is_not_a_price_of_nothing(known: str) -> None:
    """ "0.00 USD" in a warning would say that the loop was free."""
    run = Recorder()
    run.model("let me look at it", cost_usd=0.5 if known == "before the loop" else None)
    run.tool("first", {}, "something else")
    for _ in range(3):
        run.model("let me look", cost_usd=0.25 if known == "in the loop" else None)
        run.tool("search", {"q": 1}, LONG)
    detector = LoopDetector()
    (finding,) = [found for event in run.events if (found := detector.observe(event)) is not None]

    assert finding.payload()["spent"].get("cost_usd") == (0.75 if known == "in the loop" else None)
