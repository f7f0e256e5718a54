"""
What a run has done so far, exact across threads, shared with forked children.

Until the process forks the numbers are plain attributes. Then they move to shared memory, one slot per process: each
process writes its own slot and reads the sum, so nobody waits for anybody, and a limit can be overrun by at most one
per process. The caller holds the run's lock.
"""

from __future__ import annotations

import mmap
import operator
import os
from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import COST_DIGITS, TOTAL_FIELDS, RunTotals

if TYPE_CHECKING:
    from agentdbg.loops import LoopFinding

__all__ = ["FIELDS", "Counters", "LoopSpending", "values_of"]

_BESIDE_TOTALS = (
    "limited_events",
    "loop_cost_usd",
    "loop_cost_known",
    "reserved_llm",
    "reserved_tool",
    "served_llm",
    "served_tool",
    "stops",
    "dropped",
)
FIELDS = (*TOTAL_FIELDS, *_BESIDE_TOTALS)
values_of = operator.attrgetter(*FIELDS)
_SLOTS = 256
# Slot 0 holds what belongs to no process: whether the run has ended.
_ENDED = 0


class Counters(RunTotals):
    """The run's totals and what limits need; `total` adds up what all processes of the run have counted."""

    __slots__ = ("_calls_before", "other_types", "_shared", "_slot", "is_shared", *_BESIDE_TOTALS)

    limited_events: float
    loop_cost_usd: float
    loop_cost_known: float
    reserved_llm: float
    reserved_tool: float
    served_llm: float
    served_tool: float
    stops: float
    dropped: float

    def __init__(self) -> None:
        super().__init__()
        for name in _BESIDE_TOTALS:
            setattr(self, name, 0)
        self.other_types: dict[str, int] = {}
        """How many events there were that are no calls, by type."""
        self._calls_before: tuple[float, float] = (0, 0)
        """The calls that others had counted when this process began to count."""
        self._shared: memoryview[float] | None = None
        self.is_shared = False
        """Whether other processes count too."""
        self._slot = 1

    def total(self, name: str) -> float:
        """One number over all processes of the run."""
        own: float = getattr(self, name)
        if self._shared is None:
            return own
        return own + self._of_others(name)

    def whole(self, name: str) -> int:
        """`total`, for what is counted in whole numbers."""
        return int(self.total(name))

    def spent(self) -> dict[str, float | None]:
        """What the model calls used and cost, and what loops cost; None where nobody said."""
        cost, loop_cost = round(self.total("cost_usd"), COST_DIGITS), round(self.total("loop_cost_usd"), COST_DIGITS)
        return {
            "total_tokens": self.whole("total_tokens") if self.total("tokens_told") else None,
            "cost_usd": cost if self.total("costs_told") else None,
            "loop_cost_usd": loop_cost if self.total("loop_cost_known") else None,
        }

    def count_type(self, event_type: str) -> None:
        """Count an event that is no call; calls are counted as such, and once is enough for what comes so often."""
        self.other_types[event_type] = self.other_types.get(event_type, 0) + 1

    def by_type(self) -> dict[str, int]:
        """How many events of each type this process has recorded."""
        calls = zip(("LLM_CALL", "TOOL_CALL"), (self.llm_calls, self.tool_calls), self._calls_before, strict=True)
        return self.other_types | {kind: int(now - before) for kind, now, before in calls if now > before}

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Count as if nothing had been counted since."""
        values, self.other_types = snapshot[0], snapshot[1].copy()
        for name, value in zip(FIELDS, values, strict=True):
            setattr(self, name, value)

    def publish(self) -> None:
        """Let the other processes see this one's numbers; called after each change once they are shared."""
        if self._shared is not None:
            base = self._slot * len(FIELDS)
            for offset, name in enumerate(FIELDS):
                self._shared[base + offset] = getattr(self, name)

    def share(self) -> None:
        """Move to shared memory; called just before the process forks."""
        if self._shared is None:
            size = (_SLOTS + 1) * len(FIELDS) * 8
            self._shared = memoryview(mmap.mmap(-1, size)).cast("d")
            self.is_shared = True
        self.publish()

    def continue_in_child(self) -> None:
        """Go on in a slot of its own; called in the forked child."""
        if self._shared is None:
            return
        self._slot = _slot_of_this_process()
        base = self._slot * len(FIELDS)
        for offset, name in enumerate(FIELDS):
            # A child that has ended may have left its numbers here; they stay part of the sum.
            setattr(self, name, self._shared[base + offset])
        self.other_types = {}
        self._calls_before = (self.llm_calls, self.tool_calls)

    def count_end(self) -> None:
        """Count RUN_END, of which there is one, and tell the other processes that the run is over."""
        self.other_types["RUN_END"] = 1
        if self._shared is not None:
            self._shared[_ENDED] = 1

    def ended_elsewhere(self) -> bool:
        """Whether the process that owns the run has ended it."""
        return self._shared is not None and self._shared[_ENDED] != 0

    def _of_others(self, name: str) -> float:
        assert self._shared is not None
        offset = FIELDS.index(name)
        width = len(FIELDS)
        column = self._shared[width + offset : (_SLOTS + 1) * width : width]
        return sum(column) - self._shared[self._slot * width + offset]


def _slot_of_this_process() -> int:
    # Children forked one after the other have different pids, so their slots differ without any lock. Two that do meet
    # (pids 254 apart, alive together) share a slot, and count as one.
    return 2 + os.getpid() % (_SLOTS - 2)


class LoopSpending:
    """Adds up `counters.loop_cost_usd`; no dollar is counted twice where two findings overlap."""

    __slots__ = ("_at_event", "_counters", "_has_tool", "_reach", "_until")

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._until = 0.0
        self._at_event = 0.0
        self._reach = 0
        self._has_tool = False

    def begin(self, finding: LoopFinding) -> None:
        """Count what a loop has cost by the time it is told."""
        if finding.severity == "info":
            return
        self._reach = finding.window_size
        self._has_tool = "TOOL_CALL:" in finding.pattern
        counters = self._counters
        spent = finding.spent.get("cost_usd")
        if spent is not None:  # an unknown price is not a price of nothing
            counters.loop_cost_known = 1
            counters.loop_cost_usd += counters.cost_usd - max(counters.cost_usd - spent, self._until)
        self._note_place()

    def follow(self, event_type: str) -> None:
        """Take in one more event of a loop, counted by now."""
        # Where tools repeat they alone decide: an answer in other words may already be the way out.
        if self._has_tool and event_type != "TOOL_CALL":
            return
        # Between two rounds there may be other calls, which belong to the loop. A run that comes back to it after long
        # other work has spent that time well.
        counters = self._counters
        if counters.limited_events - self._at_event <= self._reach and counters.cost_usd > self._until:
            counters.loop_cost_known = 1
            counters.loop_cost_usd += counters.cost_usd - self._until
        self._note_place()

    def _note_place(self) -> None:
        self._until = self._counters.cost_usd
        self._at_event = self._counters.limited_events
