"""
One run as the page shows it.

A `RunView` answers from what is indexed so far. The rules that look for problems are loaded when the first summary of a
run that has ended is asked for: the rows are on the page before.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.report import build_report, summarise
from agentdbg.analysis.rows import RowBuilder
from agentdbg.analysis.stats import Tally
from agentdbg.encoding import encode_json
from agentdbg.index.column_cache import pack_skeleton
from agentdbg.index.events import EventIndex
from agentdbg.index.run_cache import files_stamp
from agentdbg.storage.layout import index_dir, run_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from agentdbg.analysis.findings import Examination
    from agentdbg.analysis.report import Summary
    from agentdbg.analysis.rows import Row
    from agentdbg.events import Event, RunMeta
    from agentdbg.index.run_index import RunIndex

__all__ = ["RunView"]

_GLANCE_MS = 4.0  # some hundred events: whoever waits for the first rows needs no more
_KEPT_PAGES = 16


class RunView:
    """One run as the page shows it. Every method may be called from any thread."""

    def __init__(self, data_dir: Path, run_id: str, runs: RunIndex | None = None) -> None:
        self.run_id = run_id
        self._data_dir = data_dir
        self._runs = runs
        self.index = EventIndex(run_dir(data_dir, run_id), run_id, index_dir(data_dir))
        self.watchers = 0
        self._looking = threading.Lock()
        self._understand()

    def _understand(self) -> None:
        self._generation = self.index.generation
        self._rows = RowBuilder(self.index)
        self._tally = Tally(self.index)
        self._last_summary: tuple[float, Summary | None] = (0.0, None)
        self._encoded: dict[tuple[int, int, str], bytes] = {}
        self._examined: tuple[Any, Examination | None] | None = None

    def extend(self, max_ms: float | None = _GLANCE_MS, keep_going: Callable[[], bool] = lambda: True) -> int:
        """Index more of the run; gives the number of events added."""
        with self.index.lock:
            added = self.index.extend(max_ms, keep_going)
            if self.index.generation != self._generation:
                self._understand()
            return added

    def reach(self, number: int, within_ms: float) -> None:
        """Index until event `number` is known, the file ends or the time is up."""
        deadline = time.perf_counter() + within_ms / 1000
        while self.index.total < number and not self.index.complete and time.perf_counter() < deadline:
            self.extend()

    def rows(self, numbers: Sequence[int], run: RunMeta) -> list[Row]:
        """The rows of these events, as far as they are indexed."""
        with self.index.lock:
            return self._rows.rows(numbers, running=run["status"] == "running")

    def summary(self, run: RunMeta) -> Summary:
        """All that stands above the rows."""
        index = self.index
        with index.lock:
            summary = summarise(
                self._tally,
                run,
                now_ms=time.time_ns() // 1_000_000,
                progress=index.progress,
                damaged_lines=index.damaged_lines,
                damaged_total=index.damaged_total,
            )
            has_ended, total = run["status"] != "running" and index.complete, index.total
        if has_ended:
            self._add_found(summary, run, total)
        return summary

    def _add_found(self, summary: Summary, run: RunMeta, total: int) -> None:
        """What was found and whom to suspect, once a run has ended."""
        runs = self._runs
        with self._looking:
            # Besides the run's own files, other runs that passed have a say.
            key = (files_stamp(str(run_dir(self._data_dir, self.run_id))), run, runs and runs.changes_since(None)[2])
            if self._examined is None or self._examined[0] != key:
                self._examined = (key, _findings().examined(self._data_dir, run, total, runs))
            found = self._examined[1]
        if found is not None:
            _findings().add_to_summary(summary, found)

    def _one_by_one(self, total: int) -> Iterator[Event]:
        """The events of the run, without keeping others from theirs meanwhile."""
        for number in range(1, total + 1):
            with self.index.lock:
                event = self.index.event(number)
            yield event

    def origins(self, number: int) -> list[dict[str, Any]]:
        """Where every value of an event came from; nothing of an event that stands beyond what is read in a blink."""
        found: list[dict[str, Any]] = _findings().origins(
            self._one_by_one, self.index.total, number, run_dir(self._data_dir, self.run_id)
        )
        return found

    def recent_summary(self, run: RunMeta, within_s: float = 0.2) -> Summary:
        """The summary, made a moment ago at most: everyone who follows a live run is told the same."""
        made_at, summary = self._last_summary
        now = time.monotonic()
        if summary is None or now - made_at > within_s:
            summary = self.summary(run)
            self._last_summary = (now, summary)
        return summary

    def encoded_rows(self, first: int, last: int, run: RunMeta) -> bytes:
        """The rows from `first` to `last` as a JSON array; made once for all who follow."""
        key = (first, last, run["status"])
        with self.index.lock:
            encoded = self._encoded.get(key)
            if encoded is None:
                encoded = encode_json(self.rows(range(first, last + 1), run))
                self._encoded[key] = encoded
                if len(self._encoded) > _KEPT_PAGES:
                    del self._encoded[next(iter(self._encoded))]
            return encoded

    def report(self, run: RunMeta) -> str:
        """The run as Markdown for an assistant."""
        with self.index.lock:
            return build_report(self._tally, run, time.time_ns() // 1_000_000)

    def skeleton(self, start: int) -> tuple[bytes, list[str]]:
        """The columns from event `start` + 1 on, as the page reads them, and the names of the types."""
        return pack_skeleton(self.index, start)

    def changes_since(self, position: int) -> tuple[list[dict[str, Any]], int]:
        """Earlier events whose parent or status became known, after the first `position` such changes."""
        index = self.index
        with index.lock:
            numbers = index.changed[position:]
            return [
                {"n": number, "parent_n": index.parent_n[number - 1] or None, "status": index.status[number - 1]}
                for number in dict.fromkeys(numbers)
            ], len(index.changed)


def _findings() -> Any:
    from agentdbg.server import run_findings  # noqa: PLC0415 -- see above

    return run_findings
