"""
What is known of each run, kept in one small SQLite file between processes.

Everything here may fail: a locked, broken, missing or foreign file means only that runs are read again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING

from agentdbg.storage.layout import make_private_folder, open_private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["RunCache"]

_FORMAT = 1
Row = tuple[str, str, str, "str | None", str, str]
"""run_id, stamp of its files, its meta as JSON, headline, started_at, status."""


class RunCache:
    """Rows by run id, shared by all processes that look at one data folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[Row]:
        """Every row; none when there is nothing usable."""
        try:
            with self._connection() as connection:
                return list(connection.execute("SELECT run_id, stamp, meta, headline, started_at, status FROM runs"))
        except (sqlite3.Error, OSError):
            return []

    def store(self, rows: Iterable[Row], removed: Iterable[str]) -> None:
        """Put rows in place and take others away, all or nothing."""
        with contextlib.suppress(sqlite3.Error, OSError), self._connection() as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.executemany("DELETE FROM runs WHERE run_id = ?", ((run_id,) for run_id in removed))

    def _connection(self) -> contextlib.closing[sqlite3.Connection]:
        if self._path.is_symlink():
            raise OSError(f"{self._path} is a symlink")
        if not self._path.exists():
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

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA user_version").fetchone()[0] == _FORMAT:
            return
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(
            "DROP TABLE IF EXISTS runs;"
            "CREATE TABLE runs (run_id TEXT PRIMARY KEY, stamp TEXT, meta TEXT, headline TEXT, started_at TEXT,"
            f" status TEXT) WITHOUT ROWID; PRAGMA user_version = {_FORMAT};"
        )
