"""The documents' rule: a block of names at the end of the window, repeated often enough."""

from __future__ import annotations

import pytest

from benchmarks.loop_quality import judge
from benchmarks.loop_traces import Recorder


def _patterns(names: str, window: int = 12, repetitions: int = 3) -> list[tuple[str, int]]:
    """What the rule says about tools called by letters, each call with an input of its own."""
    run = Recorder()
    for number, name in enumerate(names):
        run.tool(name, {"n": number}, f"result number {number} of the run")
    return [(finding.pattern, finding.repetitions) for finding in judge(run.events, window, repetitions)]


def test_a_block_of_names_three_times_is_a_finding() -> None:
    """Whoever reads the documents expects a LOOP_WARNING here."""
    assert _patterns("abababcd") == [("TOOL_CALL:a -> TOOL_CALL:b", 3)]


def test_two_times_is_none() -> None:
    """A retry is not a loop."""
    assert _patterns("ababcd") == []


def test_the_smallest_period_names_the_pattern() -> None:
    """`a -> a` would say the same thing twice."""
    assert _patterns("aaaaaaaaaaaa") == [("TOOL_CALL:a", 3)]


def test_rotations_are_one_pattern() -> None:
    """A loop that goes on is in each of its rotations in turn, and is still one loop."""
    assert _patterns("abcabcabcabcabcabc") == [("TOOL_CALL:a -> TOOL_CALL:b -> TOOL_CALL:c", 3)]


def test_a_block_that_does_not_fit_the_window_is_not_found() -> None:
    """The window is what the user asked for."""
    five_times_three = "abcde" * 3

    assert _patterns(five_times_three) == []
    assert _patterns(five_times_three, window=15) == [(" -> ".join(f"TOOL_CALL:{name}" for name in "abcde"), 3)]


def test_repetitions_is_a_setting() -> None:
    """Some want to know earlier, some later."""
    assert _patterns("ababcdef", repetitions=2) == [("TOOL_CALL:a -> TOOL_CALL:b", 2)]
    assert _patterns("abababcd", repetitions=4) == []


def test_signatures_are_model_tool_or_type() -> None:
    """The pattern is read by people, so it names what they know."""
    run = Recorder()
    for number in range(3):
        run.model(f"thought {number}", model="gpt-4")
        run.tool("search", {"q": number}, f"result {number}")
        run.add("STATE_UPDATE", "memory", {"state": {"n": number}, "diff": None})

    (finding,) = judge(run.events)

    assert finding.pattern == "LLM_CALL:gpt-4 -> TOOL_CALL:search -> STATE_UPDATE"
    assert finding.evidence_event_ids == [event["event_id"] for event in run.events]
    assert finding.window_size == 9


@pytest.mark.parametrize("event_type", ["RUN_START", "RUN_END", "ERROR", "LOOP_WARNING", "CALL_START", "MY_OWN_TYPE"])
def test_other_events_neither_count_nor_break_a_block(event_type: str) -> None:
    """A CALL_START before every call must not hide the loop, nor be one."""
    run = Recorder()
    for _ in range(4):
        run.add(event_type, "x", {})
        run.tool("search", {"q": 1}, "the same result every time")

    (finding,) = judge(run.events)

    assert (finding.kind, finding.pattern) == ("cycle", "TOOL_CALL:search")


def test_spans_do_not_count() -> None:
    """A nested trace is written as a STATE_UPDATE and is not something the agent did."""
    run = Recorder()
    for _ in range(6):
        run.add("STATE_UPDATE", "helper", {"state": None, "diff": None, "error": None}, {"span": "helper"})

    assert judge(run.events) == []


def test_the_payload_has_every_field_of_the_format() -> None:
    """The viewer and other readers rely on these names."""
    run = Recorder()
    for _ in range(3):
        run.model("let me look", cost_usd=0.25)
        run.tool("search", {"q": 1}, "the same result every time")

    (finding,) = judge(run.events)
    payload = finding.payload()

    assert list(payload) == [
        "pattern",
        "repetitions",
        "window_size",
        "evidence_event_ids",
        "severity",
        "kind",
        "explanation",
        "evidence",
        "first_event_id",
        "spent",
    ]
    assert payload["first_event_id"] == run.events[0]["event_id"]
    assert payload["spent"] == {"events": 6, "llm_calls": 3, "tokens": 360, "seconds": 5.0, "cost_usd": 0.75}
    assert len(payload["evidence"]) == 3
    assert payload["evidence"][-1] == {
        "event_id": run.events[-1]["event_id"],
        "event_type": "TOOL_CALL",
        "name": "search",
        "input": '{"q":1}',
        "outcome": "the same result every time",
    }
