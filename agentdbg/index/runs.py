"""
Many runs: list, filter and search them without reading them all again.

A `RunIndex` holds what is known of every run in a data folder and looks again only at runs whose files changed. What it
knows is kept in <data_dir>/index between processes: a cache that several processes may share and anyone may delete,
never the truth.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import InvalidRunId, RunNotFound
from agentdbg.index.run_cache import RunCache
from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.layout import EVENTS_FILE, EVENTS_GZIP_FILE, LABEL_FILE, RUN_FILE, index_dir, is_run_id
from agentdbg.storage.lines import open_events
from agentdbg.storage.reader import run_ids
from agentdbg.storage.runfile import read_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentdbg.events import Event, RunMeta

__all__ = ["RunFilter", "RunIndex", "RunPage"]

_FILES = (RUN_FILE, LABEL_FILE, EVENTS_FILE, EVENTS_GZIP_FILE)
_TAIL_BYTES = 128 << 10
_FRESH_NS = 100_000_000
_JUST_SEEN_S = 2.0
_LONGEST_LOG = 20_000


@dataclass(frozen=True)
class RunFilter:
    """Which runs are wanted; what is None or empty asks for nothing."""

    q: str = ""
    """Text found in the name, the id, the metadata or the headline, whatever its case; every word must be there."""
    status: str | None = None
    name: str | None = None
    since: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)
    session: str | None = None


@dataclass(frozen=True)
class RunPage:
    """Some of the runs that match, newest first, how many match in all, and how many of each status do."""

    runs: list[RunMeta]
    total: int
    counts_by_status: dict[str, int]


class _Entry:
    """What is known of one run; the JSON of a run nobody asks for is never parsed."""

    __slots__ = ("_meta", "_text", "encoded", "headline", "sort_key", "stamp", "status")

    def __init__(
        self, stamp: str, encoded: str, headline: str | None, started_at: str, status: str, run_id: str
    ) -> None:
        self.stamp = stamp
        self.encoded = encoded
        self.headline = headline
        self.status = status
        self.sort_key = (started_at, run_id)
        self._meta: RunMeta | None = None
        self._text: str | None = None

    @property
    def meta(self) -> RunMeta:
        if self._meta is None:
            self._meta = json.loads(self.encoded)
        return self._meta

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

    def forget_text(self) -> None:
        self._text = None


class RunIndex:
    """The runs of one data folder. Safe for several threads."""

    def __init__(self, data_dir: str | Path, *, keep: bool = True) -> None:
        self.data_dir = Path(data_dir)
        self._cache = RunCache(index_dir(self.data_dir) / "runs.sqlite3") if keep else None
        self._lock = threading.RLock()
        self._entries: dict[str, _Entry] = {}
        self._root_stamp: tuple[int, float] = (0, 0.0)
        self._log: deque[str] = deque(maxlen=_LONGEST_LOG)
        self._logged = 0
        self._sorted: list[str] | None = None
        if self._cache is not None:
            for run_id, stamp, encoded, headline, started_at, status in self._cache.load():
                self._entries[run_id] = _Entry(stamp, encoded, headline, started_at, status, run_id)

    def refresh(self, *, thorough: bool = True) -> tuple[list[str], list[str]]:
        """
        Look for what is new; the ids of runs that are new or changed, and of those that are gone.

        A quick look (not `thorough`) trusts that whoever changes a run replaces files, which changes its folder's time;
        runs that are still running are looked at in any case.
        """
        with self._lock:
            if not thorough and self._is_just_seen():
                return self._look_at_running()
            found = self._scan()
            removed = [run_id for run_id in self._entries if run_id not in found]
            changed = [run_id for run_id, folder_ns in found.items() if self._look(run_id, folder_ns, thorough)]
            for run_id in removed:
                del self._entries[run_id]
            changed = [run_id for run_id in changed if run_id in self._entries]
            if changed or removed:
                self._sorted = None
                self._keep(changed, removed)
            return changed, removed

    def page(self, wanted: RunFilter | None = None, limit: int | None = 200, offset: int = 0) -> RunPage:
        """Runs that match, newest first, as of the last `refresh`."""
        wanted = wanted or RunFilter()
        with self._lock:
            alike = list(self._matching(wanted))
            counts = {"all": len(alike), "error": 0, "running": 0, "ok": 0}
            for run_id in alike:
                counts[self._entries[run_id].status] = counts.get(self._entries[run_id].status, 0) + 1
            if wanted.status:
                alike = [run_id for run_id in alike if self._entries[run_id].status == wanted.status]
            end = None if limit is None else offset + limit
            return RunPage([self._entries[run_id].meta for run_id in alike[offset:end]], len(alike), counts)

    def changes_since(self, position: int | None) -> tuple[list[RunMeta], list[str], int]:
        """
        Runs that changed after a position, the ids of those that are gone, and the position now.

        None asks for the position alone. Whoever has been away for too long gets every run.
        """
        with self._lock:
            new = 0 if position is None else self._logged - position
            if new <= 0:
                return [], [], self._logged
            names = list(self._log)[-new:] if new <= len(self._log) else [*self._entries, *self._log]
            touched = dict.fromkeys(names)
            changed = [self._entries[run_id].meta for run_id in touched if run_id in self._entries]
            return changed, [run_id for run_id in touched if run_id not in self._entries], self._logged

    def get(self, run_id: str) -> RunMeta:
        """One run, looked at again if it changed; by its full id."""
        if not is_run_id(run_id):
            raise InvalidRunId(run_id)
        with self._lock:
            if run_id not in self._entries and run_id not in run_ids(self.data_dir):
                raise RunNotFound(run_id, self.data_dir)
            if self._look(run_id, None, thorough=True):
                self._sorted = None
                self._keep([run_id], [])
            if run_id not in self._entries:
                raise RunNotFound(run_id, self.data_dir)
            return self._entries[run_id].meta

    def headlines(
        self, ids: Sequence[str], *, compute: bool = True, within_s: float | None = None
    ) -> dict[str, str | None]:
        """Each run in half a line, making those that are missing while the time lasts; None where there is none."""
        made = []
        deadline = None if within_s is None else time.monotonic() + within_s
        for run_id in ids:
            with self._lock:
                entry = self._entries.get(run_id)
            has_time = compute and (deadline is None or time.monotonic() < deadline)
            if has_time and entry is not None and entry.headline is None:
                entry.headline = self._make_headline(entry.meta)
                entry.forget_text()
                made.append(run_id)
        with self._lock:
            if made:
                self._keep(made, [])
            entries = {run_id: self._entries.get(run_id) for run_id in ids}
        return {run_id: (entry.headline or None) if entry else None for run_id, entry in entries.items()}

    def lacks_headline(self, run_id: str) -> bool:
        """Whether nobody has made this run's headline yet."""
        entry = self._entries.get(run_id)
        return entry is not None and entry.headline is None

    def _is_just_seen(self) -> bool:
        """Whether all folders were looked at a moment ago and none came or went since."""
        stamp, seen_at = self._root_stamp
        return time.monotonic() - seen_at < _JUST_SEEN_S and stamp == _mtime_ns(os.path.join(self.data_dir, "runs"))

    def _look_at_running(self) -> tuple[list[str], list[str]]:
        running = [run_id for run_id, entry in self._entries.items() if entry.status == "running"]
        changed = [run_id for run_id in running if self._look(run_id, None, thorough=True)]
        if changed:
            self._sorted = None
            self._keep(changed, [])
        return [run_id for run_id in changed if run_id in self._entries], []

    def _scan(self) -> dict[str, int]:
        """The runs that are there, with their folders' times."""
        root = os.path.join(self.data_dir, "runs")
        if os.path.islink(root):
            return {}
        self._root_stamp = _mtime_ns(root), time.monotonic()
        found = {}
        try:
            with os.scandir(root) as entries:
                for entry in entries:
                    if is_run_id(entry.name) and entry.is_dir(follow_symlinks=False):
                        found[entry.name] = entry.stat(follow_symlinks=False).st_mtime_ns
        except OSError:
            pass
        return found

    def _look(self, run_id: str, folder_ns: int | None, thorough: bool) -> bool:
        """Read a run again if its files changed; whether it is different now."""
        entry = self._entries.get(run_id)
        known_folder = None if thorough or folder_ns is None else f"{folder_ns:x},"
        if entry is not None and entry.status != "running" and known_folder and entry.stamp.startswith(known_folder):
            return False
        folder = os.path.join(self.data_dir, "runs", run_id)
        stamp = _stamp(folder)
        # Whether a running run still runs is not written in its files.
        if entry is not None and entry.stamp == stamp and entry.status != "running":
            return False
        meta = read_run(folder, run_id)
        if meta is None:
            self._entries.pop(run_id, None)
            return entry is not None
        encoded = json.dumps(meta, ensure_ascii=False)
        if entry is not None and entry.encoded == encoded and entry.stamp == stamp:
            return False
        self._entries[run_id] = _Entry(stamp, encoded, None, meta["started_at"], meta["status"], run_id)
        return True

    def _keep(self, changed: list[str], removed: list[str]) -> None:
        self._log.extend([*changed, *removed])
        self._logged += len(changed) + len(removed)
        if self._cache is None:
            return
        rows = []
        for run_id in changed:
            entry = self._entries.get(run_id)
            if entry is not None:
                rows.append((run_id, entry.stamp, entry.encoded, entry.headline, entry.sort_key[0], entry.status))
        self._cache.store(rows, removed)

    def _matching(self, wanted: RunFilter) -> Iterable[str]:
        if self._sorted is None:
            self._sorted = sorted(self._entries, key=lambda run_id: self._entries[run_id].sort_key, reverse=True)
        words = wanted.q.casefold().split()
        for run_id in self._sorted:
            entry = self._entries[run_id]
            if wanted.since and entry.sort_key[0] < wanted.since:
                break
            if words and not all(word in entry.text for word in words):
                continue
            if (wanted.name or wanted.meta or wanted.session) and not _fits(entry.meta, wanted):
                continue
            yield run_id

    def _make_headline(self, meta: RunMeta) -> str:
        from agentdbg.analysis.headline import headline_from_tail  # noqa: PLC0415 -- a list of names needs no headlines

        folder = os.path.join(self.data_dir, "runs", meta["run_id"])
        events, is_whole = _tail(folder, meta["run_id"])
        return headline_from_tail(meta, events, whole=is_whole) or ""


def _fits(meta: RunMeta, wanted: RunFilter) -> bool:
    metadata: dict[str, Any] = meta.get("metadata") or {}
    if wanted.name and wanted.name.casefold() not in (meta["run_name"] or "").casefold():
        return False
    if wanted.session and str(metadata.get("session_id")) != wanted.session:
        return False
    return all(_has(metadata.get(key), value) for key, value in wanted.meta.items())


def _has(value: Any, wanted: str) -> bool:
    """Whether a metadata value is the wanted text, or a list that holds it (tags)."""
    if isinstance(value, list):
        return any(_has(item, wanted) for item in value)
    return wanted in (str(value), json.dumps(value)) if value is not None else wanted == "null"


def _stamp(folder: str) -> str:
    """What changes when one of a run's files does; the folder's own time comes first."""
    folder_time = _time_and_size(folder).partition(".")[0]
    # File times tick a few milliseconds apart, so a folder touched just now may change again unseen.
    is_fresh = bool(folder_time) and time.time_ns() - int(folder_time, 16) < _FRESH_NS
    return ",".join(["" if is_fresh else folder_time, *(_time_and_size(os.path.join(folder, name)) for name in _FILES)])


def _time_and_size(path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return f"{found.st_mtime_ns:x}.{found.st_size:x}"


def _tail(folder: str, run_id: str) -> tuple[list[Event], bool]:
    """A run's last events, and whether those are all of them."""
    file = open_events(folder)
    if file is None:
        return [], True
    with file:
        size = file.seek(0, os.SEEK_END) if not _is_packed(folder) else _TAIL_BYTES
        start = max(0, size - _TAIL_BYTES)
        file.seek(start)
        data = b""
        while len(data) < _TAIL_BYTES and (chunk := file.read(_TAIL_BYTES - len(data))):
            data += chunk
    lines = data.split(b"\n")
    found = (_event_or_none(line, run_id) for line in (lines[1:] if start else lines))
    return [event for event in found if event is not None], start == 0


def _event_or_none(line: bytes, run_id: str) -> Event | None:
    try:
        return parse_event(line, run_id)
    except DamagedLine:
        return None


def _mtime_ns(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _is_packed(folder: str) -> bool:
    return not os.path.lexists(os.path.join(folder, EVENTS_FILE))
