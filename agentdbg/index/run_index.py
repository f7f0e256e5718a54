"""
Many runs: list, filter and search them without reading them all again.

A `RunIndex` holds what is known of every run in a data folder and looks again only at runs whose files changed. What it
knows is kept in <data_dir>/index between processes: a cache that several processes may share and anyone may delete,
never the truth.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import InvalidRunId, RunNotFound, UnsupportedSpecVersion
from agentdbg.index.run_cache import Row, RunCache, RunEntry, files_stamp
from agentdbg.index.run_query import RunQuery, unknown_key_advice
from agentdbg.storage.control_files import paused_in
from agentdbg.storage.dialects import is_supported_version
from agentdbg.storage.layout import index_dir, is_run_id
from agentdbg.storage.reader import default_data_dir, find_run, run_ids
from agentdbg.storage.runfile import read_run, rebuild_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agentdbg.events import RunMeta

__all__ = ["RunFilter", "RunIndex", "RunPage", "load_run_meta"]

_JUST_SEEN_S = 2.0
_LONGEST_LOG = 20_000
_AT_ONCE = 1_000


@dataclass(frozen=True)
class RunFilter:
    """Which runs are wanted; what is None or empty asks for nothing."""

    q: str = ""
    """Words found in the name, the id, the metadata or the headline, whatever their case, and `key=value` terms."""
    status: str | None = None
    """ok, error, running, or `problems`: ended by itself, and the verdict is another."""
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


class RunIndex:
    """The runs of one data folder. Safe for several threads. Without `keep` nothing is written, not even the cache."""

    def __init__(self, data_dir: str | Path, *, keep: bool = True) -> None:
        self.data_dir = Path(data_dir)
        self._cache = RunCache(index_dir(self.data_dir) / "runs.sqlite3", writes=keep)
        self._lock = threading.RLock()
        self._refreshing = threading.Lock()
        self._entries: dict[str, RunEntry] = {}
        self._running: set[str] = set()
        self._by_status: Counter[str] = Counter()
        self._root = os.path.join(self.data_dir, "runs")
        self._root_ns = 0
        self._looked_at = float("-inf")
        self._log: deque[str] = deque(maxlen=_LONGEST_LOG)
        self._logged = 0
        self._sorted: list[str] | None = None
        for run_id, stamp, encoded, headline, started_at, status, state in self._cache.load():
            self._put(run_id, RunEntry(stamp, encoded, headline, started_at, status, run_id, state))

    def refresh(
        self, *, thorough: bool = True, progress: Callable[[float], None] | None = None
    ) -> tuple[list[str], list[str]]:
        """
        Look for what is new; the ids of runs that are new or changed, and of those that are gone.

        A quick look (not `thorough`) trusts that whoever changes a run replaces files, which changes its folder's time,
        and asks for those times every other second. `progress` is told how much is done, from 0 to 1.
        """
        if not thorough and not self.is_due():
            return self.glance()
        with self._refreshing:
            changed, removed = self._look_around(with_times=True, thorough=thorough, progress=progress)
            self._looked_at = time.monotonic()
            return changed, removed

    def glance(self) -> tuple[list[str], list[str]]:
        """Look only for runs that came or went, and at those that are still running; the same answer."""
        if _mtime_ns(self._root) != self._root_ns:
            return self._look_around(with_times=False)
        return self._look_at(list(self._running)), []

    def is_due(self) -> bool:
        """Whether it is time again to look at every folder, which takes a moment when there are thousands."""
        return time.monotonic() - self._looked_at > _JUST_SEEN_S

    def is_known(self) -> bool:
        """Whether every folder has been looked at once."""
        return self._looked_at > float("-inf")

    def page(self, wanted: RunFilter | None = None, limit: int | None = 200, offset: int = 0) -> RunPage:
        """Runs that match, newest first, as of the last `refresh`."""
        wanted = wanted or RunFilter()
        with self._lock:
            alike = self._matching(wanted)
            by_status = self._by_status
            if alike is not self._sorted:
                by_status = Counter(self._entries[run_id].status for run_id in alike)
            counts = {"all": len(alike), "error": 0, "running": 0, "ok": 0, **+by_status}
            counts["problems"] = sum(self._entries[run_id].state == "problems" for run_id in alike)
            if wanted.status:
                alike = [run_id for run_id in alike if self._has_status(run_id, wanted.status)]
            end = None if limit is None else offset + limit
            return RunPage([self._entries[run_id].meta for run_id in alike[offset:end]], len(alike), counts)

    def advice(self, query: str) -> str | None:
        """What to say of a query that finds nothing because no run has its key."""
        with self._lock:
            runs = [entry.meta for entry in list(self._entries.values())[:2_000]]
        for term in RunQuery(query).terms:
            advice = unknown_key_advice(term.key, runs) if term.key != "is" else None
            if advice is not None:
                return advice
        return None

    def lacking(self, text: str) -> list[tuple[RunMeta, list[str]]]:
        """Runs that have what the terms of a query ask for but not all of its words, and those words; newest first."""
        query = RunQuery(text)
        words, query.words = query.words, []
        with self._lock:
            entries = [self._entries[run_id] for run_id in self._filtered(self._newest_first(), RunFilter(), query)]
            lacked = [[word for word in words if word.casefold() not in entry.text] for entry in entries]
            return [(entry.meta, some) for entry, some in zip(entries, lacked, strict=True) if some]

    def _has_status(self, run_id: str, status: str) -> bool:
        """Whether a run stands like this; `problems` is a verdict, known of runs whose headline was made."""
        entry = self._entries[run_id]
        return (entry.state if status == "problems" else entry.status) == status

    def states(self, ids: Iterable[str]) -> dict[str, str | None]:
        """The verdict on each run that has been looked into: ok, problems, failed, running or paused."""
        with self._lock:
            return {run_id: entry.state for run_id in ids if (entry := self._entries.get(run_id)) is not None}

    def encoded(self, ids: Iterable[str]) -> bytes:
        """Runs with their headlines as a JSON array, each made once; those that are gone are left out."""
        with self._lock:
            found = [self._entries[run_id].headed for run_id in ids if run_id in self._entries]
        return b"[" + b",".join(found) + b"]"

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
        if os.path.islink(self._root) or (run_id not in self._entries and run_id not in run_ids(self.data_dir)):
            raise RunNotFound(run_id, self.data_dir)
        if self._look(run_id):
            self._keep([run_id])
        entry = self._entries.get(run_id)
        if entry is None:
            raise RunNotFound(run_id, self.data_dir)
        return entry.meta

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
                with contextlib.suppress(RunNotFound):  # deleted meanwhile
                    self._judge(entry)
                    made.append(run_id)
        self._keep(made)
        with self._lock:
            entries = {run_id: self._entries.get(run_id) for run_id in ids}
        return {run_id: (entry.headline or None) if entry else None for run_id, entry in entries.items()}

    def note_state(self, run: RunMeta, state: str) -> None:
        """Somebody looked into a run: know the verdict from now on, unless the run has changed meanwhile."""
        entry = self._entries.get(run["run_id"])
        if entry is not None and entry.headline is not None and entry.state != state and entry.meta == run:
            entry.state, entry.headline = state, entry.headline
            self._keep([run["run_id"]])

    def lacks_headline(self, run_id: str) -> bool:
        """Whether nobody has made this run's headline yet."""
        entry = self._entries.get(run_id)
        return entry is not None and entry.headline is None

    def _look_around(
        self, *, with_times: bool, thorough: bool = False, progress: Callable[[float], None] | None = None
    ) -> tuple[list[str], list[str]]:
        root_ns = _mtime_ns(self._root)
        known = list(self._entries)  # before looking: what another thread finds meanwhile is not gone
        found = self._scan(with_times=with_times)
        suspects = [run_id for run_id, ns in found.items() if thorough or self._may_differ(run_id, ns)]
        changed = self._look_at(suspects, progress)
        removed = [run_id for run_id in known if run_id not in found]
        for run_id in removed:
            self._put(run_id, None)
        self._keep([], removed)
        self._root_ns = root_ns
        return changed, removed

    def _look_at(self, ids: list[str], progress: Callable[[float], None] | None = None) -> list[str]:
        """Read those again that changed, and give their ids; what is read is kept now and then."""
        changed: list[str] = []
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            news = []
            for number, run_id in enumerate(some, start + 1):
                if self._look(run_id):
                    news.append(run_id)
                if progress is not None:
                    progress(number / len(ids))
            self._keep(news)
            changed += [run_id for run_id in news if run_id in self._entries]
        return changed

    def _scan(self, *, with_times: bool) -> dict[str, int | None]:
        """The runs that are there, with their folders' times if those are asked for."""
        found: dict[str, int | None] = {}
        if os.path.islink(self._root):
            return found
        try:
            with os.scandir(self._root) as folders:
                for folder in folders:
                    run_id = folder.name
                    if (run_id in self._entries or is_run_id(run_id)) and folder.is_dir(follow_symlinks=False):
                        found[run_id] = folder.stat(follow_symlinks=False).st_mtime_ns if with_times else None
        except OSError:
            pass
        return found

    def _may_differ(self, run_id: str, folder_ns: int | None) -> bool:
        """Whether a run has to be looked at, judged by its folder's time where that is known."""
        entry = self._entries.get(run_id)
        if entry is None or entry.status == "running":
            return True
        return folder_ns is not None and not entry.stamp.startswith(f"{folder_ns:x},")

    def _look(self, run_id: str) -> bool:
        """Read a run again if its files changed; whether it is different now."""
        entry = self._entries.get(run_id)
        folder = f"{self._root}{os.sep}{run_id}"
        stamp = files_stamp(folder)
        # Whether a running run still runs is not written in its files.
        if stamp and entry is not None and entry.stamp == stamp and entry.status != "running":
            return False
        meta = read_run(folder, run_id) if stamp else None
        if meta is None:
            self._put(run_id, None)
            return entry is not None
        if meta["status"] == "running":
            # A pause comes and goes without a word in the files of the run.
            stamp += "".join(f",{pause['pause_id']}" for pause in paused_in(folder))
        encoded = json.dumps(meta, ensure_ascii=False)
        if entry is not None and entry.encoded == encoded and entry.stamp == stamp:
            return False
        self._put(run_id, RunEntry(stamp, encoded, None, meta["started_at"], meta["status"], run_id))
        return True

    def _put(self, run_id: str, entry: RunEntry | None) -> None:
        """Know this of a run from now on; None when there is nothing to know."""
        with self._lock:
            before = self._entries.get(run_id)
            if before is not None:
                self._by_status[before.status] -= 1
            self._running.discard(run_id)
            if entry is None:
                self._entries.pop(run_id, None)
            else:
                self._entries[run_id] = entry
                self._by_status[entry.status] += 1
                if entry.status == "running":
                    self._running.add(run_id)
            if before is None or entry is None or before.sort_key != entry.sort_key:
                self._sorted = None

    def _keep(self, changed: list[str], removed: Sequence[str] = ()) -> None:
        """Tell those who follow, and the next process."""
        if not changed and not removed:
            return
        with self._lock:
            self._log.extend([*changed, *removed])
            self._logged += len(changed) + len(removed)
            entries = [(run_id, self._entries[run_id]) for run_id in changed if run_id in self._entries]
        self._cache.store(
            [
                Row(run_id, entry.stamp, entry.encoded, entry.headline, entry.sort_key[0], entry.status, entry.state)
                for run_id, entry in entries
            ],
            removed,
        )

    def _matching(self, wanted: RunFilter) -> list[str]:
        newest_first = self._newest_first()
        if not (wanted.q.strip() or wanted.since or wanted.name or wanted.meta or wanted.session):
            return newest_first
        return list(self._filtered(newest_first, wanted, RunQuery(wanted.q)))

    def _newest_first(self) -> list[str]:
        if self._sorted is None:
            keys = sorted(map(attrgetter("sort_key"), self._entries.values()), reverse=True)
            self._sorted = [run_id for _, run_id in keys]
        return self._sorted

    def _filtered(self, ids: list[str], wanted: RunFilter, query: RunQuery) -> Iterator[str]:
        since = max(wanted.since or "", query.since or "")
        words = [word.casefold() for word in query.words]
        for run_id in ids:
            entry = self._entries[run_id]
            if since and entry.sort_key[0] < since:
                break
            if not all(word in entry.text for word in words):
                continue
            if query.terms and not query.fits(entry.meta):
                continue
            if (wanted.name or wanted.meta or wanted.session) and not _fits(entry.meta, wanted):
                continue
            yield run_id

    def _judge(self, entry: RunEntry) -> None:
        """Say how it went, and why: a list of names needs neither, nor what finds it out."""
        from agentdbg.index import run_state  # noqa: PLC0415 -- see above

        folder = os.path.join(self._root, entry.meta["run_id"])
        entry.state = run_state.state_of(entry.meta, folder, self.data_dir, keep=self._cache.writes)
        entry.headline = run_state.headline_of(entry.meta, folder)


def load_run_meta(run: str, data_dir: str | Path | None = None) -> RunMeta:
    """
    What is known of one run, by its id, the beginning of one, or `latest`.

    The same as `storage.load_run_meta`, but the events of a run that nobody closed are counted once and not every time.
    """
    root = default_data_dir() if data_dir is None else Path(data_dir)
    run_id = find_run(run, root)
    folder = os.path.join(root, "runs", run_id)
    cache = RunCache(index_dir(root) / "runs.sqlite3")
    counted: list[RunMeta] = []

    def recount_once(folder: str, run_id: str, owner: Any) -> RunMeta:
        counted.append(rebuild_run(folder, run_id, owner))
        return counted[-1]

    known = cache.load_one(run_id)
    if known is not None and known.stamp == files_stamp(folder) and known.status != "running":
        meta: RunMeta | None = json.loads(known.meta)
    else:
        stamp = files_stamp(folder)
        meta = read_run(folder, run_id, recount_once)
        if meta is not None and counted:
            encoded = json.dumps(meta, ensure_ascii=False)
            cache.store([Row(run_id, stamp, encoded, None, meta["started_at"], meta["status"])], [])
    if meta is None:
        raise RunNotFound(run, root)
    if not is_supported_version(meta["spec_version"]):
        raise UnsupportedSpecVersion(run_id, meta["spec_version"])
    return meta


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


def _mtime_ns(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0
