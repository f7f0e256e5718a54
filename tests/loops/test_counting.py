"""While a told block goes round its events are only counted, and nobody can tell."""

from __future__ import annotations

import gc
import random
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.loops import LoopDetector
from agentdbg.loops.rounds import Round
from benchmarks.loop_traces import Recorder

if TYPE_CHECKING:
    from agentdbg.events import Event

LONG = "the answer is long enough to tell somebody something"


class _Careful(LoopDetector):
    """Looks into every event."""

    def _is_steady(self) -> bool:
        return False


def _said(detector: LoopDetector, events: list[Event]) -> list[Any]:
    """Everything that can be seen of a detector: each finding, and how often the active loop went round."""
    seen: list[Any] = []
    for event in events:
        finding = detector.observe(event)
        active = detector.active
        seen.append((finding and finding.payload(), active and (active.repetitions, active.finding.payload())))
    last = detector.finish()
    return [*seen, last and last.payload()]


def _random_run(seed: int) -> list[Event]:
    """Blocks that go round for a while, a few odd events, and other blocks of the same calls."""
    chance = random.Random(seed)
    run = Recorder()
    replies = ["yes", LONG, f"{LONG} again", "I cannot find what you are looking for here"]
    results = [None, "ok", LONG, "Error: it failed", "No results were found here.", {"rows": 3}]
    inputs = [{"q": "red bicycle of the mayor"}, {"q": "red bicycle of the mayor please"}, {"n": 1}, None]

    def add(kind: str, name: str, reply: Any, asked: Any, got: Any) -> None:
        if kind == "model":
            run.model(reply, cost_usd=0.5)
        elif kind == "tool":
            run.tool(name, asked, got)
        elif kind == "fail":
            run.fail(name, asked)
        else:
            run.add("STATE_UPDATE", "memory", {"state": 1})

    def one() -> tuple[Any, ...]:
        kind = chance.choice(["model", "tool", "tool", "tool", "fail", "state"])
        return kind, chance.choice("abc"), chance.choice(replies), chance.choice(inputs), chance.choice(results)

    for _ in range(chance.randint(1, 5)):
        block = [one() for _ in range(chance.randint(1, 4))]
        for _ in range(chance.choice([2, 6, 20, 60])):
            for event in block:
                add(*event)
        for _ in range(chance.randint(0, 3)):
            add(*one())
    return run.events


@pytest.mark.parametrize("seed", range(60))
def test_counting_gives_what_looking_into_every_event_gives(seed: int) -> None:
    """Counting is a saving, not a rule of its own: findings, figures and active loops must be the same."""
    events = _random_run(seed)
    window, repetitions = random.Random(seed).choice([(4, 2), (12, 3), (12, 2), (30, 3), (150, 3)])

    assert _said(LoopDetector(window, repetitions), events) == _said(_Careful(window, repetitions), events)


@pytest.mark.parametrize("kind", ["tool", "model", "state", "model and tool"])
def test_a_block_that_goes_round_is_only_counted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop that burns the most events must cost the least for each."""
    counted = []
    count = Round.count

    def watched(self: Round, event: tuple[str, str, Any]) -> None:
        counted.append(event[0])
        count(self, event)

    monkeypatch.setattr(Round, "count", watched)
    run, detector = Recorder(), LoopDetector()
    for _ in range(100):
        if "model" in kind:
            detector.observe(run.model(LONG))
        if "tool" in kind:
            detector.observe(run.tool("search", {"q": 1}, LONG))
        if kind == "state":
            detector.observe(run.add("STATE_UPDATE", "memory", {"state": 1}))

    assert len(counted) > len(run.events) * 0.85


def test_the_events_of_a_loop_are_evidence_although_they_were_only_counted() -> None:
    """A finding that follows the loop has to point at the right events."""
    run = Recorder()
    for _ in range(50):
        run.tool("search", {"q": 1}, LONG)
    for number in range(3):
        run.tool("search", {"q": 1}, LONG)
        run.tool("other", {"n": number}, f"{LONG} {number}")
    careful = _said(_Careful(), run.events)

    assert _said(LoopDetector(), run.events) == careful


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
