"""
Parents to a tree: the order in which it is drawn, how deep each event stands, and what happened inside a span.

Any parent is accepted: none, one that is not there, the event itself, a circle. Every event comes out exactly once. A
span is written when it ends, after everything inside it, so looking backwards from it finds its events without reading
the run.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import islice
from operator import le
from typing import TYPE_CHECKING

from agentdbg.analysis.run_columns import ERROR, LLM, NO_VALUE, START, TOOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.analysis.run_columns import RunColumns

__all__ = ["SpanTotals", "Spans", "ancestors", "depth_of", "tree_order"]

_DEEPEST = 1_000


def tree_order(parent_n: Sequence[int], start_ms: Sequence[int], kind: Sequence[int]) -> Iterator[tuple[int, int]]:
    """
    Every event as `(number, depth)`, parents before children, siblings by when they began.

    What hangs directly under RUN_START has depth 0, like RUN_START itself: the run is the whole page, not a level.
    """
    total = len(parent_n)
    numbers: Sequence[int] = range(1, total + 1)
    if not all(map(le, start_ms, islice(start_ms, 1, None))):
        numbers = array("I", sorted(numbers, key=lambda number: start_ms[number - 1]))
    # The first child of each event, and the next child of its parent; 0 for none, and roots are children of 0.
    first, following = array("I", bytes(4 * total + 4)), array("I", bytes(4 * total + 4))
    for number in reversed(numbers):
        parent = _parent(parent_n, number)
        following[number], first[parent] = first[parent], number
    seen = bytearray(total + 1)

    def walk(number: int, depth: int) -> Iterator[tuple[int, int]]:
        """What begins with an event: the events below it, then those beside it."""
        stack = [(number, depth)]
        while stack:
            number, depth = stack.pop()
            if number:
                stack.append((following[number], depth))
            if number and not seen[number]:
                seen[number] = 1
                yield number, depth
                stack.append((first[number], depth if kind[number - 1] == START else depth + 1))

    yield from walk(first[0], 0)
    # What is left hangs in a circle: its first event is as good a root as any.
    for number in range(1, total + 1):
        if not seen[number]:
            seen[number] = 1
            yield number, 0
            yield from walk(first[number], 0 if kind[number - 1] == START else 1)


def depth_of(columns: RunColumns, number: int) -> int:
    """How many events other than RUN_START this one hangs under."""
    return sum(columns.kind[ancestor - 1] != START for ancestor in ancestors(columns, number))


def ancestors(columns: RunColumns, number: int) -> Iterator[int]:
    """The parent, its parent, and so on; a circle ends where it would begin again."""
    parent_n = columns.parent_n
    seen = {number}
    while len(seen) < _DEEPEST:
        number = _parent(parent_n, number)
        if number == 0 or number in seen:
            return
        seen.add(number)
        yield number


def _parent(parent_n: Sequence[int], number: int) -> int:
    parent = parent_n[number - 1]
    return parent if 0 < parent <= len(parent_n) and parent != number else 0


_LATE_BY_MS = 2_000
"""Parallel work is written in the order it ends, so an event can stand a little before its neighbours in time."""


@dataclass
class SpanTotals:
    """Sums over everything inside a span."""

    llm_calls: int = 0
    tool_calls: int = 0
    tool_calls_failed: int = 0
    failed: int = 0
    tokens: int | None = None
    first_llm: int | None = None
    last_llm: int | None = None

    def count(self, columns: RunColumns, number: int) -> None:
        kind, failed = columns.kind[number - 1], columns.status[number - 1] == ERROR
        if kind == LLM:
            self.llm_calls += 1
            self.first_llm = number if self.first_llm is None else min(self.first_llm, number)
            self.last_llm = number if self.last_llm is None else max(self.last_llm, number)
            tokens = columns.tokens[number - 1]
            if tokens != NO_VALUE:
                self.tokens = (self.tokens or 0) + tokens
        elif kind == TOOL:
            self.tool_calls += 1
            self.tool_calls_failed += failed
        else:
            return
        self.failed += failed


class Spans:
    """Answers for the spans of one run, and remembers what it was asked."""

    def __init__(self, columns: RunColumns) -> None:
        self._columns = columns
        self._known: dict[int, SpanTotals] = {}

    def totals(self, number: int) -> SpanTotals:
        """The sums over a span, from its end back to where it began."""
        if number not in self._known:
            self._known[number] = self._count(number)
        return self._known[number]

    def _count(self, number: int) -> SpanTotals:
        columns = self._columns
        began = columns.start_ms[number - 1] - _LATE_BY_MS
        totals = SpanTotals()
        for other in range(number - 1, 0, -1):
            length = columns.duration_ms[other - 1]
            if columns.start_ms[other - 1] + (0 if length == NO_VALUE else length) < began:
                break
            if columns.kind[other - 1] in (LLM, TOOL) and number in ancestors(columns, other):
                totals.count(columns, other)
        return totals
