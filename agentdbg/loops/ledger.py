"""
Say each loop once.

The ledger remembers which patterns were told and how severely, which events belong to a told loop, and what a loop has
cost. It turns a candidate into a finding, or keeps quiet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.loops.blocks import smallest_rotation
from agentdbg.loops.explain import examples, explain, seconds_between
from agentdbg.loops.findings import ActiveLoop, Kind, LoopFinding, Severity, severity_rank
from agentdbg.loops.signatures import NOTHING_SPENT, Spent

if TYPE_CHECKING:
    from agentdbg.loops.signatures import Step

__all__ = ["Candidate", "Ledger"]

_MAX_EVIDENCE = 1_000
_MAX_REMEMBERED = 4_096
_SEVERITY: dict[str, Severity] = {
    "repetition": "info",
    "cycle": "critical",
    "error_retry": "critical",
    "stall": "warning",
    "echo": "warning",
}


@dataclass
class Candidate:
    """A loop, before it is known whether it was told already."""

    kind: Kind
    block: list[Step]
    steps: list[Step]
    repetitions: int
    polling: bool = False
    new_work: bool = False

    @property
    def pattern(self) -> tuple[str, ...]:
        """The names that repeat."""
        return tuple(step.signature for step in self.block)

    @property
    def rank(self) -> int:
        """How severe it is, as a number."""
        return severity_rank(_SEVERITY[self.kind])

    @property
    def last_round(self) -> tuple[int, int]:
        """The numbers of the events from the last repetition but one to the newest."""
        return self.steps[-min(len(self.block) + 1, len(self.steps))].number, self.steps[-1].number


class Ledger:
    """What was told of one run, and what the run has spent."""

    __slots__ = ("_covered", "_findings", "_latest", "_ranks", "_window", "active", "spent")

    def __init__(self, window: int) -> None:
        self._window = window
        self._ranks: dict[tuple[str, ...], int] = {}
        self._findings: dict[tuple[str, ...], LoopFinding] = {}
        self._covered: dict[int, int] = {}
        self._latest: LoopFinding | None = None
        self.active: ActiveLoop | None = None
        self.spent = NOTHING_SPENT

    def spend(self, payload: dict[str, Any]) -> None:
        """Add up what a model call cost."""
        llm_calls, tokens, cost_usd = self.spent
        usage = payload.get("usage")
        if isinstance(usage, dict):
            tokens += _tokens_of(usage)
        cost = payload.get("cost_usd")
        if isinstance(cost, (int, float)) and not isinstance(cost, bool):
            cost_usd = (cost_usd or 0.0) + cost
        self.spent = Spent(llm_calls + 1, tokens, cost_usd)

    def knows(self, candidate: Candidate) -> bool:
        """Whether this pattern was told as severely before."""
        return self._ranks.get(smallest_rotation(candidate.pattern), 0) >= candidate.rank

    def is_told(self, candidate: Candidate) -> bool:
        """Whether this pattern, or any of these events, was told as severely before; a severe loop is then active."""
        rank, key = candidate.rank, smallest_rotation(candidate.pattern)
        covered = self._covered
        if self._ranks.get(key, 0) < rank and all(covered.get(step.number, 0) < rank for step in candidate.steps):
            return False
        if rank > 1:
            # What lies between two rounds of a loop belongs to it, else every step of a long block would stall too.
            self._cover(*candidate.last_round, rank)
            self._activate(self._findings.get(key, self._latest), candidate.repetitions)
        return True

    def go_on(self, number: int, repetitions: int) -> None:
        """Note that the active block went on by one event."""
        if self._latest is not None:
            self._cover(number, number, severity_rank(self._latest.severity))
            self._activate(self._latest, repetitions)

    def tell(self, candidate: Candidate, finding: LoopFinding) -> LoopFinding:
        """Note that the finding goes out."""
        rank, key = candidate.rank, smallest_rotation(candidate.pattern)
        _remember(self._ranks, key, rank)
        self._cover(candidate.steps[0].number, candidate.steps[-1].number, rank)
        if rank > 1:
            _remember(self._findings, key, finding)
            self._activate(finding, candidate.repetitions)
        return finding

    def finding(self, candidate: Candidate, newest: Step) -> LoopFinding:
        """The candidate in words and figures, as of the newest step."""
        steps = candidate.steps[-_MAX_EVIDENCE:]
        first = steps[0]
        now, then = self.spent, first.spent
        spent: dict[str, Any] = {
            "events": newest.number - first.number + 1,
            "llm_calls": now.llm_calls - then.llm_calls,
            "tokens": now.tokens - then.tokens,
            "seconds": seconds_between(first.ts, newest.ts),
        }
        if now.cost_usd is not None:
            spent["cost_usd"] = round(now.cost_usd - (then.cost_usd or 0.0), 6)
        kind, block, repetitions = candidate.kind, candidate.block, candidate.repetitions
        return LoopFinding(
            pattern=" -> ".join(candidate.pattern),
            repetitions=repetitions,
            window_size=min(newest.number, self._window),
            evidence_event_ids=[step.event_id for step in steps],
            severity=_SEVERITY[kind],
            kind=kind,
            explanation=explain(kind, block, repetitions, polling=candidate.polling, new_work=candidate.new_work),
            evidence=examples(steps),
            first_event_id=first.event_id,
            cost=spent,
        )

    def _activate(self, finding: LoopFinding | None, repetitions: int) -> None:
        if finding is not None:
            self._latest = finding
            self.active = ActiveLoop(finding, repetitions)

    def _cover(self, first: int, last: int, rank: int) -> None:
        covered = self._covered
        for number in range(max(first, last - _MAX_REMEMBERED + 1), last + 1):
            _remember(covered, number, max(rank, covered.get(number, 0)))


def _tokens_of(usage: dict[str, Any]) -> int:
    total = usage.get("total_tokens")
    if isinstance(total, int):
        return total
    parts = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    return sum(part for part in parts if isinstance(part, int))


def _remember(memory: dict[Any, Any], key: Any, value: Any) -> None:
    memory[key] = value
    if len(memory) > _MAX_REMEMBERED:
        del memory[next(iter(memory))]
