"""One run, opened to be looked at: what is known of it, its events indexed and counted, and what was found in it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.analysis.rows import RowBuilder
from agentdbg.analysis.stats import Tally
from agentdbg.commands.find_runs import find, known_runs
from agentdbg.commands.terminal import Progress
from agentdbg.exceptions import EventNotFound
from agentdbg.index import kept_findings
from agentdbg.index.events import EventIndex
from agentdbg.index.passing_runs import beside_passing
from agentdbg.index.run_index import load_run_meta
from agentdbg.storage.layout import index_dir
from agentdbg.storage.reader import default_data_dir, run_folder

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.analysis.findings import Examination
    from agentdbg.events import RunMeta

__all__ = ["OpenedRun", "examined", "open_run"]


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
