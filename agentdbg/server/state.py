"""
What the routes of one viewer share: the runs, the views on them, and who may ask.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from agentdbg.exceptions import InvalidRunId, RunNotFound, UnsupportedSpecVersion
from agentdbg.index.runs import RunIndex
from agentdbg.server.views import Views
from agentdbg.storage.dialects import is_supported_version
from agentdbg.storage.layout import is_run_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.events import RunMeta
    from agentdbg.server.guard import Policy
    from agentdbg.server.views import RunView

__all__ = ["ViewerState"]

_HEADLINES_SECONDS = 0.06
_HEADLINES_AT_ONCE = 20


class ViewerState:
    """One data folder being viewed."""

    def __init__(self, data_dir: Path, policy: Policy) -> None:
        self.data_dir = data_dir
        self.policy = policy
        self.runs = RunIndex(data_dir)
        self.views = Views(data_dir)
        self.is_stopping = False
        self._headliner = threading.Lock()
        self._refresher = threading.Lock()

    def run(self, run_id: str) -> RunMeta:
        """A run by its full id, as it is now; InvalidRunId, RunNotFound or UnsupportedSpecVersion otherwise."""
        if not is_run_id(run_id):
            raise InvalidRunId(run_id[:100])
        try:
            meta = self.runs.get(run_id)
        except RunNotFound:
            self.views.forget(run_id)
            raise
        if not is_supported_version(meta["spec_version"]):
            raise UnsupportedSpecVersion(run_id, meta["spec_version"])
        return self._with_damage(meta)

    @contextlib.contextmanager
    def looking_at(self, run_id: str) -> Iterator[tuple[RunMeta, RunView]]:
        """A run and the view of it while somebody is answered; afterwards it goes on being indexed."""
        run = self.run(run_id)
        view = self.views.get(run_id)
        with self.views.indexer.paused():
            if view.index.is_behind():
                view.extend()
            yield run, view
        if not view.index.complete:
            self.views.indexer.want(view)

    def look_for_runs(self) -> None:
        """
        Know of runs that are new, changed or gone.

        Those that came, went or are running are seen right now. That every folder is looked at, which takes a while
        when there are thousands, is left to somebody else once it has been done.
        """
        if not self.runs.is_known():
            self.runs.refresh(thorough=False)
            return
        self.runs.glance()
        if self.runs.is_due() and self._refresher.acquire(blocking=False):
            threading.Thread(target=self._look_at_every_run, daemon=True).start()

    def headed(self, runs: list[RunMeta]) -> bytes:
        """
        Runs for the rail as a JSON array, each with its headline.

        A headline that takes too long is made later and told as a change.
        """
        ids = [meta["run_id"] for meta in runs]
        missing = [run_id for run_id in ids if self.runs.lacks_headline(run_id)]
        if missing:
            self.runs.headlines(missing, within_s=_HEADLINES_SECONDS)
            missing = [run_id for run_id in missing if self.runs.lacks_headline(run_id)]
        if missing and self._headliner.acquire(blocking=False):
            threading.Thread(target=self._make_headlines, args=(missing,), daemon=True).start()
        return self.runs.encoded(ids)

    def close(self) -> None:
        """Stop working in the background."""
        self.is_stopping = True
        self.views.close()

    def _look_at_every_run(self) -> None:
        try:
            self.runs.refresh(thorough=False)
        finally:
            self._refresher.release()

    def _make_headlines(self, ids: list[str]) -> None:
        try:
            for start in range(0, len(ids), _HEADLINES_AT_ONCE):
                if self.is_stopping:
                    return
                self.runs.headlines(ids[start : start + _HEADLINES_AT_ONCE])
        finally:
            self._headliner.release()

    def _with_damage(self, meta: RunMeta) -> RunMeta:
        view = self.views.peek(meta["run_id"])
        if view is None or not view.index.damaged_total:
            return meta
        return {**meta, "damaged_lines": view.index.damaged_total}
