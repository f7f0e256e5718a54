"""
The tables of one data folder: runs, events and findings, each kept in <data_dir>/index/tables and brought up to date
only when a question needs it.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings import find
from agentdbg.encoding import encode_json
from agentdbg.interop.exports.files import appearing
from agentdbg.interop.exports.reading import events_of
from agentdbg.interop.tables.cache import CachedFile, TableCache
from agentdbg.interop.tables.columns import EVENTS, FINDINGS, RUNS, event_row, finding_row, run_row
from agentdbg.interop.tables.parquet import require, write_table
from agentdbg.storage.layout import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from agentdbg.events import RunMeta

__all__ = ["Files", "StoredTables"]


@dataclass(frozen=True)
class Files:
    """Where the tables are; a table nobody asked for is empty."""

    runs: list[CachedFile] = field(default_factory=list)
    events: list[CachedFile] = field(default_factory=list)
    findings: list[CachedFile] = field(default_factory=list)


class StoredTables:
    """What the runs of one data folder hold, as tables in `folder`."""

    def __init__(self, data_dir: Path, folder: Path) -> None:
        self._folder = folder
        self._events = TableCache(data_dir, folder / "events", EVENTS, _event_rows)
        self._findings = TableCache(data_dir, folder / "findings", FINDINGS, _finding_rows)

    def refresh(
        self, runs: Sequence[RunMeta], *, events: bool, findings: bool, progress: Callable[[float], None]
    ) -> Files:
        """Bring the tables up to date that are asked for; `runs` is every run there is, and of others nothing stays."""
        for table, is_wanted in ((self._events, events), (self._findings, findings)):
            if not is_wanted:
                table.let_go(runs)
        return Files(
            runs=[CachedFile(self._runs(runs), None)],
            events=self._events.refresh(runs, progress) if events else [],
            findings=self._findings.refresh(runs, progress) if findings else [],
        )

    def forget(self) -> None:
        """Let go of everything, to begin again."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _runs(self, runs: Sequence[RunMeta]) -> Path:
        """The table of runs, made anew when anything in it changed."""
        path = self._folder / f"runs-{hashlib.sha256(encode_json(runs)).hexdigest()[:24]}.parquet"
        if not path.exists():
            require("pyarrow")
            make_private_folder(self._folder)
            with appearing(path) as temporary:
                write_table(temporary, RUNS, map(run_row, runs))
            for earlier in set(self._folder.glob("runs-*.parquet")) - {path}:
                earlier.unlink(missing_ok=True)
        return path


def _event_rows(meta: RunMeta, folder: Path) -> Iterator[tuple[Any, ...]]:
    for number, event in enumerate(events_of(folder, meta["run_id"]), 1):
        yield event_row(number, event)


def _finding_rows(meta: RunMeta, folder: Path) -> Iterator[tuple[Any, ...]]:
    for finding in find(events_of(folder, meta["run_id"]), meta):
        yield finding_row(meta["run_id"], finding)
