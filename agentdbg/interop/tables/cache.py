"""
The tables of every stored run, kept as Parquet in <data_dir>/index/tables between one question and the next.

Only runs whose log changed are read again: their rows go into a new file, and the rows an older file has of them no
longer count. Files are never changed, so questions may be asked while another process adds to the cache. A file with
rows of a deleted run is written anew without them; small files are joined. All of it may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.analysis.findings import find
from agentdbg.encoding import encode_json
from agentdbg.interop.exports.files import appearing
from agentdbg.interop.exports.reading import events_of
from agentdbg.interop.tables.columns import EVENTS, FINDINGS, RUNS, event_row, finding_row, run_row
from agentdbg.interop.tables.manifest import Manifest, Segment
from agentdbg.interop.tables.parquet import TableFile, copy_rows, require, write_table
from agentdbg.storage.layout import make_private_folder, run_dir
from agentdbg.storage.lines import events_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from agentdbg.events import Event, RunMeta

__all__ = ["CachedTables", "TableCache"]

_MANIFEST = "manifest.sqlite3"
_LARGEST = 100_000
"""Rows after which a file is full."""
_MOST_SMALL = 8


@dataclass(frozen=True)
class CachedTables:
    """Where the tables are: one file of runs, and files of events and findings with the runs in them that count."""

    folder: Path
    runs: Path
    segments: list[Segment]

    def events(self, segment: Segment) -> Path:
        return _events_file(self.folder, segment.name)

    def findings(self, segment: Segment) -> Path:
        return _findings_file(self.folder, segment.name)


class TableCache:
    """The cache of one data folder."""

    def __init__(self, data_dir: Path, folder: Path) -> None:
        self._data_dir = data_dir
        self._folder = folder

    def refresh(self, runs: Sequence[RunMeta], progress: Callable[[float], None]) -> CachedTables:
        """Take in what changed since the last time; `runs` is every run there is."""
        stamps = {meta["run_id"]: _stamp(run_dir(self._data_dir, meta["run_id"]), meta) for meta in runs}
        runs_file = self._folder / f"runs-{hashlib.sha256(encode_json(runs)).hexdigest()[:24]}.parquet"
        with contextlib.closing(self._manifest()) as manifest:
            lost = self._lost(manifest)
            if lost or manifest.stamps() != stamps or not runs_file.exists():
                require("pyarrow")
                with manifest.writing():
                    manifest.drop(lost)
                    manifest.forget(manifest.stamps().keys() - stamps.keys())
                    self._take_in(manifest, runs, stamps, progress)
                    self._tidy(manifest)
                    with appearing(runs_file) as path:
                        write_table(path, RUNS, (run_row(meta) for meta in runs))
                    manifest.save()
                    self._remove_unknown(manifest, runs_file)
            return CachedTables(self._folder, runs_file, manifest.segments())

    def forget(self) -> None:
        """Let go of everything, to begin again."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _manifest(self) -> Manifest:
        make_private_folder(self._folder)
        try:
            return Manifest(self._folder / _MANIFEST)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:  # something else lies there
            self.forget()
            make_private_folder(self._folder)
            return Manifest(self._folder / _MANIFEST)

    def _lost(self, manifest: Manifest) -> list[str]:
        """The files somebody deleted."""
        names = [segment.name for segment in manifest.segments()]
        return [
            name
            for name in names
            if not (_events_file(self._folder, name).exists() and _findings_file(self._folder, name).exists())
        ]

    def _take_in(
        self, manifest: Manifest, runs: Sequence[RunMeta], stamps: dict[str, str], progress: Callable[[float], None]
    ) -> None:
        total = 0
        while True:
            known = manifest.stamps()  # again each time: another process may have been faster
            changed = [meta for meta in runs if known.get(meta["run_id"]) != stamps[meta["run_id"]]]
            if not changed:
                return
            total = max(total, len(changed))
            name, taken = _new_name(), []
            with self._segment(name) as (events, findings):
                for meta in changed:
                    self._add_run(meta, events, findings)
                    taken.append((meta["run_id"], stamps[meta["run_id"]]))
                    progress((total - len(changed) + len(taken)) / total)
                    if events.rows >= _LARGEST:
                        break
            manifest.add(name, events.rows, taken)
            manifest.save()  # what is read stays read, should the rest be interrupted

    def _add_run(self, meta: RunMeta, events: TableFile, findings: TableFile) -> None:
        run_id = meta["run_id"]

        def passing() -> Iterator[Event]:
            for number, event in enumerate(events_of(run_dir(self._data_dir, run_id), run_id), 1):
                events.add(event_row(number, event))
                yield event

        for finding in find(passing(), meta):
            findings.add(finding_row(run_id, finding))

    def _tidy(self, manifest: Manifest) -> None:
        """Write anew what holds rows of runs that are gone, or mostly rows that no longer count; join small files."""
        stamps = manifest.stamps()
        segments = manifest.segments()
        small = {segment.name for segment in segments if segment.live_rows < _LARGEST // 2}
        worn = [
            segment
            for segment in segments
            if not segment.runs <= stamps.keys()
            or len(segment.live) * 2 < len(segment.runs)
            or (len(small) > _MOST_SMALL and segment.name in small)
        ]
        for group in _groups(worn):
            live = sorted({run_id for segment in group for run_id in segment.live})
            if live:
                name = _new_name()
                with self._segment(name) as (events, findings):
                    for segment in group:
                        copy_rows(_events_file(self._folder, segment.name), events, segment.live)
                        copy_rows(_findings_file(self._folder, segment.name), findings, segment.live)
                manifest.add(name, events.rows, [(run_id, stamps[run_id]) for run_id in live])
            manifest.drop(segment.name for segment in group)

    @contextlib.contextmanager
    def _segment(self, name: str) -> Iterator[tuple[TableFile, TableFile]]:
        with (
            TableFile(_events_file(self._folder, name), EVENTS) as events,
            TableFile(_findings_file(self._folder, name), FINDINGS) as findings,
        ):
            yield events, findings

    def _remove_unknown(self, manifest: Manifest, runs_file: Path) -> None:
        """What an interrupted process left, and what nothing needs any more; whoever still reads it asks again."""
        names = [segment.name for segment in manifest.segments()]
        needed = {_events_file(self._folder, name) for name in names}
        needed |= {_findings_file(self._folder, name) for name in names}
        needed |= {runs_file, self._folder / _MANIFEST, self._folder / f"{_MANIFEST}-journal"}
        for path in set(self._folder.iterdir()) - needed:
            path.unlink(missing_ok=True)


def _stamp(folder: Path, meta: RunMeta) -> str:
    """What changes when a run's log does, or when it is known how the run ended."""
    path = events_path(folder)
    if path is None:
        return meta["status"]
    try:
        found = os.lstat(path)
    except OSError:
        return meta["status"]
    return f"{found.st_ino:x}.{found.st_mtime_ns:x}.{found.st_size:x}.{meta['status']}"


def _groups(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Segments together until what counts in them fills a file."""
    group: list[Segment] = []
    rows = 0
    for segment in segments:
        if group and rows + segment.live_rows > _LARGEST:
            yield group
            group, rows = [], 0
        group.append(segment)
        rows += segment.live_rows
    if group:
        yield group


def _new_name() -> str:
    return f"{time.time_ns():016x}-{os.urandom(4).hex()}"


def _events_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.events.parquet"


def _findings_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.findings.parquet"
