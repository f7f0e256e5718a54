"""
One table over every stored run, kept as Parquet files between one question and the next.

Only runs whose log changed are read again: their rows go into a new file, and the rows an older file has of them no
longer count. Files are never changed, so questions may be asked while another process adds to the cache. A file with
rows of a deleted run is written anew without them; small files are joined. All of it may be deleted at any time.

Which runs stand in which cached file, as they were when they were read: one small SQLite file.

It is also the lock: whoever adds to the cache holds its write transaction, so that two questions asked at once read the
runs once. A file that is broken, or was made by another version, is as good as none.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.exceptions import AgentDbgError
from agentdbg.interop.tables.parquet import TableFile, copy_rows, require
from agentdbg.interop.tables.table_columns import EVENTS, FINDINGS, RUNS
from agentdbg.storage.layout import make_private_folder, open_private, run_dir
from agentdbg.storage.lines import events_path
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from agentdbg.events import RunMeta
    from agentdbg.interop.tables.table_columns import Column

    RowsOf = Callable[[RunMeta, Path], Iterable[tuple[Any, ...]]]

__all__ = ["CachedFile", "Segment", "TableCache"]

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
            with TableFile(self._file(name), self._columns) as table:
                for meta in changed:
                    for row in self._rows_of(meta, run_dir(self._data_dir, meta["run_id"])):
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


# Findings may change with every version, the columns with any change.
_FORMAT = zlib.crc32(repr((__version__, EVENTS, RUNS, FINDINGS)).encode()) & 0x7FFFFFFF
_PATIENCE_S = 300.0


class Segment(NamedTuple):
    """One cached file: how many rows it has, of which runs, and which of these runs have no newer rows elsewhere."""

    name: str
    rows: int
    runs: frozenset[str]
    live: frozenset[str]

    @property
    def is_clean(self) -> bool:
        """Whether every row in it counts."""
        return len(self.live) == len(self.runs)

    @property
    def live_rows(self) -> int:
        """About how many rows count."""
        return self.rows * len(self.live) // max(len(self.runs), 1)


class Manifest:
    """What is cached. `writing` holds the lock; everything else may be asked at any time."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            os.close(open_private(path, os.O_RDWR | os.O_CREAT))
        self._connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def stamps(self) -> dict[str, str]:
        """The stamp of each cached run's log when it was read."""
        return dict(self._connection.execute("SELECT run_id, stamp FROM runs"))

    def segments(self) -> list[Segment]:
        """The files, in the order they were written."""
        runs: dict[str, set[str]] = {}
        live: dict[str, set[str]] = {}
        placed = self._connection.execute(
            "SELECT places.segment, run_id, runs.segment IS places.segment FROM places LEFT JOIN runs USING (run_id)"
        )
        for segment, run_id, is_live in placed:
            runs.setdefault(segment, set()).add(run_id)
            if is_live:
                live.setdefault(segment, set()).add(run_id)
        known = self._connection.execute("SELECT name, rows FROM segments ORDER BY name").fetchall()
        return [
            Segment(name, rows, frozenset(runs.get(name, ())), frozenset(live.get(name, ()))) for name, rows in known
        ]

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock; what is said inside is kept whole, or not at all."""
        self._lock()
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def save(self) -> None:
        """Keep what was said so far, and take the lock again; another process may come first."""
        self._connection.execute("COMMIT")
        self._lock()

    def add(self, name: str, rows: int, stamps: Iterable[tuple[str, str]]) -> None:
        """A new file, and the runs whose rows from now on are those in it."""
        placed = [(run_id, stamp, name) for run_id, stamp in stamps]
        self._connection.execute("INSERT INTO segments VALUES (?, ?)", (name, rows))
        self._connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", placed)
        self._connection.executemany("INSERT INTO places VALUES (?, ?)", [(name, run_id) for run_id, _, name in placed])

    def forget(self, run_ids: Iterable[str]) -> None:
        """Runs that are gone."""
        self._connection.executemany("DELETE FROM runs WHERE run_id = ?", ((run_id,) for run_id in run_ids))

    def drop(self, names: Iterable[str]) -> None:
        """Files that are gone; runs that stood only there are to be read again."""
        for name in names:
            self._connection.execute("DELETE FROM segments WHERE name = ?", (name,))
            self._connection.execute("DELETE FROM places WHERE segment = ?", (name,))
            self._connection.execute("DELETE FROM runs WHERE segment = ?", (name,))

    def close(self) -> None:
        self._connection.close()

    def _lock(self) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise AgentDbgError("another process has been reading the runs for minutes; try again later") from None

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA synchronous = OFF")  # nothing is lost that cannot be read again
        if self._format() == _FORMAT:
            return
        with self.writing():
            if self._format() != _FORMAT:  # nobody else was faster
                for statement in (
                    "DROP TABLE IF EXISTS runs",
                    "DROP TABLE IF EXISTS segments",
                    "DROP TABLE IF EXISTS places",
                    "CREATE TABLE runs (run_id TEXT PRIMARY KEY, stamp TEXT, segment TEXT) WITHOUT ROWID",
                    "CREATE TABLE segments (name TEXT PRIMARY KEY, rows INTEGER) WITHOUT ROWID",
                    "CREATE TABLE places (segment TEXT, run_id TEXT, PRIMARY KEY (segment, run_id)) WITHOUT ROWID",
                    f"PRAGMA user_version = {_FORMAT}",
                ):
                    self._connection.execute(statement)

    def _format(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])
