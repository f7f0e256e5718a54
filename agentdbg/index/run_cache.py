"""
What is known of one run, and how to tell that it is still true.

What is known of each run, kept in one small SQLite file between processes.

Everything here may fail: a locked, broken, missing or foreign file means only that runs are read again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import time
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from agentdbg.storage.layout import (
    EVENTS_FILE,
    EVENTS_GZIP_FILE,
    LABEL_FILE,
    RUN_FILE,
    make_private_folder,
    open_private,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agentdbg.events import RunMeta

__all__ = ["Row", "RunCache", "RunEntry", "files_stamp", "rules_version"]

_FILES = (RUN_FILE, LABEL_FILE, EVENTS_FILE, EVENTS_GZIP_FILE)
_FRESH_NS = 100_000_000


class RunEntry:
    """What is known of one run; the JSON of a run nobody asks for is never parsed."""

    __slots__ = ("_headed", "_headline", "_meta", "_text", "encoded", "sort_key", "stamp", "state", "status")

    def __init__(
        self,
        stamp: str,
        encoded: str,
        headline: str | None,
        started_at: str,
        status: str,
        run_id: str,
        state: str | None = None,
    ) -> None:
        self.stamp = stamp
        self.encoded = encoded
        self.status = status
        self.sort_key = (started_at, run_id)
        self.state = state
        """ok, problems, failed, running or paused: the verdict on it, made with its headline."""
        self._meta: RunMeta | None = None
        self.headline = headline

    @property
    def headline(self) -> str | None:
        return self._headline

    @headline.setter
    def headline(self, headline: str | None) -> None:
        self._headline = headline
        self._headed: bytes | None = None
        self._text: str | None = None

    @property
    def meta(self) -> RunMeta:
        if self._meta is None:
            self._meta = json.loads(self.encoded)
        return self._meta

    @property
    def headed(self) -> bytes:
        """The run with its headline and its state, as JSON."""
        if self._headed is None:
            headline, state = json.dumps(self.headline or None, ensure_ascii=False), json.dumps(self.state)
            self._headed = f'{self.encoded[:-1]},"headline":{headline},"state":{state}}}'.encode(errors="replace")
        return self._headed

    @property
    def text(self) -> str:
        """Everything a search looks at, in lower case."""
        if self._text is None:
            parts = [self.meta.get("run_name"), self.meta["run_id"], self.headline]
            metadata = self.meta.get("metadata")
            if metadata:
                parts.append(json.dumps(metadata, ensure_ascii=False))
            self._text = "\n".join(str(part) for part in parts if part).casefold()
        return self._text


def files_stamp(folder: str) -> str:
    """What changes when one of a run's files does; the folder's own time comes first. Empty for what is no folder."""
    try:
        found = os.lstat(folder)
    except OSError:
        return ""
    if not stat.S_ISDIR(found.st_mode):  # a link is no run, whatever it points at
        return ""
    # File times tick a few milliseconds apart, so a folder touched just now may change again unseen.
    is_fresh = time.time_ns() - found.st_mtime_ns < _FRESH_NS
    return ",".join(
        ["" if is_fresh else f"{found.st_mtime_ns:x}", *[_time_and_size(f"{folder}{os.sep}{name}") for name in _FILES]]
    )


def _time_and_size(path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return f"{found.st_mtime_ns:x}.{found.st_size:x}"


_SOURCES = ("analysis", "bounded", "events", "index", "loops", "storage")
"""Where in the package everything stands that has a say in what is found."""


@cache
def rules_version() -> str:
    """A text that changes with every source that has a say in what is found."""
    package = os.path.dirname(os.path.dirname(__file__))
    walked = [found for name in _SOURCES for found in os.walk(os.path.join(package, name))]
    paths = [os.path.join(folder, name) for folder, _, names in walked for name in names if name.endswith(".py")]
    digest = sha256()
    for path in sorted(paths):
        with open(path, "rb", buffering=0) as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


_FORMAT = 3
# A row that somebody else wrote, or that was damaged, is as good as none; `meta` is served as it stands.
_SELECT = (
    "SELECT run_id, stamp, meta, CASE WHEN rules = :rules THEN headline END, started_at, status,"
    " CASE WHEN rules = :rules THEN state END FROM runs WHERE typeof(meta) = 'text'"
    " AND CASE WHEN json_valid(meta) THEN json_extract(meta, '$.run_id') = run_id END"
    " AND typeof(stamp) = 'text' AND typeof(started_at) = 'text' AND typeof(status) = 'text'"
    " AND length(meta) < 4000000 AND length(stamp) + length(started_at) + length(status) < 1000"
    " AND length(coalesce(headline, '')) < 10000 AND length(coalesce(state, '')) < 20"
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
    state: str | None = None


class RunCache:
    """Rows by run id, shared by all processes that look at one data folder; one that only reads makes no file."""

    def __init__(self, path: Path, *, writes: bool = True) -> None:
        self._path = path
        self.writes = writes

    def load(self) -> list[tuple[str, str, str, str | None, str, str, str | None]]:
        """Every row, as plain tuples; none when there is nothing usable."""
        try:
            with self._connection() as connection:
                return connection.execute(_SELECT, {"rules": rules_version()}).fetchall()
        except (sqlite3.Error, OSError):
            return []

    def load_one(self, run_id: str) -> Row | None:
        """One run's row, if there is one."""
        try:
            with self._connection() as connection:
                found = connection.execute(
                    f"{_SELECT} AND run_id = :run_id", {"rules": rules_version(), "run_id": run_id}
                ).fetchone()
        except (sqlite3.Error, OSError):
            return None
        return None if found is None else Row(*found)

    def store(self, rows: Iterable[Row], removed: Iterable[str]) -> None:
        """Put rows in place and take others away, all or nothing."""
        if not self.writes:
            return
        with contextlib.suppress(sqlite3.Error, OSError), self._connection() as connection, connection:
            said = ((*row, rules_version()) for row in rows)
            connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", said)
            connection.executemany("DELETE FROM runs WHERE run_id = ?", ((run_id,) for run_id in removed))

    def _connection(self) -> contextlib.closing[sqlite3.Connection]:
        if self._path.is_symlink():
            raise OSError(f"{self._path} is a symlink")
        if not self.writes:
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
            f" status TEXT, state TEXT, rules TEXT) WITHOUT ROWID; PRAGMA user_version = {_FORMAT};"
        )
