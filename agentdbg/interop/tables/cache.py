"""
One table over every stored run, kept as Parquet files between one question and the next.

Only runs whose log changed are read again: their rows go into a new file, and the rows an older file has of them no
longer count. Files are never changed, so questions may be asked while another process adds to the cache. A file with
rows of a deleted run is written anew without them; small files are joined. All of it may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.interop.tables.manifest import Manifest, Segment
from agentdbg.interop.tables.parquet import TableFile, copy_rows, require
from agentdbg.interop.tables.reading import read_runs
from agentdbg.storage.layout import make_private_folder, run_dir
from agentdbg.storage.lines import events_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from agentdbg.events import RunMeta
    from agentdbg.interop.tables.columns import Column
    from agentdbg.interop.tables.reading import RowsOf

__all__ = ["CachedFile", "TableCache"]

_MANIFEST = "manifest.sqlite3"
_LARGEST = 100_000
"""Rows after which a file is full."""
_MOST_SMALL = 8


@dataclass(frozen=True)
class CachedFile:
    """A file of the table, and the runs whose rows in it count; None when all do."""

    path: Path
    live: frozenset[str] | None


class TableCache:
    """A table of one data folder, in a folder of its own."""

    def __init__(self, data_dir: Path, folder: Path, columns: Sequence[Column], rows_of: RowsOf) -> None:
        self._data_dir = data_dir
        self._folder = folder
        self._columns = columns
        self._rows_of = rows_of

    def refresh(self, runs: Sequence[RunMeta], progress: Callable[[float], None]) -> list[CachedFile]:
        """Take in what changed since the last time, and say where everything is; `runs` is every run there is."""
        stamps = {meta["run_id"]: _stamp(run_dir(self._data_dir, meta["run_id"]), meta) for meta in runs}
        with contextlib.closing(self._manifest()) as manifest:
            lost = [segment.name for segment in manifest.segments() if not self._file(segment.name).exists()]
            if lost or manifest.stamps() != stamps:
                require("pyarrow")
                with manifest.writing():
                    manifest.drop(lost)
                    manifest.forget(manifest.stamps().keys() - stamps.keys())
                    self._take_in(manifest, runs, stamps, progress)
                    self._tidy(manifest)
                    manifest.save()
                    self._remove_unknown(manifest)
            return [
                CachedFile(self._file(segment.name), None if segment.is_clean else segment.live)
                for segment in manifest.segments()
                if segment.live
            ]

    def let_go(self, runs: Sequence[RunMeta]) -> None:
        """Keep no row of a run that is not among these, and read nothing."""
        if not (self._folder / _MANIFEST).exists():
            return
        there = {meta["run_id"] for meta in runs}
        with contextlib.closing(self._manifest()) as manifest:
            if manifest.stamps().keys() - there:
                require("pyarrow")
                with manifest.writing():
                    manifest.forget(manifest.stamps().keys() - there)
                    self._tidy(manifest)
                    manifest.save()
                    self._remove_unknown(manifest)

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
            reading = read_runs(changed, self._data_dir, self._rows_of)
            with TableFile(self._file(name), self._columns) as table, contextlib.closing(reading):
                for meta, rows in reading:
                    for row in rows:
                        table.add(row)
                    taken.append((meta["run_id"], stamps[meta["run_id"]]))
                    progress((total - len(changed) + len(taken)) / total)
                    if table.rows >= _LARGEST:
                        break
            manifest.add(name, table.rows, taken)
            manifest.save()  # what is read stays read, should the rest be interrupted

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
                with TableFile(self._file(name), self._columns) as table:
                    for segment in group:
                        copy_rows(self._file(segment.name), table, segment.live)
                manifest.add(name, table.rows, [(run_id, stamps[run_id]) for run_id in live])
            manifest.drop(segment.name for segment in group)

    def _remove_unknown(self, manifest: Manifest) -> None:
        """What an interrupted process left, and what nothing needs any more; whoever still reads it asks again."""
        needed = {self._file(segment.name) for segment in manifest.segments()}
        for path in set(self._folder.glob("*.parquet")) - needed:
            path.unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.parquet"


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
