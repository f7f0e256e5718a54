"""While a told block goes round its events are only counted, and nobody can tell."""

from __future__ import annotations

import gc
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.loops import LoopDetector
from benchmarks.loop_traces import Recorder

if TYPE_CHECKING:
    from agentdbg.events import Event
    from agentdbg.loops import LoopFinding
    from agentdbg.loops.steps import Step

LONG = "the answer is long enough to tell somebody something"


class _Careful(LoopDetector):
    """Looks into every event."""

    def _is_steady(self) -> bool:
        return False


def _said(detector: LoopDetector, events: list[Event], *, written: bool = False) -> list[Any]:
    """Everything that can be seen of a detector: each finding, and how often the active loop went round."""
    seen: list[Any] = []
    for event in events:
        finding = _written(detector, event) if written else detector.observe(event)
        active = detector.active
        seen.append((finding and finding.payload(), active and (active.repetitions, active.finding.payload())))
    last = detector.finish()
    return [*seen, last and last.payload()]


def _written(detector: LoopDetector, event: Event) -> LoopFinding | None:
    """Take an event as the recorder does, which knows how it will be written."""
    payload = event["payload"]
    return detector.take(
        event["event_type"],
        event["event_id"],
        event["ts"],
        event["name"],
        payload,
        event["meta"],
        json.dumps(payload).encode(),
    )


def _random_run(seed: int) -> list[Event]:
    """Blocks that go round for a while, a few odd events, and other blocks of the same calls."""
    chance = random.Random(seed)
    run = Recorder()
    replies = ["yes", LONG, f"{LONG} again", "I cannot find what you are looking for here"]
    results = [None, "ok", LONG, "Error: it failed", "No results were found here.", {"rows": 3}]
    inputs = [{"q": "red bicycle of the mayor"}, {"q": "red bicycle of the mayor please"}, {"n": 1}, None]
    questions = ["What comes next?", "Sum up this text about rivers", "Translate that letter into French"]
    message = {"role": "user", "content": questions[0]}
    kinds_of_prompts: list[list[Any]] = [[None], questions[:1], questions, [[message]]]
    prompts = chance.choice(kinds_of_prompts)

    def add(kind: str, name: str, reply: Any, asked: Any, got: Any) -> None:
        if kind == "model":
            run.model(reply, chance.choice(prompts), cost_usd=chance.choice([0.5, 0.5, 0.5, None]))
        elif kind == "tool":
            run.tool(name, asked, got, meta={"polling": True} if chance.random() < 0.02 else None)
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

    careful = _said(_Careful(window, repetitions), events)

    assert _said(LoopDetector(window, repetitions), events) == careful
    assert _said(LoopDetector(window, repetitions), events, written=True) == careful


def test_the_result_of_each_tool_call_in_the_prompt_is_no_person_speaking() -> None:
    """What is new in a prompt that is one text may be the tool's result, in the tenth round as in the first."""
    run, detector = Recorder(), LoopDetector()
    looping = []
    for second in range(9):
        result = f"{LONG}, as of 10:30:0{second}"
        detector.observe(run.tool("search", {"q": 1}, result))
        detector.observe(run.model(LONG, f"Now write about {result}"))
        looping.append(detector.is_looping())

    assert looping[2:] == [True] * 7


def test_one_call_marked_as_polling_hides_a_cycle_only_while_it_is_part_of_it() -> None:
    """A mark on one of a hundred calls says little of the others."""
    run = Recorder()
    for number in range(40):
        run.tool("search", {"q": 1}, LONG, meta={"polling": True} if number == 2 else None)
        run.tool("read", {"q": 1}, LONG)

    assert _said(LoopDetector(), run.events) == _said(_Careful(), run.events)


def test_what_is_written_the_same_is_counted_without_a_look_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorder has the bytes at hand; the loop that never ends costs least with them."""
    run, detector = Recorder(), LoopDetector()
    for _ in range(10):
        _written(detector, run.model(LONG, "What comes next?"))
        _written(detector, run.tool("search", {"q": 1}, LONG))
    monkeypatch.setattr("agentdbg.loops.rounds.fingerprint", lambda *_: pytest.fail("looked at"))
    for _ in range(10):
        _written(detector, run.model(LONG, "What comes next?"))
        _written(detector, run.tool("search", {"q": 1}, LONG))

    assert detector.active is not None
    assert detector.active.repetitions == 20


@pytest.mark.parametrize("kind", ["tool", "model", "state", "model and tool"])
def test_a_block_that_goes_round_is_only_counted(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop that burns the most events must cost the least for each."""
    looked_into: list[Step] = []

    def watch(name: str) -> None:
        look_into = getattr(LoopDetector, name)

        def watched(self: LoopDetector, step: Step, *rest: Any) -> Any:
            looked_into.append(step)
            return look_into(self, step, *rest)

        monkeypatch.setattr(LoopDetector, name, watched)

    watch("_look_into_call")
    watch("_look_into_answer")
    run, detector = Recorder(), LoopDetector()
    for _ in range(100):
        if "model" in kind:
            detector.observe(run.model(LONG))
        if "tool" in kind:
            detector.observe(run.tool("search", {"q": 1}, LONG))
        if kind == "state":
            detector.observe(run.add("STATE_UPDATE", "memory", {"state": 1}))

    assert 0 < len(looked_into) < len(run.events) * 0.15


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
