"""Which events belong to a told loop: stretches of event numbers, each with how severely they were told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step

__all__ = ["Spans"]

_MOST = 256


class Spans:
    """Stretches of numbers; a loop that goes on makes its last stretch longer, so there are few."""

    __slots__ = ("_spans",)

    def __init__(self) -> None:
        self._spans: list[list[int]] = []

    def add(self, first: int, last: int, rank: int) -> None:
        """Note that the events from `first` to `last` were told with `rank`."""
        spans = self._spans
        if spans:
            newest = spans[-1]
            if newest[2] == rank and newest[0] <= first <= newest[1] + 1:
                newest[1] = max(newest[1], last)
                return
            if len(spans) >= _MOST:
                del spans[: _MOST // 2]
        spans.append([first, last, rank])

    def touch(self, steps: list[Step], rank: int) -> bool:
        """Whether any of these steps was told with `rank` or worse."""
        oldest = min(step.number for step in steps)
        near = [span for span in self._spans if span[2] >= rank and span[1] >= oldest]
        return any(first <= step.number <= last for first, last, _ in near for step in steps)
