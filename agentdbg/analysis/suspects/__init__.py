"""
Which steps of a failed run to look at first, and why.

`rank` adds up the grounds against each decision and gives the few that weigh most, each with the sentence of its
heaviest ground and the events that show it. A run known to have done its task has no suspects; one known to have failed
always has three, if it has so many decisions; of all others only steps with a real ground are named.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.suspects.grounds import RULES, Ground
from agentdbg.analysis.suspects.run_story import RunStory
from agentdbg.analysis.wording import text_of

if TYPE_CHECKING:
    from agentdbg.analysis.wording import Line

__all__ = ["WEAK", "RunStory", "Suspect", "rank"]

WEAK = frozenset({"position", "changed_something"})
"""Kinds that say where to look in a run that failed, and nothing about one that may be good."""
_MOST = 3
_BESIDE = 0.25
"""What a further ground against the same step adds: two reasons are more than one, and less than twice as much."""


@dataclass(frozen=True)
class Suspect:
    """One step to look at. `numbers` are the events that show why, the step itself first."""

    rank: int
    kind: str
    line: Line
    numbers: tuple[int, ...]
    event_ids: tuple[str, ...]
    weight: float

    @property
    def number(self) -> int:
        return self.numbers[0]

    @property
    def sentence(self) -> str:
        return text_of(self.line)

    def as_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "kind": self.kind,
            "event": self.number,
            "event_id": self.event_ids[0],
            "sentence": self.sentence,
            "n": self.number,
            "parts": self.line["parts"],
            "evidence": [{"n": n, "event_id": one} for n, one in zip(self.numbers, self.event_ids, strict=True)],
        }


def rank(story: RunStory, *, has_failed: bool) -> list[Suspect]:
    """The steps to look at first; `has_failed` tells that there must be some."""
    against: dict[int, list[Ground]] = defaultdict(list)
    for rule in RULES:
        for ground in rule(story):
            if has_failed or ground.kind not in WEAK:
                against[ground.place].append(ground)
    weighed = sorted(
        ((_weight(grounds), -place, grounds) for place, grounds in against.items()),
        key=lambda item: item[:2],
        reverse=True,
    )
    return [_suspect(story, place, grounds, weight) for place, (weight, _, grounds) in enumerate(weighed[:_MOST], 1)]


def _weight(grounds: list[Ground]) -> float:
    by_kind: dict[str, float] = {}
    for ground in grounds:
        by_kind[ground.kind] = max(ground.weight, by_kind.get(ground.kind, 0.0))
    heaviest, *others = sorted(by_kind.values(), reverse=True)
    return heaviest + _BESIDE * sum(others)


def _suspect(story: RunStory, position: int, grounds: list[Ground], weight: float) -> Suspect:
    main = max(grounds, key=lambda ground: ground.weight)
    steps = {story.steps[place].number: story.steps[place].event_id for place in main.evidence}
    return Suspect(position, main.kind, main.line, tuple(steps), tuple(steps.values()), round(weight, 3))
