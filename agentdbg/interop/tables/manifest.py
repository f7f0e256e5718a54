"""
Which runs stand in which cached file, as they were when they were read: one small SQLite file.

It is also the lock: whoever adds to the cache holds its write transaction, so that two questions asked at once read the
runs once. A file that is broken, or was made by another version, is as good as none.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zlib
from typing import TYPE_CHECKING, NamedTuple

from agentdbg.exceptions import AgentDbgError
from agentdbg.interop.tables.columns import EVENTS, FINDINGS, RUNS
from agentdbg.storage.layout import open_private
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["Manifest", "Segment"]

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
