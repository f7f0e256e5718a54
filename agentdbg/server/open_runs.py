"""
The runs somebody looks at: one index per run, shared by everyone who looks.

A `RunView` answers from what is indexed so far; `Indexer` goes on in the background, a slice at a time, so that the
first rows of a million events do not wait for the last. Views nobody has used for a while are let go.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

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

__all__ = ["Indexer", "RunView", "Views"]

_MOST_VIEWS = 12
_SLICE_MS = 100.0
_GLANCE_MS = 4.0  # some hundred events: whoever waits for the first rows needs no more
_KEPT_PAGES = 16
_STARTED_AFTER_S = 0.1  # first the page that asked gets all it needs for its first rows
_SAVED_AFTER_S = 1.0


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
        from agentdbg.analysis.rows import RowBuilder  # noqa: PLC0415 -- the viewer serves before it has been read
        from agentdbg.analysis.stats import Tally  # noqa: PLC0415 -- as above

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
        from agentdbg.analysis.report import summarise  # noqa: PLC0415 -- as above

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
        from agentdbg.analysis.findings import add_to_summary  # noqa: PLC0415 -- the page is there before
        from agentdbg.index import kept_findings, passing_runs  # noqa: PLC0415 -- as above

        runs = self._runs
        with self._looking:
            # Besides the run's own files, other runs that passed have a say.
            key = (files_stamp(str(run_dir(self._data_dir, self.run_id))), run, runs and runs.changes_since(None)[2])
            if self._examined is None or self._examined[0] != key:
                found = kept_findings.examined_if_short(self._data_dir, run, total)
                if found is not None and runs is not None:
                    runs.note_state(run, found.state)
                    found = passing_runs.beside_passing(runs, run, found)
                self._examined = (key, found)
            found = self._examined[1]
        if found is not None:
            add_to_summary(summary, found)

    def _one_by_one(self, total: int) -> Iterator[Event]:
        """The events of the run, without keeping others from theirs meanwhile."""
        for number in range(1, total + 1):
            with self.index.lock:
                event = self.index.event(number)
            yield event

    def origins(self, number: int) -> list[dict[str, Any]]:
        """Where every value of an event came from; nothing of an event that stands beyond what is read in a blink."""
        from agentdbg.analysis import suspects  # noqa: PLC0415 -- the page is there before
        from agentdbg.index import kept_findings  # noqa: PLC0415 -- as above

        if number > min(self.index.total, kept_findings.MOST_EVENTS_LOOKED_AT):
            return []
        story = suspects.RunStory.of(self._one_by_one(number))
        return [one.as_json() for one in suspects.provenance(story, number)]

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
        from agentdbg.analysis.report import build_report  # noqa: PLC0415 -- as above

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


def types_header(names: list[str]) -> str:
    """The names of the event types as a header's value."""
    return json.dumps(names, ensure_ascii=True)


class Indexer:
    """
    One thread that indexes what is being looked at, a slice of each run in turn.

    It begins a moment after it is asked to, and keeps the columns for the next process a moment after they are all
    there: whoever waits for an answer comes first.
    """

    def __init__(self) -> None:
        self._queue: deque[RunView] = deque()
        self._unsaved: deque[RunView] = deque()
        self._start_at = self._save_at = 0.0
        self._wake = threading.Condition()
        self._stopped = False
        self._waited_for = 0
        self._thread: threading.Thread | None = None

    def want(self, view: RunView) -> None:
        """Go on with this run until it is indexed to its end."""
        with self._wake:
            if view in self._queue or self._stopped:
                return
            if not self._queue:
                self._start_at = time.monotonic() + _STARTED_AFTER_S
            self._queue.append(view)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="agentdbg-indexer", daemon=True)
                self._thread.start()
            self._wake.notify()

    def forget(self, view: RunView) -> None:
        """Neither go on with this run nor keep anything of it."""
        with self._wake:
            for views in (self._queue, self._unsaved):
                if view in views:
                    views.remove(view)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Somebody is being answered, and Python runs one thread at a time: nothing is indexed in the background."""
        with self._wake:
            self._waited_for += 1
        try:
            yield
        finally:
            with self._wake:
                self._waited_for -= 1
                self._wake.notify()

    def stop(self) -> None:
        """End the thread."""
        with self._wake:
            self._stopped = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(timeout=2)

    def _work(self) -> None:
        while True:
            with self._wake:
                if self._stopped:
                    break
                is_idle = not self._queue
                if self._waited_for or (is_idle and not self._unsaved):
                    self._wake.wait()
                    continue
                early_s = (self._save_at if is_idle else self._start_at) - time.monotonic()
                if early_s > 0:
                    self._wake.wait(early_s)
                    continue
                view = self._unsaved.popleft() if is_idle else self._queue[0]
            if is_idle:
                view.index.save()
            else:
                self._go_on(view)
        for view in self._unsaved:
            view.index.save()

    def _go_on(self, view: RunView) -> None:
        try:
            view.extend(_SLICE_MS, lambda: not self._waited_for)
        except (OSError, MemoryError):  # whoever asks for this run hears of it; the others go on
            self.forget(view)
        with self._wake:
            if view not in self._queue:  # forgotten
                return
            self._queue.remove(view)
            if view.index.complete:
                self._unsaved.append(view)
                self._save_at = time.monotonic() + _SAVED_AFTER_S
            else:
                self._queue.append(view)
        time.sleep(0.001)  # whoever waits for the index gets it now


class Views:
    """The views in use, by run."""

    def __init__(self, data_dir: Path, runs: RunIndex | None = None) -> None:
        self._data_dir = data_dir
        self._runs = runs
        self._views: OrderedDict[str, RunView] = OrderedDict()
        self._lock = threading.Lock()
        self.indexer = Indexer()

    def get(self, run_id: str) -> RunView:
        """The view of a run that exists; made on first use."""
        with self._lock:
            view = self._views.pop(run_id, None) or RunView(self._data_dir, run_id, self._runs)
            self._views[run_id] = view
            for old_id in [key for key, old in self._views.items() if not old.watchers][: -_MOST_VIEWS or None]:
                del self._views[old_id]
            return view

    def peek(self, run_id: str) -> RunView | None:
        """The view of a run if there is one already."""
        with self._lock:
            return self._views.get(run_id)

    def forget(self, run_id: str) -> None:
        """The run is gone."""
        with self._lock:
            view = self._views.pop(run_id, None)
        if view is not None:
            self.indexer.forget(view)

    def close(self) -> None:
        """Stop working."""
        self.indexer.stop()
        with self._lock:
            self._views.clear()
