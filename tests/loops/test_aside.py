"""Calls of new names are put aside unread, and nobody can tell."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.loops import LoopDetector, LoopFinding
from benchmarks.loop_traces import Recorder

if TYPE_CHECKING:
    from agentdbg.events import Event


class _Careful(LoopDetector):
    """Looks into every event."""

    def _put_aside(self, *_: Any) -> bool:
        return False


def _said(detector: LoopDetector, events: list[Event]) -> list[Any]:
    found = [(finding and finding.payload(), detector.is_looping()) for finding in map(detector.observe, events)]
    last = detector.finish()
    return [*found, last and last.payload()]


def _findings(run: Recorder) -> list[LoopFinding]:
    detector = LoopDetector()
    return [finding for event in run.events if (finding := detector.observe(event)) is not None]


def _random_run(seed: int) -> list[Event]:
    """New names in a row, some of which come back near or far, between calls that repeat."""
    chance = random.Random(seed)
    run = Recorder()
    results = ["No results were found here.", "Error: it failed", {"error": "no"}, {"rows": 3}, None, "x" * 9_000]
    answers = ["yes", "I cannot find what you are looking for here", {"content": "Let me look at it again now"}]
    names = [f"name_{number}" for number in range(chance.choice([6, 40, 400]))]
    for _ in range(25):
        stretch = chance.choice([1, 1, 3, 8, 30, 70])
        new = chance.sample(names, min(stretch, len(names)))
        if chance.random() < 0.4:
            new = new[:1] * stretch
        asked = chance.choice([{"q": 1}, {"q": "red bicycle of the mayor"}, "text", 7, None])
        result = chance.choice(results)
        for name in new:
            kind = chance.random()
            if kind < 0.7:
                run.tool(name, asked, result, meta={"polling": True} if chance.random() < 0.05 else None)
            elif kind < 0.9:
                said = chance.choice([None, "a prompt", [{"role": "user", "content": f"do {chance.randrange(3)}"}]])
                run.model(chance.choice(answers), said, name, cost_usd=0.5)
            elif kind < 0.95:
                run.fail(name, asked)
            else:
                run.add("STATE_UPDATE", "memory", {"state": 1})
    return run.events


@pytest.mark.parametrize("window", [4, 12, 300])
@pytest.mark.parametrize("seed", range(6))
def test_findings_are_those_of_a_detector_that_puts_nothing_aside(seed: int, window: int) -> None:
    """What is not looked into at once must count as if it had been, as soon as something repeats."""
    events = _random_run(seed)

    assert _said(LoopDetector(window), events) == _said(_Careful(window), events)


def test_a_first_call_counts_however_much_came_between() -> None:
    """The first of three equal calls is evidence like the others, although it was read long after it came."""
    run = Recorder()
    for number in range(3):
        run.tool("book", {"seat": 5}, "Error: the seat is taken")
        run.tool(f"look_{number}", {"n": number}, "ok")
    found = _findings(run)

    assert [(finding.kind, finding.repetitions) for finding in found] == [("error_retry", 3)]
    assert found[0].first_event_id == run.events[0]["event_id"]


@pytest.mark.parametrize("number", [1, 2.5, True, None, "1"])
def test_a_bare_value_asked_again_is_the_same_question(number: Any) -> None:
    """Not every tool is called with named arguments, and the first call counts like the later ones."""
    run = Recorder()
    for _ in range(3):
        run.tool("double", number, "Twice that is more than there is.")

    assert [finding.kind for finding in _findings(run)] == ["cycle"]
