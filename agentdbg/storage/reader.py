"""
Stored runs and events, for anyone who reads them.

Everything here is tolerant: a torn line never hides another line, a broken run never hides another run, and what other
writers left is read as if it were ours. Nothing is written and no symlink is followed. Runs are named by their id, by
the unique beginning of one, or by `latest`; no path is ever built from a name that was not found by looking.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from agentdbg.config import resolve_data_dir
from agentdbg.exceptions import AmbiguousRun, EventNotFound, InvalidRunId, RunNotFound, UnsupportedSpecVersion
from agentdbg.storage.dialects import DamagedLine, parse_event, timestamp_ms
from agentdbg.storage.layout import check_data_dir, is_run_id
from agentdbg.storage.lines import iter_lines, open_events
from agentdbg.storage.runfile import read_run, rebuild_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.events import Event, RunMeta
    from agentdbg.storage.runfile import Recount

__all__ = [
    "default_data_dir",
    "events_in",
    "find_run",
    "get_event",
    "list_runs",
    "load_events",
    "load_run_meta",
    "program_of",
    "run_folder",
    "run_ids",
]

# Folder times tick more coarsely than clocks are read, and copies between machines add their own difference.
_CLOCK_SLACK_MS = 5_000
_MOST_PROCESSES = 20
_ID_CHARACTERS = frozenset("0123456789abcdef-")


def list_runs(limit: int | None = None, data_dir: str | Path | None = None) -> list[RunMeta]:
    """Every stored run, newest first; at most `limit` of them."""
    root = _data_dir(data_dir)
    runs = []
    for run_id in run_ids(root):
        meta = read_run(_folder(root, run_id), run_id)
        if meta is not None:
            runs.append(meta)
    runs.sort(key=_start_of, reverse=True)
    return runs if limit is None else runs[: max(0, limit)]


def load_run_meta(run: str, data_dir: str | Path | None = None) -> RunMeta:
    """What run.json says of one run, with a user's new name laid over it; rebuilt from its events where need be."""
    return _meta(find_run(run, _data_dir(data_dir)), _data_dir(data_dir), rebuild_run)


def _meta(run_id: str, root: Path, recount: Recount) -> RunMeta:
    meta = read_run(_folder(root, run_id), run_id, recount)
    if meta is None:
        raise RunNotFound(run_id, root)
    if not _is_readable(meta):
        raise UnsupportedSpecVersion(run_id, meta["spec_version"])
    return meta


def load_events(run: str, data_dir: str | Path | None = None) -> Iterator[Event]:
    """
    A run's events one by one, in file order; damaged lines are left out.

    Memory does not grow with the file. What makes no sense to ask raises here, not at the first event.
    """
    root = _data_dir(data_dir)
    run_id = find_run(run, root)
    _meta(run_id, root, partial(rebuild_run, only_first=True))
    return _iter_events(_folder(root, run_id), run_id)


def get_event(run: str, event_id: str, data_dir: str | Path | None = None) -> Event:
    """One event by its id."""
    root = _data_dir(data_dir)
    run_id = find_run(run, root)
    for event in load_events(run_id, root):
        if event["event_id"] == event_id:
            return event
    raise EventNotFound(event_id, run_id)


def find_run(wanted: str, data_dir: str | Path | None = None) -> str:
    """The id of the one run meant by a full id, the beginning of one, or `latest`."""
    root = _data_dir(data_dir)
    if wanted == "latest":
        return _latest(root)
    prefix = str(wanted).strip().lower()
    if not prefix or len(prefix) > 36 or not _ID_CHARACTERS.issuperset(prefix):
        raise InvalidRunId(str(wanted))
    matches = sorted(run_id for run_id in run_ids(root) if run_id.startswith(prefix))
    if not matches:
        raise RunNotFound(wanted, root)
    if len(matches) > 1:
        raise AmbiguousRun(wanted, matches)
    return matches[0]


def _latest(root: Path) -> str:
    """The run that started last, found by reading only those that could be: no run starts after its last change."""
    changed_at = [(_mtime(_folder(root, run_id)), run_id) for run_id in run_ids(root)]
    latest: RunMeta | None = None
    latest_ms = 0
    for mtime, run_id in sorted(changed_at, reverse=True):
        if mtime * 1000 < latest_ms - _CLOCK_SLACK_MS:
            break
        meta = read_run(_folder(root, run_id), run_id)
        if meta is not None and (latest is None or _start_of(meta) > _start_of(latest)):
            latest, latest_ms = meta, timestamp_ms(meta["started_at"])
    if latest is None:
        raise RunNotFound("latest", root)
    return program_of(latest, root)


def _start_of(meta: RunMeta) -> tuple[str, str]:
    return meta["started_at"], meta["run_id"]


def program_of(meta: RunMeta, data_dir: str | Path) -> str:
    """
    The id of the run of the program that this one belongs to: a child process's belongs to who started the process.

    An agent starts Python for its tools too, and nobody who asks for the latest run means one of these.
    """
    root = _data_dir(data_dir)
    for _ in range(_MOST_PROCESSES):
        parent = _parent(meta, root)
        if parent is None or meta.get("owner") == parent.get("owner"):
            break
        meta = parent
    return meta["run_id"]


def _parent(meta: RunMeta, root: Path) -> RunMeta | None:
    run_id = (meta.get("metadata") or {}).get("parent_run_id")
    return read_run(_folder(root, run_id), run_id) if isinstance(run_id, str) and is_run_id(run_id) else None


def run_ids(data_dir: str | Path) -> list[str]:
    """The ids of the runs in a data folder, in no order: real folders with a canonical id for a name."""
    root = os.path.join(data_dir, "runs")
    if os.path.islink(root):
        return []
    try:
        with os.scandir(root) as entries:
            return [entry.name for entry in entries if is_run_id(entry.name) and entry.is_dir(follow_symlinks=False)]
    except OSError:
        check_data_dir(data_dir)
        return []


def run_folder(run_id: str, data_dir: str | Path) -> Path:
    """Where one run's files are; RunNotFound unless it is among the runs found by looking."""
    if not is_run_id(run_id):
        raise InvalidRunId(run_id)
    for found in run_ids(data_dir):
        if found == run_id:
            return Path(_folder(data_dir, found))
    raise RunNotFound(run_id, Path(data_dir))


def default_data_dir() -> Path:
    """The data folder that the settings name; DataFolderUnusable when it can be none."""
    data_dir = Path(resolve_data_dir())
    check_data_dir(data_dir)
    return data_dir


def _data_dir(given: str | Path | None) -> Path:
    return default_data_dir() if given is None else Path(given)


def _folder(data_dir: str | Path, run_id: str) -> str:
    return os.path.join(data_dir, "runs", run_id)


def _mtime(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _is_readable(meta: RunMeta) -> bool:
    return meta["spec_version"].startswith("0")


def _iter_events(folder: str, run_id: str) -> Iterator[Event]:
    file = open_events(folder)
    if file is not None:
        with file:
            yield from events_in(file, run_id)


def events_in(file: BinaryIO, run_id: str) -> Iterator[Event]:
    """The events of an open file, from its beginning, in order; damaged lines are left out."""
    previous: dict[str, Any] = {}
    for offset, line in iter_lines(file):
        if line is None or not line.strip():
            continue
        try:
            event = parse_event(line, run_id, offset, **previous)
        except DamagedLine:
            continue
        previous["fallback_ts"] = event["ts"]
        yield event
