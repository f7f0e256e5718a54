"""
What loops have cost a run, in dollars.

A loop is told once, early; what it costs goes on for as long as the run stays in it. So a finding's own sum is where
this begins, and each event that still belongs to the loop adds what was spent since the one before it. Loops that only
may be one (severity info) cost nothing: the work there goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentdbg.loops import LoopFinding
    from agentdbg.recorder.counters import Counters

__all__ = ["LoopSpending"]


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
        spent = finding.cost.get("cost_usd")
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
