"""
Which steps of a failed run to look at first, and why.

`rank` weighs each decision by its place in the run and the grounds against it, and gives the few that weigh most, each
with the sentence of its heaviest ground and the events that show it. A run known to have done its task has no suspects;
one known to have failed always has three, if it has so many decisions; of all others only steps with a real ground are
named.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.suspects import against_results, figures_said, grounds
from agentdbg.analysis.suspects.origins import provenance
from agentdbg.analysis.suspects.parts_played import priors
from agentdbg.analysis.suspects.run_story import UNNAMED, RunStory
from agentdbg.analysis.wording import text_of

if TYPE_CHECKING:
    from agentdbg.analysis.suspects.grounds import Ground
    from agentdbg.analysis.wording import Line, VerdictPart

__all__ = ["RATES", "WEAK", "RunStory", "Suspect", "provenance", "rank", "with_first"]

RATES = {
    "asked_for_failure": (98, 399),
    "asked_for_nothing": (28, 106),
    "assumed": (15, 84),
    "claimed_alone": (2, 21),
    "id_from_nowhere": (23, 23),
    "position": (5, 157),
    "said_first": (20, 75),
    "typed_data": (36, 131),
}
"""Of so many suspects of a kind how many were the cause, in labelled runs, as `make bench-blame` counts them."""

WEAK = frozenset({"position", "changed_something", "declared_done"})
"""Kinds that say where to look in a run that failed, and nothing about one that may be good."""
_IN_WORDS = frozenset(
    {"claims_after_nothing", "claims_undone", "contradicts_result", "figure_from_nowhere", "wrong_sum"}
)
_MOST = 3
_BESIDE = 0.25
"""What a further ground against the same step adds: two reasons are more than one, and less than twice as much."""

_ANYWHERE = 0.25
"""What a ground weighs wherever its step stands, so that a late failure comes before an early step with no mark."""


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
    def hit_rate(self) -> float | None:
        """How often a suspect of its kind is the cause, where enough labelled runs have one."""
        right, named = RATES.get(self.kind, (0, 0))
        return round(right / named, 2) if named else None

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
            "hit_rate": self.hit_rate,
            "n": self.number,
            "parts": self.line["parts"],
            "evidence": [{"n": n, "event_id": one} for n, one in zip(self.numbers, self.event_ids, strict=True)],
        }


def with_first(suspects: list[Suspect], number: int | None) -> list[Suspect]:
    """The suspects, the one that an event shows first: what a run that passed did otherwise says most."""
    ordered = sorted(suspects, key=lambda suspect: number not in suspect.numbers)
    return [replace(suspect, rank=place) for place, suspect in enumerate(ordered, 1)]


def rank(story: RunStory, *, has_failed: bool) -> list[Suspect]:
    """The steps to look at first; `has_failed` tells that there must be some."""
    against: dict[int, list[Ground]] = defaultdict(list)
    for rule in (*grounds.RULES, *against_results.RULES, *figures_said.RULES):
        for ground in rule(story):
            against[ground.place].append(ground)
    by_part, by_turn = priors(story.steps, begins_with_task=story.begins_with_task)
    weighed = sorted(
        (
            (_weight((by_turn if _speaks(held) else by_part).get(place, 0.0), held), -place, held)
            for place, held in against.items()
            if has_failed or any(ground.kind not in WEAK for ground in held)
        ),
        key=lambda item: item[:2],
        reverse=True,
    )
    return [_suspect(story, place, held, weight) for place, (weight, _, held) in enumerate(weighed[:_MOST], 1)]


def _speaks(held: list[Ground]) -> bool:
    """Whether the words of a step are what is wrong, so that it does not matter that it did nothing else."""
    return any(ground.kind in _IN_WORDS for ground in held)


def _weight(before: float, held: list[Ground]) -> float:
    """What the place of a step says, raised by what the log shows against it."""
    by_kind: dict[str, float] = {}
    for ground in held:
        by_kind[ground.kind] = max(ground.weight, by_kind.get(ground.kind, 0.0))
    changed = by_kind.pop("changed_something", 0.0)
    heaviest, *others = sorted(by_kind.values(), reverse=True)
    shown = heaviest + _BESIDE * sum(others)
    return before * (1 + shown) + _ANYWHERE * shown + changed


def _suspect(story: RunStory, position: int, held: list[Ground], weight: float) -> Suspect:
    main = max(held, key=lambda ground: ground.weight)
    steps = {story.steps[place].number: story.steps[place].event_id for place in main.evidence}
    return Suspect(position, main.kind, _begun(main.line), tuple(steps), tuple(steps.values()), round(weight, 3))


def _begun(said: Line) -> Line:
    """A sentence that speaks of a model without a name is in our own words, and begins like any other."""
    plain: list[VerdictPart] = [{"text": UNNAMED, "style": "plain"}]
    first, *rest = [one for part in said["parts"] for one in (plain if part["text"] == UNNAMED else [part])]
    if first["text"] == UNNAMED:
        first = {"text": UNNAMED.capitalize(), "style": "plain"}
    return {**said, "parts": [first, *rest]}
