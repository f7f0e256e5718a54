"""
Lay the calls and spans of a run out in lanes, so that in each lane one lies wholly inside another or wholly beside it.

That is what viewers of thread timelines ask for, and it is not what a run is: calls run in parallel, and a tool hangs
under a model call that had ended before. What lies inside its nearest enclosing span stays in that span's lane; what
runs beside something else there moves to a free lane.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from agentdbg.analysis.run_columns import CALL_START, ENDED, LLM, NO_VALUE, SPAN, TOOL
from agentdbg.analysis.tree import ancestors

if TYPE_CHECKING:
    from agentdbg.analysis.run_columns import RunColumns

__all__ = ["Lanes"]

_OUT_BY_MS = 2
"""Ends are cut to milliseconds and lengths measured by another clock, so a child may stick out by this much."""
_NO_LANE = 0xFFFFFFFF


class Lanes:
    """The place of every event that takes time: `lane`, `start_ms` and `end_ms`, each at `number - 1`."""

    def __init__(self, columns: RunColumns) -> None:
        self._columns = columns
        total = columns.total
        self.lane = array("I", [_NO_LANE]) * total
        self.start_ms = array("Q", columns.start_ms)
        self.end_ms = array("Q", columns.start_ms)
        self.count = 1
        self.whole_ms = 0
        """How long the run is: until the last thing in it has ended."""
        self._measure()
        self._place()

    def is_slice(self, number: int) -> bool:
        """Whether the event takes time and has a place of its own."""
        return self.lane[number - 1] != _NO_LANE

    def lane_at(self, number: int) -> int:
        """The lane of an event, or of what it happened in."""
        for other in (number, *ancestors(self._columns, number)):
            if self.is_slice(other):
                return int(self.lane[other - 1])
        return 0

    def _measure(self) -> None:
        columns = self._columns
        for at in range(columns.total):
            if columns.kind[at] in (LLM, TOOL, SPAN) and columns.duration_ms[at] != NO_VALUE:
                self.end_ms[at] += columns.duration_ms[at]
            self.whole_ms = max(self.whole_ms, self.end_ms[at])
        for at in range(columns.total):
            if self._never_ended(at):
                self.end_ms[at] = self.whole_ms

    def _never_ended(self, at: int) -> bool:
        return self._columns.kind[at] == CALL_START and self._columns.status[at] != ENDED

    def _place(self) -> None:
        columns = self._columns
        taking_time = [
            at + 1
            for at in range(columns.total)
            if (columns.kind[at] in (LLM, TOOL, SPAN) and columns.duration_ms[at] != NO_VALUE) or self._never_ended(at)
        ]
        # What encloses comes before what it encloses; of two equal ones the span, which is written last.
        taking_time.sort(key=lambda number: (self.start_ms[number - 1], -self.end_ms[number - 1], -number))
        open_in: list[list[int]] = [[]]
        for number in taking_time:
            around = self._fit_into_surroundings(number)
            home = 0 if around == 0 else self.lane[around - 1]
            lane = self._free_lane(number, around, home, open_in)
            self.lane[number - 1] = lane
            open_in[lane].append(number)
        self.count = len(open_in)

    def _fit_into_surroundings(self, number: int) -> int:
        """The nearest ancestor that encloses the event, 0 for the run itself; what sticks out a little is drawn in."""
        at = number - 1
        for ancestor in ancestors(self._columns, number):
            if not self.is_slice(ancestor):
                continue
            start, end = self.start_ms[ancestor - 1], self.end_ms[ancestor - 1]
            if start <= self.start_ms[at] + _OUT_BY_MS and self.end_ms[at] <= end + _OUT_BY_MS:
                self.start_ms[at] = min(max(self.start_ms[at], start), end)
                self.end_ms[at] = max(min(self.end_ms[at], end), self.start_ms[at])
                return ancestor
        return 0

    def _free_lane(self, number: int, around: int, home: int, open_in: list[list[int]]) -> int:
        if self._follows(number, around, open_in[home]):
            return home
        start = self.start_ms[number - 1]
        for lane in range(1, len(open_in)):
            stack = open_in[lane]
            while stack and self.end_ms[stack[-1] - 1] <= start:
                stack.pop()
            if lane != home and not stack:
                return lane
        open_in.append([])
        return len(open_in) - 1

    def _follows(self, number: int, around: int, stack: list[int]) -> bool:
        """Whether all that came before it in its surroundings has ended; a little overlap is drawn apart."""
        at = number - 1
        inside = stack[stack.index(around) + 1 :] if around in stack else stack[:]
        latest = max((self.end_ms[other - 1] for other in inside), default=0)
        if latest > self.start_ms[at] + _OUT_BY_MS or (around and around not in stack):
            return False
        del stack[len(stack) - len(inside) :]
        self.start_ms[at] = max(self.start_ms[at], latest)
        self.end_ms[at] = max(self.end_ms[at], self.start_ms[at])
        return True
