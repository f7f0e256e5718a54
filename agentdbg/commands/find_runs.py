"""
The run a person means, and the newest runs, found through the index of runs.

Reading every run.json to find the latest run takes a second with ten thousand runs; the index knows it at once.

One run, opened to be looked at: what is known of it, its events indexed and counted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.analysis.rows import RowBuilder
from agentdbg.analysis.stats import Tally
from agentdbg.commands.terminal import Progress
from agentdbg.exceptions import EventNotFound, RunNotFound, UsageError
from agentdbg.index import kept_findings
from agentdbg.index.events import EventIndex
from agentdbg.index.passing_runs import beside_passing
from agentdbg.index.run_index import RunFilter, RunIndex, load_run_meta
from agentdbg.storage.housekeeping import deleted_runs
from agentdbg.storage.layout import index_dir
from agentdbg.storage.reader import default_data_dir, find_run, run_folder

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.analysis.findings import Examination
    from agentdbg.events import RunMeta

__all__ = ["OpenedRun", "examined", "find", "known_runs", "newest_runs", "open_run"]


def find(wanted: str, data_dir: Path | None = None) -> str:
    """The id of the one run meant by a full id, the beginning of one, or `latest`."""
    root = default_data_dir() if data_dir is None else data_dir
    if wanted != "latest":
        try:
            return find_run(wanted, root)
        except RunNotFound:
            _say_if_deleted(wanted, root)
            raise
    newest = newest_runs(1, root)
    if not newest:
        raise RunNotFound(wanted, root)
    return newest[0]["run_id"]


def _say_if_deleted(wanted: str, root: Path) -> None:
    prefix = wanted.strip().lower()
    found = [deleted.meta["run_id"] for deleted in deleted_runs(root) if deleted.meta["run_id"].startswith(prefix)]
    if len(found) == 1:
        raise UsageError(f"run {found[0][:8]} was deleted; `agentdbg restore {found[0][:8]}` brings it back")


def newest_runs(limit: int, data_dir: Path | None = None, status: str | None = None) -> list[RunMeta]:
    """The newest runs, or the newest of one status."""
    return known_runs(default_data_dir() if data_dir is None else data_dir).page(RunFilter(status=status), limit).runs


def known_runs(data_dir: Path) -> RunIndex:
    """Every run of a folder, as it is now."""
    index = RunIndex(data_dir)
    with Progress("Reading runs") as progress:
        index.refresh(thorough=False, progress=progress.at)
    return index


def examined(opened: OpenedRun) -> Examination:
    """Everything found in a run, beside one that passed the same task where there is one."""
    found = kept_findings.examined(opened.data_dir, opened.meta)
    if found.state not in ("problems", "failed"):
        return found
    runs = known_runs(opened.data_dir)
    runs.note_state(opened.meta, found.state)
    return beside_passing(runs, opened.meta, found)


@dataclass
class OpenedRun:
    """A run and its index. `refresh` looks again at a run that is still being recorded."""

    data_dir: Path
    meta: RunMeta
    index: EventIndex
    tally: Tally
    builder: RowBuilder

    @property
    def run_id(self) -> str:
        return self.meta["run_id"]

    @property
    def is_live(self) -> bool:
        return self.meta["status"] == "running"

    @property
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def refresh(self) -> int:
        """Take in what is new; gives the number of events added."""
        added = self.index.extend()
        self.tally.catch_up()
        self.meta = load_run_meta(self.run_id, self.data_dir)
        return added

    def number_of(self, wanted: str) -> int:
        """An event's number, from `49`, `#49`, its id or the unique beginning of its id."""
        text = wanted.strip().removeprefix("#").lower()
        if text.isdecimal() and len(text) < 8 and 1 <= int(text) <= self.index.total:
            return int(text)
        number = self.index.number_of(text)
        if number is None and len(text) >= 4:
            found = [at for at in range(1, self.index.total + 1) if self.index.event(at)["event_id"].startswith(text)]
            number = found[0] if len(found) == 1 else None
        if number is None:
            raise EventNotFound(wanted, self.run_id)
        return number


def open_run(wanted: str) -> OpenedRun:
    """Find a run and index all of it, saying how far that is when it takes long."""
    data_dir = default_data_dir()
    run_id = find(wanted, data_dir)
    meta = load_run_meta(run_id, data_dir)
    index = EventIndex(run_folder(run_id, data_dir), run_id, cache=index_dir(data_dir))
    with Progress("Reading the run") as progress:
        while index.extend(max_ms=200) and not index.complete:
            progress.at(index.progress)
    index.save()
    return OpenedRun(data_dir, meta, index, Tally(index).catch_up(), RowBuilder(index))
