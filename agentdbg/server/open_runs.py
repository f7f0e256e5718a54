"""
The runs somebody looks at: one index per run, shared by everyone who looks.

`Indexer` goes on in the background, a slice at a time, so that the
first rows of a million events do not wait for the last. Views nobody has used for a while are let go.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.index.run_index import RunIndex
    from agentdbg.server.run_view import RunView

__all__ = ["Indexer", "Views", "types_header"]

_MOST_VIEWS = 12
_SLICE_MS = 100.0
_STARTED_AFTER_S = 0.1  # first the page that asked gets all it needs for its first rows
_SAVED_AFTER_S = 1.0


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
            view = self._views.pop(run_id, None)
            if view is None:
                from agentdbg.server.run_view import RunView  # noqa: PLC0415 -- the viewer serves before it is read

                view = RunView(self._data_dir, run_id, self._runs)
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
