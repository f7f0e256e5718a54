"""
What is known of each run, kept in one small SQLite file between processes.

Everything here may fail: a locked, broken, missing or foreign file means only that runs are read again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from agentdbg.storage.layout import make_private_folder, open_private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Row", "RunCache"]

_FORMAT = 1
# A row that somebody else wrote, or that was damaged, is as good as none; `meta` is served as it stands.
_SELECT = (
    "SELECT run_id, stamp, meta, headline, started_at, status FROM runs WHERE typeof(meta) = 'text'"
    " AND CASE WHEN json_valid(meta) THEN json_extract(meta, '$.run_id') = run_id END"
    " AND typeof(stamp) = 'text' AND typeof(started_at) = 'text' AND typeof(status) = 'text'"
    " AND length(meta) < 4000000 AND length(stamp) + length(started_at) + length(status) < 1000"
    " AND length(coalesce(headline, '')) < 10000"
)


class Row(NamedTuple):
    """What is kept of a run: the stamp of its files when they were read, and what they said."""

    run_id: str
    stamp: str
    meta: str
    """As JSON."""
    headline: str | None
    started_at: str
    status: str


class RunCache:
    """Rows by run id, shared by all processes that look at one data folder; one that only reads makes no file."""

    def __init__(self, path: Path, *, writes: bool = True) -> None:
        self._path = path
        self._writes = writes

    def load(self) -> list[tuple[str, str, str, str | None, str, str]]:
        """Every row, as plain tuples; none when there is nothing usable."""
        try:
            with self._connection() as connection:
                return connection.execute(_SELECT).fetchall()
        except (sqlite3.Error, OSError):
            return []

    def load_one(self, run_id: str) -> Row | None:
        """One run's row, if there is one."""
        try:
            with self._connection() as connection:
                found = connection.execute(f"{_SELECT} AND run_id = ?", (run_id,)).fetchone()
        except (sqlite3.Error, OSError):
            return None
        return None if found is None else Row(*found)

    def store(self, rows: Iterable[tuple[str, str, str, str | None, str, str]], removed: Iterable[str]) -> None:
        """Put rows in place and take others away, all or nothing."""
        if not self._writes:
            return
        with contextlib.suppress(sqlite3.Error, OSError), self._connection() as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.executemany("DELETE FROM runs WHERE run_id = ?", ((run_id,) for run_id in removed))

    def _connection(self) -> contextlib.closing[sqlite3.Connection]:
        if self._path.is_symlink():
            raise OSError(f"{self._path} is a symlink")
        if not self._writes:
            return self._as_it_is()
        if not self._path.exists():
            if not self._path.parent.parent.is_dir():
                raise OSError("there is no data folder yet, and looking for runs is no reason to make one")
            make_private_folder(self._path.parent)
            os.close(open_private(self._path, os.O_RDWR | os.O_CREAT))
        connection = sqlite3.connect(self._path, timeout=0.5)
        try:
            self._prepare(connection)
        except sqlite3.DatabaseError as error:
            connection.close()
            if not isinstance(error, sqlite3.OperationalError):  # not a database at all: begin again
                self._path.unlink(missing_ok=True)
            raise
        return contextlib.closing(connection)

    def _as_it_is(self) -> contextlib.closing[sqlite3.Connection]:
        connection = sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", timeout=0.5, uri=True)
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
                raise sqlite3.DatabaseError(f"{self._path} is of another version")
        except sqlite3.Error:
            connection.close()
            raise
        return contextlib.closing(connection)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA synchronous = OFF")  # nothing is lost that cannot be read again
        if connection.execute("PRAGMA user_version").fetchone()[0] == _FORMAT:
            return
        connection.executescript(
            "DROP TABLE IF EXISTS runs;"
            "CREATE TABLE runs (run_id TEXT PRIMARY KEY, stamp TEXT, meta TEXT, headline TEXT, started_at TEXT,"
            f" status TEXT) WITHOUT ROWID; PRAGMA user_version = {_FORMAT};"
        )
