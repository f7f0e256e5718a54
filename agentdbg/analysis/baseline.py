"""
A baseline: what good runs of an agent have in common, small enough to be read in a review.

It holds how the runs ended, which tools they called how often, what they changed outside (tool and arguments, in
normal form), what they called without anybody knowing whether it changes something, which loops they had, and what
they spent, one number for each run: several runs give a baseline its own noise. `combine` adds baselines up, so one run
or twenty are made the same way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks.run_facts import TOTALS
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentdbg.analysis.checks.run_facts import RunFacts
    from agentdbg.analysis.effects import SideEffect

__all__ = ["FORMAT", "Baseline", "BaselineRun", "Variant", "baseline_of", "combine", "loop_key"]

FORMAT = 1


@dataclass(frozen=True)
class BaselineRun:
    """Which run the baseline was made from."""

    run_id: str
    run_name: str
    started_at: str


@dataclass(frozen=True)
class Variant:
    """One set of side effects that good runs had, and how many runs had it."""

    runs: int
    calls: tuple[SideEffect, ...]


@dataclass(frozen=True)
class Baseline:
    """What is expected. Lists of numbers have one for each run, in the order of `runs`."""

    runs: tuple[BaselineRun, ...]
    statuses: tuple[str, ...]
    tools: Mapping[str, Sequence[int]]
    effects: tuple[Variant, ...]
    loops: tuple[tuple[str, str], ...] = ()
    """The kind and the pattern of each loop of warning or worse."""
    totals: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    unknown_calls: tuple[SideEffect, ...] = ()
    """Calls of tools of which nobody knows whether they change anything, each as often as any one run made it."""
    answers: tuple[str, ...] = ()
    """What the runs answered, each answer once."""

    def known_totals(self, name: str) -> list[float]:
        """The values of one total, of the runs that know it."""
        return [value for value in self.totals.get(name, ()) if value is not None]

    def as_json(self) -> dict[str, Any]:
        """The baseline as it is stored."""
        return {
            "agentdbg_baseline": FORMAT,
            "runs": [vars(run) for run in self.runs],
            "statuses": list(self.statuses),
            "tools": {name: list(counts) for name, counts in sorted(self.tools.items())},
            "effects": [
                {"runs": variant.runs, "calls": [_stored_call(call) for call in variant.calls]}
                for variant in self.effects
            ],
            **({"unknown_calls": [_stored_call(call) for call in self.unknown_calls]} if self.unknown_calls else {}),
            **({"answers": list(self.answers)} if self.answers else {}),
            "loops": [{"kind": kind, "pattern": pattern} for kind, pattern in self.loops],
            "totals": {name: list(self.totals[name]) for name in TOTALS if name in self.totals},
        }


def baseline_of(facts: RunFacts) -> Baseline:
    """The baseline that one run makes."""
    return Baseline(
        runs=(BaselineRun(facts.run_id, facts.run_name, facts.started_at),),
        statuses=(facts.status,),
        tools={name: [count] for name, count in facts.call_counts().items()},
        effects=(Variant(1, facts.effects),),
        loops=tuple(sorted({loop_key(finding.figures) for finding in facts.loops})),
        totals={name: [facts.spent(name)] for name in TOTALS},
        unknown_calls=facts.unknown_calls,
        answers=(facts.answer,) if facts.answer else (),
    )


def loop_key(figures: Mapping[str, Any]) -> tuple[str, str]:
    """What makes two loops the same: their kind and what repeats."""
    return str(figures.get("kind") or "loop"), str(figures.get("pattern") or "")


def combine(baselines: Iterable[Baseline]) -> Baseline:
    """One baseline of several, at least one; a baseline whose runs are all known already adds nothing."""
    result: Baseline | None = None
    for baseline in baselines:
        result = baseline if result is None else _added(result, baseline)
    if result is None:
        raise UsageError("a baseline needs at least one run")
    return result


def _added(first: Baseline, second: Baseline) -> Baseline:
    known = {run.run_id for run in first.runs}
    if all(run.run_id in known for run in second.runs):
        return first
    before, after = len(first.runs), len(second.runs)
    tools = dict.fromkeys([*first.tools, *second.tools])
    totals = dict.fromkeys([*first.totals, *second.totals])
    return Baseline(
        runs=(*first.runs, *second.runs),
        statuses=tuple(dict.fromkeys([*first.statuses, *second.statuses])),
        tools={name: [*first.tools.get(name, [0] * before), *second.tools.get(name, [0] * after)] for name in tools},
        effects=_joined_variants(*first.effects, *second.effects),
        loops=tuple(sorted({*first.loops, *second.loops})),
        totals={
            name: [*first.totals.get(name, [None] * before), *second.totals.get(name, [None] * after)]
            for name in totals
        },
        unknown_calls=_made_by_either(first.unknown_calls, second.unknown_calls),
        answers=tuple(dict.fromkeys([*first.answers, *second.answers])),
    )


def _made_by_either(first: Sequence[SideEffect], second: Sequence[SideEffect]) -> tuple[SideEffect, ...]:
    """The calls of both, one that both made as often as the one that made it more often."""
    left = Counter(call.signature for call in first)
    left.subtract(call.signature for call in second)
    more = []
    for call in reversed(second):
        if left[call.signature] < 0:
            left[call.signature] += 1
            more.append(call)
    return (*first, *reversed(more))


def _joined_variants(*variants: Variant) -> tuple[Variant, ...]:
    """The variants, those with the same effects as one; the most frequent first."""
    counts: Counter[tuple[str, ...]] = Counter()
    calls: dict[tuple[str, ...], tuple[SideEffect, ...]] = {}
    for variant in variants:
        key = tuple(sorted(call.signature for call in variant.calls))
        counts[key] += variant.runs
        calls.setdefault(key, variant.calls)
    return tuple(Variant(count, calls[key]) for key, count in counts.most_common())


def _stored_call(call: SideEffect) -> dict[str, Any]:
    stored = {"name": call.name, "args": call.args, **({"source": call.source} if call.is_known else {})}
    if not call.returned:
        return {**stored, "returned": False}
    return {**stored, "outcome": "unknown"} if call.state == "unknown" else stored
