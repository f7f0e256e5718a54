"""
Find text in the events of many runs.

A run's file is first looked through as bytes; only where the text stands in it is the run indexed and the events found.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.analysis.rows import RowBuilder
from agentdbg.analysis.run_columns import ENDED
from agentdbg.index.events import EventIndex
from agentdbg.index.search import Matcher, search_events
from agentdbg.storage.dialects import is_supported_version
from agentdbg.storage.lines import open_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agentdbg.analysis.rows import Row
    from agentdbg.events import RunMeta

__all__ = ["RunWithText", "RunsWithText"]

_BLOCK = 1 << 20
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
            while block := file.read(_BLOCK):
                if self._matcher.may_match(overlap + block):
                    return True
                overlap = block[-self._matcher.longest :]
        return False
