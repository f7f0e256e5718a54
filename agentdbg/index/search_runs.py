"""
Find text in a run's events, whatever its case, in what was recorded and not in the names of fields.

The file is searched as it lies there, a block at a time; an event is opened only where the bytes alone cannot tell
whether the text stands in a recorded value.

Find text in the events of many runs.

A run's file is first looked through as bytes; only where the text stands in it is the run indexed and the events found.
"""

from __future__ import annotations

import json
import os
import re
import time
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.run_columns import ENDED
from agentdbg.index.events import EventIndex
from agentdbg.storage.dialects import is_supported_version
from agentdbg.storage.lines import open_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agentdbg.analysis.rows import Row
    from agentdbg.events import Event, RunMeta

__all__ = ["Matcher", "RunWithText", "RunsWithText", "search_events"]

_BLOCK = 1 << 20
# From inside a string to its end; a colon after it says that the string was a field's name.
_REST_OF_KEY = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"\s*:', re.DOTALL)
_STRUCTURE = frozenset("{}[],:")


def search_events(index: EventIndex, query: str, limit: int = 10_000) -> Iterator[list[int]]:
    """
    The numbers of events that hold `query`, ascending, as one list per block that was searched.

    Only what is indexed is searched. A list may be empty: the caller can stop or answer somebody else in between.
    """
    matcher = Matcher(query)
    number, found = 1, 0
    while query and number <= index.total and found < limit:
        start = index.offset[number - 1]
        last = max(number, bisect_right(index.offset, start + _BLOCK, number - 1, index.total))
        end = index.offset[last - 1] + index.length[last - 1]
        numbers = list(matcher.numbers(index, index.read(start, end - start), number, last))[: limit - found]
        found += len(numbers)
        yield numbers
        number = last + 1


class Matcher:
    """One query, made ready for text and for the bytes of a file."""

    def __init__(self, query: str) -> None:
        self.query = query.lower()
        # As JSON stores it: a quote or a newline in the query is an escape in the file.
        self._needle = json.dumps(query, ensure_ascii=False)[1:-1].encode(errors="replace").lower()
        self._is_ascii = query.isascii()
        self._may_hit_structure = any(sign in _STRUCTURE for sign in query)

    @property
    def longest(self) -> int:
        """How many bytes of a file the text may take."""
        return len(self._needle)

    def may_match(self, block: bytes) -> bool:
        """Whether some event in these bytes of a file could match; letters beyond ASCII may be stored as escapes."""
        return not self._is_ascii or self._needle in block.lower()

    def numbers(self, index: EventIndex, block: bytes, first: int, last: int) -> Iterator[int]:
        """Which of the events `first` to `last`, whose lines `block` holds, match."""
        if not self._is_ascii:
            yield from self._numbers_by_text(index, block, first, last)
            return
        start, needle = index.offset[first - 1], self._needle
        block = block.lower()
        position = block.find(needle)
        while position >= 0:
            number = bisect_right(index.offset, start + position, first - 1, last)
            end = index.offset[number - 1] + index.length[number - 1] - start
            if position >= end:  # in a damaged line that lies between two events
                end = position + 1
            elif self._is_in_value(index, block, number, position, end):
                yield number
            position = block.find(needle, end)

    def matches(self, event: Event) -> bool:
        """Whether some recorded value of the event holds the text."""
        return any(self.query in text.lower() for text in _texts(event))

    def _is_in_value(self, index: EventIndex, block: bytes, number: int, position: int, end: int) -> bool:
        """Whether the text, first found at `position`, stands in a value of this event and not only in names."""
        if self._may_hit_structure:
            return self.matches(index.event(number))
        while position >= 0:
            if _REST_OF_KEY.match(block, position + len(self._needle), end) is None:
                return True
            position = block.find(self._needle, position + 1, end)
        return False

    def _numbers_by_text(self, index: EventIndex, block: bytes, first: int, last: int) -> Iterator[int]:
        """Letters beyond ASCII have a case and may be stored as escapes, so lines that could match are read."""
        if self.query not in block.decode(errors="replace").lower() and b"\\u" not in block:
            return
        start = index.offset[first - 1]
        for number in range(first, last + 1):
            begin = index.offset[number - 1] - start
            line = block[begin : begin + index.length[number - 1]]
            is_possible = b"\\u" in line or self.query in line.decode(errors="replace").lower()
            if is_possible and self.matches(index.event(number)):
                yield number


def _texts(value: Any) -> Iterator[str]:
    """Every value in some JSON, as text."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        else:
            yield item if isinstance(item, str) else json.dumps(item)


_READ_AT_ONCE = 1 << 20
_MOST_COUNTED = 10_000
_ROWS_SHOWN = 3


@dataclass(frozen=True)
class RunWithText:
    """A run that holds the text: its place among the runs looked through, how many events do, rows of the first."""

    position: int
    meta: RunMeta
    count: int
    rows: list[Row]


class RunsWithText:
    """
    The runs that hold `text`, in the order given. Iterating ends early when the time is up, after one run at least.

    `looked_at` is how many runs have been looked through.
    """

    def __init__(self, text: str, runs: Sequence[RunMeta], data_dir: Path, *, within_s: float | None = None) -> None:
        self.looked_at = 0
        self._text = text
        self._matcher = Matcher(text)
        self._runs = runs
        self._root = os.path.join(data_dir, "runs")
        self._deadline = None if within_s is None else time.monotonic() + within_s

    def __iter__(self) -> Iterator[RunWithText]:
        while self.looked_at < len(self._runs) and not (self.looked_at and self._is_time_up()):
            position = self.looked_at
            self.looked_at += 1
            found = self._search(position)
            if found is not None:
                yield found

    def _is_time_up(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _search(self, position: int) -> RunWithText | None:
        meta = self._runs[position]
        from agentdbg.analysis.rows import RowBuilder  # noqa: PLC0415 -- a viewer serves before anybody searches

        folder = os.path.join(self._root, meta["run_id"])
        if not is_supported_version(meta["spec_version"]) or not self._may_hold(folder):
            return None
        index = EventIndex(folder, meta["run_id"])
        try:
            index.extend()
            found = (number for some in search_events(index, self._text, _MOST_COUNTED) for number in some)
            # A started call says nothing that its end does not say too.
            numbers = [number for number in found if index.status[number - 1] != ENDED]
            rows = RowBuilder(index).rows(numbers[:_ROWS_SHOWN], running=meta["status"] == "running")
        finally:
            index.close()
        return RunWithText(position, meta, len(numbers), rows) if numbers else None

    def _may_hold(self, folder: str) -> bool:
        file = open_events(folder)
        if file is None:
            return False
        overlap = b""
        with file:
            while block := file.read(_READ_AT_ONCE):
                if self._matcher.may_match(overlap + block):
                    return True
                overlap = block[-self._matcher.longest :]
        return False
