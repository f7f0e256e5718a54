"""What is seen at once to repeat nothing is what a slow look finds to repeat nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from agentdbg.loops.similar import Vocabulary
from benchmarks.loop_quality import judge
from benchmarks.loop_traces import WORDS, Recorder

if TYPE_CHECKING:
    from agentdbg.events import Event

_RESULTS = [
    "No results were found.",
    "saved",
    {"rows": [], "note": "nothing matched"},
    "A page about rivers and what is in them.",
]


def _dense_run(chance: random.Random) -> list[Event]:
    """A run of few words, in which much is nearly the same and much is not."""
    run = Recorder()
    words, results = chance.sample(WORDS[:12], chance.randint(5, 12)), chance.sample(_RESULTS, chance.randint(1, 3))
    length, acts = chance.randint(4, 14), chance.choice([0.0, 0.2, 0.8])

    def some() -> str:
        return " ".join(chance.choices(words, k=length)) + chance.choice(["", "", f" {chance.randrange(4)}"])

    for _ in range(40):
        if chance.random() < 1 - acts:
            run.model(some(), chance.choice([None, "What next?"]))
        if chance.random() < acts:
            result = chance.choice(results) if chance.random() < 0.8 else some()
            run.tool(chance.choice("aab"), {"q": some(), "page": chance.randrange(2)}, result)
    return run.events


@pytest.mark.parametrize("seed", range(60))
def test_a_quick_look_overlooks_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly every call is let go after a look at its words; not one finding may be lost by that."""
    chance = random.Random(seed)
    events, repetitions = _dense_run(chance), chance.choice([2, 3, 3])
    quick = [finding.payload() for finding in judge(events, 12, repetitions)]

    is_far = Vocabulary.is_far

    def is_never_far(self: Vocabulary, words: frozenset[bytes]) -> bool:
        is_far(self, words)
        return False

    monkeypatch.setattr(Vocabulary, "is_far", is_never_far)
    monkeypatch.setattr("agentdbg.loops.calls._asks_otherwise", lambda *_: False)

    assert quick == [finding.payload() for finding in judge(events, 12, repetitions)]


def test_dense_runs_have_findings_of_nearly_equal_calls_and_answers() -> None:
    """Else the comparison above would compare nothing."""
    kinds = [finding.kind for seed in range(60) for finding in judge(_dense_run(random.Random(seed)))]

    assert kinds.count("stall") > 10
    assert kinds.count("echo") > 5
