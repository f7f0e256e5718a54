"""
Say each loop once.

The ledger remembers which patterns were told and how severely, which events belong to a told loop, and what a loop has
cost. It turns a candidate into a finding, or keeps quiet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.events.facts import cost_of, tokens_of
from agentdbg.loops.blocks import smallest_rotation
from agentdbg.loops.explain import examples, explain, seconds_between
from agentdbg.loops.findings import ActiveLoop, Kind, LoopFinding, Severity, severity_rank
from agentdbg.loops.spans import Spans
from agentdbg.loops.steps import NOTHING_SPENT

if TYPE_CHECKING:
    from agentdbg.loops.steps import Spent, Step

__all__ = ["Candidate", "Held", "Ledger", "price_of"]

_MAX_EVIDENCE = 1_000
_MAX_REMEMBERED = 4_096
_SEVERITY: dict[str, Severity] = {
    "repetition": "info",
    "cycle": "critical",
    "error_retry": "critical",
    "stall": "warning",
    "echo": "warning",
}
_RANK = {kind: severity_rank(severity) for kind, severity in _SEVERITY.items()}


class Candidate:
    """A loop, before it is known whether it was told already."""

    __slots__ = ("block", "kind", "new_work", "period", "polling", "rank", "repetitions", "spoken", "steps")

    def __init__(
        self,
        kind: Kind,
        block: list[Step],
        steps: list[Step],
        repetitions: int,
        *,
        period: int = 1,
        polling: bool = False,
        new_work: bool = False,
        spoken: bool = False,
    ) -> None:
        self.kind = kind
        self.rank = _RANK[kind]
        self.block = block
        """The steps that the pattern names."""
        self.steps = steps
        """The steps that it rests on, in rounds of `period` steps."""
        self.period = period
        self.repetitions = repetitions
        """How often it has gone round by now, also before what can still be looked at."""
        self.polling = polling
        self.new_work = new_work
        self.spoken = spoken
        """Whether a person spoke meanwhile."""

    @property
    def pattern(self) -> tuple[str, ...]:
        """The names that repeat."""
        return tuple([step.signature for step in self.block])

    @property
    def rounds(self) -> int:
        """How many repetitions it rests on."""
        return len(self.steps) // self.period

    @property
    def last_round(self) -> tuple[int, int]:
        """The numbers of the events from the last repetition but one to the newest."""
        return self.steps[-min(len(self.block) + 1, len(self.steps))].number, self.steps[-1].number


class Held(NamedTuple):
    """A finding that waits, and the block length with which its events could still become an exact repetition."""

    candidate: Candidate
    finding: LoopFinding
    period: int


class Ledger:
    """What was told of one run, and what the run has spent."""

    __slots__ = ("_covered", "_findings", "_latest", "_ranks", "_repetitions", "_window", "current", "spent")

    def __init__(self, window: int) -> None:
        self._window = window
        self._ranks: dict[tuple[str, ...], int] = {}
        self._findings: dict[tuple[str, ...], LoopFinding] = {}
        self._covered = Spans()
        self._latest: LoopFinding | None = None
        self.current: LoopFinding | None = None
        """What the newest event belongs to; the detector takes it away when another event comes."""
        self._repetitions = 0
        self.spent = NOTHING_SPENT

    @property
    def active(self) -> ActiveLoop | None:
        """The severe loop that the newest event belongs to."""
        return None if self.current is None else ActiveLoop(self.current, self._repetitions)

    def spend(self, payload: dict[str, Any]) -> None:
        """Add up what a model call cost."""
        llm_calls, tokens, cost_usd, priced = self.spent
        tokens += tokens_of(payload).total or 0
        cost = cost_of(payload)
        if cost is not None:
            cost_usd += cost
            priced += 1
        self.spent = (llm_calls + 1, tokens, cost_usd, priced)

    def spend_again(self, price: Spent) -> None:
        """Add up what a model call cost whose price is known."""
        llm_calls, tokens, cost_usd, priced = self.spent
        new_calls, new_tokens, new_cost_usd, new_priced = price
        self.spent = (llm_calls + new_calls, tokens + new_tokens, cost_usd + new_cost_usd, priced + new_priced)

    def knows(self, candidate: Candidate) -> bool:
        """Whether this pattern was told as severely before."""
        return self._ranks.get(smallest_rotation(candidate.pattern), 0) >= candidate.rank

    def is_told(self, candidate: Candidate) -> bool:
        """Whether this pattern, or any of these events, was told as severely before; a severe loop is then active."""
        rank, key = candidate.rank, smallest_rotation(candidate.pattern)
        if self._ranks.get(key, 0) < rank and not self._covered.touch(candidate.steps, rank):
            return False
        if rank > 1:
            # What lies between two rounds of a loop belongs to it, else every step of a long block would stall too.
            self._covered.add(*candidate.last_round, rank)
            self._activate(self._findings.get(key, self._latest), candidate.repetitions)
        return True

    def go_on(self, first: int, last: int, repetitions: int) -> None:
        """Note that the active block went on with the events from `first` to `last`."""
        latest = self._latest
        if latest is not None:
            self._covered.add(first, last, _RANK[latest.kind])
            self.current = latest
            self._repetitions = repetitions

    def tell(self, candidate: Candidate, finding: LoopFinding) -> LoopFinding:
        """Note that the finding goes out."""
        rank, key = candidate.rank, smallest_rotation(candidate.pattern)
        _remember(self._ranks, key, rank)
        self._covered.add(candidate.steps[0].number, candidate.steps[-1].number, rank)
        if rank > 1:
            _remember(self._findings, key, finding)
            self._activate(finding, candidate.repetitions)
        return finding

    def finding(self, candidate: Candidate, newest: Step) -> LoopFinding:
        """The candidate in words and figures, as of the newest step."""
        steps = candidate.steps[-_MAX_EVIDENCE:]
        first = steps[0]
        kind = candidate.kind
        return LoopFinding(
            pattern=" -> ".join(candidate.pattern),
            repetitions=candidate.rounds,
            window_size=max(min(newest.number, self._window), newest.number - candidate.steps[0].number + 1),
            evidence_event_ids=[step.event_id for step in steps],
            severity=_SEVERITY[kind],
            kind=kind,
            explanation=explain(candidate),
            evidence=examples(steps),
            first_event_id=first.event_id,
            cost=self._spent_between(first, newest),
        )

    def _spent_between(self, first: Step, newest: Step) -> dict[str, Any]:
        llm_calls, tokens, cost_usd, priced = (now - then for now, then in zip(self.spent, first.spent, strict=True))
        spent: dict[str, Any] = {
            "events": newest.number - first.number + 1,
            "llm_calls": llm_calls,
            "tokens": tokens,
            "seconds": seconds_between(first.ts, newest.ts),
        }
        if priced:  # an unknown price is not a price of nothing
            spent["cost_usd"] = round(cost_usd, 6)
        return spent

    def _activate(self, finding: LoopFinding | None, repetitions: int) -> None:
        if finding is not None:
            self._latest = self.current = finding
            self._repetitions = repetitions


def price_of(payload: dict[str, Any]) -> Spent:
    """What one model call cost."""
    ledger = Ledger(0)
    ledger.spend(payload)
    return ledger.spent


def _remember(memory: dict[Any, Any], key: Any, value: Any) -> None:
    memory[key] = value
    if len(memory) > _MAX_REMEMBERED:
        del memory[next(iter(memory))]
