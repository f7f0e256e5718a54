"""One loop is told once, and stop_on_loop can go by it."""

from __future__ import annotations

import random
import string

import pytest

from agentdbg.loops import LoopDetector
from benchmarks.loop_quality import judge
from benchmarks.loop_traces import Recorder

LONG = "the answer is long enough to tell somebody something"


@pytest.mark.parametrize("period", range(1, 11))
@pytest.mark.parametrize("shape", ["tools", "one tool", "model first", "tool first"])
@pytest.mark.parametrize("rounds", [3, 4, 9])
def test_a_block_repeated_identically_is_told_once(period: int, shape: str, rounds: int) -> None:
    """Two warnings for one loop are one too many, whichever event the loop begins with."""
    run = Recorder()
    chance = random.Random(period)
    for _ in range(rounds):
        for position in range(period):
            if shape == "model first":
                run.model(f"thought {chance.random()}")
            name = "search" if shape == "one tool" else f"tool_{position}"
            run.tool(name, {"position": position}, f"result of position {position} as always")
            if shape == "tool first":
                run.model(f"thought {chance.random()}")

    findings = judge(run.events, window=60)

    assert [(finding.kind, finding.severity, finding.repetitions) for finding in findings] == [("cycle", "critical", 3)]


def test_a_call_that_occurs_often_within_a_block_does_not_stall_before_the_block_is_complete() -> None:
    """`a b a c` repeated is one loop, although `a` was there three times before it closed."""
    run = Recorder()
    for name in "abac" * 3:
        run.tool(name, {}, f"{LONG} from {name}")

    assert [finding.kind for finding in judge(run.events)] == ["cycle"]


def test_a_finding_held_back_comes_out_when_the_block_breaks() -> None:
    """Waiting must not mean losing."""
    run = Recorder()
    for number in range(3):
        run.tool("search", {"q": 1}, LONG)
        run.tool(f"other_{number % 2}", {}, f"{LONG} {number % 2}")
    run.tool("something_else", {}, LONG)

    findings = judge(run.events)

    assert [(finding.kind, finding.pattern) for finding in findings] == [("stall", "TOOL_CALL:search")]
    assert findings[0].evidence_event_ids == [run.events[index]["event_id"] for index in (0, 2, 4)]


def test_a_finding_held_back_comes_out_when_the_run_ends() -> None:
    """A run that is stopped in the middle of a round was stuck all the same."""
    run = Recorder()
    detector = LoopDetector()
    for number in range(3):
        run.tool("search", {"q": 1}, LONG)
        run.model(f"thought {number}")
    found = [detector.observe(event) for event in run.events[:-1]]
    last = detector.finish()

    assert found == [None] * 5
    assert last is not None
    assert last.kind == "stall"
    assert detector.finish() is None


def test_a_worse_finding_may_follow() -> None:
    """First the agent works, then it is stuck: both are true, and the second matters."""
    run = Recorder()
    for number in range(9):
        run.tool("search", {"q": min(number, 4)}, f"result {min(number, 4)} of the search")

    assert [finding.severity for finding in judge(run.events)] == ["info", "critical"]


def test_the_steps_of_a_loop_too_long_for_the_window_give_one_warning() -> None:
    """Eight stalls would be eight names for one loop."""
    run = Recorder()
    for _ in range(4):
        for position in range(6):
            run.tool(f"tool_{position}", {}, f"{LONG} from {position}")

    assert [finding.kind for finding in judge(run.events)] == ["stall"]


def test_a_second_loop_of_its_own_is_told_too() -> None:
    """Being told of one loop must not hide the next."""
    run = Recorder()
    for name in "aaaabcdefgeeee":
        run.tool(name, {}, f"{LONG} from {name}")

    assert [finding.pattern for finding in judge(run.events)] == ["TOOL_CALL:a", "TOOL_CALL:e"]


@pytest.mark.parametrize("shape", ["cycle", "error_retry", "stall", "echo"])
def test_active_counts_real_repetitions_beyond_the_window(shape: str) -> None:
    """`stop_on_loop_min_repetitions=20` has to stop at twenty, also with a window of twelve."""
    run = Recorder()
    detector = LoopDetector()
    chance = random.Random(1)
    counted = []
    for number in range(25):
        if shape == "cycle":
            event = run.tool("search", {"q": 1}, LONG)
        elif shape == "error_retry":
            event = run.fail("search", {"q": 1})
        elif shape == "stall":
            query = f"the red bicycle of the mayor of {chance.choice(string.ascii_lowercase)}ville"
            event = run.tool("search", {"q": query}, "No results were found for that.")
        else:
            event = run.model(f"I am sorry, I cannot find the file you mean, attempt {number} of many")
        detector.observe(event)
        counted.append(detector.active.repetitions if detector.active else 0)

    assert counted[:2] == [0, 0]
    assert counted[-1] == 25
    assert counted[-20:] == list(range(6, 26))


def test_no_loop_is_active_once_the_agent_gets_out() -> None:
    """A run must not be stopped for a loop it has left."""
    run = Recorder()
    detector = LoopDetector()
    for _ in range(4):
        detector.observe(run.tool("search", {"q": 1}, LONG))
    was_active = detector.active
    detector.observe(run.tool("answer", {}, LONG))

    assert was_active is not None
    assert was_active.repetitions == 4
    assert was_active.finding.kind == "cycle"
    assert detector.active is None


def test_info_is_never_active() -> None:
    """stop_on_loop must not stop a healthy think/act run."""
    run = Recorder()
    detector = LoopDetector()
    active = []
    for number in range(20):
        detector.observe(run.model(f"thought {number}"))
        active.append(detector.active)
        detector.observe(run.tool("search", {"q": number}, f"result {number}"))
        active.append(detector.active)

    assert active == [None] * 40
