"""Every word and figure of a finding is true of the stored events, whatever the run."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.loops import LoopDetector
from benchmarks.loop_traces import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.events import Event
    from agentdbg.loops import LoopFinding

_COUNTED = {"LLM_CALL", "TOOL_CALL", "STATE_UPDATE"}
_ID_OR_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|call_[0-9a-f]{12,}")
LONG = "the answer is long enough to tell somebody something"


INPUTS: list[Any] = [
    *({"q": "red bicycle of the mayor"}, {"q": "red bicycle of the mayor please"}, {"n": 1}, None),
    *({"": 1}, {"": {}}, {"": ""}, {"n": 1, "tool_call_id": "{id}"}, {"timestamp": 1}, {"timestamp": 2}),
    *({"rows": [0] * 250}, {"rows": [0] * 249 + [1]}),
]
RESULTS: list[Any] = [
    *(None, "ok", LONG, "Error: it failed", "No results were found here.", {"rows": 3}),
    *(f"{LONG} at {{time}}", {"request_id": "{id}", "rows": [LONG]}, [0] * 250, [0] * 249 + [1]),
]
REPLIES: list[Any] = [
    *("yes", "", LONG, f"{LONG} again", "I cannot find what you are looking for, attempt {id}"),
    *({"content": "", "tool_calls": [{"function": {"name": "a", "arguments": str(n)}}]} for n in range(2)),
]


class _RandomRun:
    """Blocks that go round, are broken and come back, with all that may differ between two rounds."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._run = Recorder()
        self._history: list[dict[str, Any]] = [{"role": "user", "content": "where is my order"}]
        self._inputs = {name: self._chance.sample(INPUTS, 2) for name in "abc"}

    def events(self) -> list[Event]:
        chance = self._chance
        for _ in range(chance.randint(1, 4)):
            block = [self._step() for _ in range(chance.randint(1, 4))]
            for _ in range(chance.choice([2, 4, 7])):
                for step in block:
                    self._add(*step)
                if chance.random() < 0.2:
                    self._add(*self._step())
        return self._run.events

    def _step(self) -> tuple[Any, ...]:
        chance = self._chance
        kind = chance.choice(["model", "tool", "tool", "tool", "fail", "state"])
        name = chance.choice("abc")
        prompt = chance.choice(["none", "one", "item", "history"])
        return kind, name, chance.choice(self._inputs[name]), chance.choice(RESULTS), chance.choice(REPLIES), prompt

    def _add(self, kind: str, name: str, asked: Any, got: Any, reply: Any, prompt: str) -> None:
        chance, run = self._chance, self._run
        if kind == "model":
            answer = self._filled(reply)
            run.model(answer, self._prompt(prompt))
            self._history.append({"role": "assistant", "content": answer})
            if chance.random() < 0.1:
                self._history.append({"role": "user", "content": f"what about number {chance.randrange(4)}?"})
        elif kind == "state":
            run.add("STATE_UPDATE", "memory", {"state": chance.randrange(2), "diff": None})
        elif kind == "fail":
            run.fail(name, self._filled(asked), chance.choice(["timed out", "timed out", "refused"]))
        else:
            meta = {"polling": True} if chance.random() < 0.02 else None
            run.tool(name, self._filled(asked), self._filled(got), meta=meta)

    def _filled(self, value: Any) -> Any:
        chance = self._chance
        text = json.dumps(value).replace("{id}", f"call_{chance.getrandbits(64):016x}")
        return json.loads(text.replace("{time}", f"2025-03-01T10:{chance.randrange(60):02}:{chance.randrange(60):02}Z"))

    def _prompt(self, kind: str) -> Any:
        item = f"Is invoice {self._chance.randrange(3)} paid?"
        return {"none": None, "one": "What comes next?", "item": item, "history": list(self._history)}[kind]


def _random_run(seed: int) -> list[Event]:
    return _RandomRun(seed).events()


def _told(events: list[Event], window: int, repetitions: int) -> list[tuple[LoopFinding, int]]:
    """The findings, each with how many counted events there were when it was told."""
    detector = LoopDetector(window, repetitions)
    counted, found = 0, []
    for event in events:
        counted += event["event_type"] in _COUNTED
        if (finding := detector.observe(event)) is not None:
            found.append((finding, counted))
    last = detector.finish()
    return found if last is None else [*found, (last, counted)]


def _signature(event: Event) -> str:
    return event["event_type"] if event["event_type"] == "STATE_UPDATE" else f"{event['event_type']}:{event['name']}"


def _check_figures(finding: LoopFinding, counted: int, events: list[Event], window: int) -> list[list[Event]]:
    """Check the figures; the evidence in rounds."""
    places = {event["event_id"]: place for place, event in enumerate(events)}
    at = [places[event_id] for event_id in finding.evidence_event_ids]
    evidence = [events[place] for place in at]
    pattern = finding.pattern.split(" -> ")

    assert at == sorted(set(at))
    assert finding.first_event_id == finding.evidence_event_ids[0]
    assert finding.repetitions * len(pattern) <= len(evidence) <= finding.window_size <= max(counted, window)
    assert at[-1] - at[0] + 1 <= finding.window_size
    assert len(evidence) % finding.repetitions == 0

    period = len(evidence) // finding.repetitions
    rounds = [evidence[start : start + period] for start in range(0, len(evidence), period)]
    names = [[_signature(event) for event in one] for one in rounds]
    turned = [pattern[start:] + pattern[:start] for start in range(len(pattern))]
    assert all(one in [names * (period // len(pattern)) for names in turned] for one in names)
    if finding.kind in ("cycle", "repetition"):
        assert at[-1] - at[0] + 1 == len(at)
    return rounds


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _bare(value: Any) -> str:
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key != "tool_call_id"}
    return _ID_OR_TIME.sub("", _plain(value))


def _check_sentence(finding: LoopFinding, rounds: list[list[Event]]) -> None:
    said = finding.explanation
    assert f"{len(rounds)} times" in said
    places = [[event["payload"] for event in same] for same in zip(*rounds, strict=True)]
    types = [event["event_type"] for event in rounds[0]]
    tools = [payloads for payloads, kind in zip(places, types, strict=True) if kind == "TOOL_CALL"]
    models = [payloads for payloads, kind in zip(places, types, strict=True) if kind == "LLM_CALL"]

    _check_what_is_equal(said, tools, models)
    _check_what_differs(said, tools, models)
    if "failed the same way" in said:
        assert all(payload["error"] or "rror" in _plain(payload["result"]) for same in places for payload in same)
        assert _are_one("error", places)
    if "Only the state" in said:
        assert set(types) == {"STATE_UPDATE"}


def _check_what_is_equal(said: str, tools: list[list[Any]], models: list[list[Any]]) -> None:
    if "the same input" in said and "nearly the same input" not in said:
        assert _are_one("args", tools, _bare if "inputs but for ids" in said else _plain)
    if "the same results" in said:
        assert _are_one("result", tools, _bare if "results but for ids" in said else _plain)
    if "with the same answer" in said:
        assert _are_one("response", models, _bare)
        assert not tools
    if "nothing new was said" in said:
        assert _are_one("prompt", models, lambda prompt: _plain(_asked(prompt)))
    if "returned nothing new" in said:
        assert _are_one("result", tools, _bare)


def _check_what_differs(said: str, tools: list[list[Any]], models: list[list[Any]]) -> None:
    if "with different inputs" in said:
        assert not _are_one("args", tools)
    if re.search(r"different (inputs and )?results", said):
        assert not _are_one("result", tools) or not _are_one("error", tools)
    if "different answers" in said:
        assert not _are_one("response", models) or not _are_one("error", models)
    if "different prompts" in said:
        assert not _are_one("prompt", models)


def _are_one(field: str, places: list[list[Any]], read: Callable[[Any], str] = _plain) -> bool:
    """Whether a field is the same in every round, at each place of the round."""
    return all(len({read(payload.get(field)) for payload in payloads}) == 1 for payloads in places)


def _asked(prompt: Any) -> Any:
    """What the model did not say itself."""
    if not isinstance(prompt, list):
        return prompt
    return sorted({message["content"] for message in prompt if message["role"] == "user"})


@pytest.mark.parametrize(("window", "repetitions"), [(12, 3), (4, 2), (4, 5), (12, 2), (30, 3), (150, 4), (400, 2)])
def test_what_a_finding_says_is_true_of_the_events(window: int, repetitions: int) -> None:
    """Somebody decides by this sentence whether to stop a run that costs money."""
    for seed in range(40):
        events = _random_run(seed)
        for finding, counted in _told(events, window, repetitions):
            _check_sentence(finding, _check_figures(finding, counted, events, window))


@pytest.mark.slow
def test_what_a_finding_says_is_true_of_thousands_of_runs() -> None:
    """The same, for the cases that come once in a hundred runs."""
    for seed in range(40, 1_500):
        events = _random_run(seed)
        window, repetitions = random.Random(seed).choice([(12, 3), (4, 2), (4, 5), (12, 2), (30, 3), (150, 4)])
        for finding, counted in _told(events, window, repetitions):
            _check_sentence(finding, _check_figures(finding, counted, events, window))


def test_the_runs_above_have_findings_of_every_kind() -> None:
    """Else nothing would be checked."""
    kinds = {finding.kind for seed in range(40) for finding, _ in _told(_random_run(seed), 12, 3)}

    assert kinds == {"cycle", "error_retry", "stall", "echo", "repetition"}


@pytest.mark.parametrize("kind", ["cycle", "error_retry", "stall", "echo"])
def test_there_are_never_more_repetitions_than_events_looked_at(kind: str) -> None:
    """ "5 repetitions in a window of 4" is nonsense to whoever reads it."""
    run = Recorder()
    for number in range(20):
        if kind == "echo":
            run.model(f"I am sorry, I cannot find the file you mean, attempt {number} of many")
        elif kind == "error_retry":
            run.model(f"thought {number}")
            run.fail("fetch", {"url": "x"})
        else:
            run.tool("search", {"q": "the red bicycle of the mayor" + " of it" * (kind == "stall")}, LONG)
            run.model(f"thought {number}")

    for window in (4, 5, 12, 30):
        for repetitions in (2, 3, 5, 8):
            findings = [finding for finding, _ in _told(run.events, window, repetitions)]

            assert findings
            assert all(finding.repetitions <= finding.window_size for finding in findings)
