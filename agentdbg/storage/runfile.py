"""
What is known of one run without reading all of it: run.json, or what its events say.

run.json is a cache. When it is missing, broken or of another run, everything in it is counted again from the events.
When it says `running` although nobody writes any more, the events say how far the run came, and `status_reason` says
that the process ended. A user's new name and mark (label.json) are laid over either.

Is anybody still writing this run?

A writer holds a shared lock on events.jsonl for as long as it may write, so a reader that gets the exclusive lock knows
that the writer is gone. The lock is let go at once and never waited for. Where a file system has no such lock, the
`owner` in run.json decides: a process that no longer exists writes nothing.
"""

from __future__ import annotations

import json
import math
import os
import time
from typing import TYPE_CHECKING, Any, cast

from agentdbg.events import SPEC_VERSION, Counts, RunMeta, utc_timestamp
from agentdbg.owner import is_owner_alive
from agentdbg.storage.dialects import is_supported_version, parse_timestamp, plain_status
from agentdbg.storage.layout import LABEL_FILE, RUN_FILE
from agentdbg.storage.lines import events_path, iter_lines, open_events, open_regular, read_regular
from agentdbg.storage.tally import COUNTERS, Tally, is_count, later_format_reason, milliseconds_between

if TYPE_CHECKING:
    from collections.abc import Callable

    Recount = Callable[[str, str, Any], RunMeta]
    """Counts the run in a folder: its id, and the owner run.json names."""

__all__ = [
    "is_being_written",
    "read_object",
    "read_run",
    "rebuild_run",
    "run_from_json",
]

_LARGEST_RUN_JSON = 2_000_000
"""Ours hold the metadata of one event, which ends at 1 MB."""
_SPENT = ("total_tokens", "cost_usd")
"""Totals that older writers leave out of run.json; in one order, since tables are named by what is read here."""
_OPTIONAL: dict[str, type | tuple[type, ...]] = {
    "event_counts": dict,
    "total_tokens": int,
    "cost_usd": (int, float),
    "loop_cost_usd": (int, float),
    "guardrails": dict,
    "metadata": dict,
    "agentdbg_version": str,
    "redaction": str,
    "dropped_events": int,
    "replay": dict,
    "owner": dict,
    "status_reason": str,
    "damaged_lines": int,
}


def read_run(folder: str, run_id: str, recount: Recount | None = None) -> RunMeta | None:
    """
    Everything known of the run in `folder`; None when there is neither a run.json nor an event file.

    Never raises for what the files hold. A run in a later format is given with its `spec_version` and a status_reason.
    `recount` counts the events where run.json cannot be believed; the default does nothing else.
    """
    recount = recount or rebuild_run
    raw = read_object(os.path.join(folder, RUN_FILE))
    meta = run_from_json(raw, run_id) if raw is not None else None
    if meta is None:
        if raw is None and not os.path.lexists(os.path.join(folder, RUN_FILE)) and events_path(folder) is None:
            return None
        meta = recount(folder, run_id, raw.get("owner") if raw else None)
    elif meta["status"] == "running":
        if not is_being_written(events_path(folder), meta.get("owner")):
            meta = _closed(recount(folder, run_id, meta.get("owner")), meta)
    elif raw is not None and (missing := _not_told(raw, meta)) and events_path(folder) is not None:
        counted: Any = recount(folder, run_id, meta.get("owner"))
        meta = cast("RunMeta", {**meta, **{key: counted.get(key) for key in missing}})
    label = read_label(folder)
    name, mark = label.get("run_name"), label.get("mark")
    if isinstance(name, str) and name:
        meta["run_name"] = name
    if isinstance(mark, dict) and mark.get("outcome") in ("passed", "failed"):
        meta["mark"] = {"outcome": mark["outcome"], "why": str(mark.get("why") or "")}
    return meta


def rebuild_run(folder: str, run_id: str, owner: Any = None, *, only_first: bool = False) -> RunMeta:
    """What run.json would say, counted from the events; with `only_first` from the first that can be read alone."""
    tally = Tally(run_id)
    file = open_events(folder)
    if file is not None:
        with file:
            for offset, line in iter_lines(file):
                tally.add(line, offset)
                if only_first and tally.has_begun:
                    break
    return tally.result(is_being_written(events_path(folder), owner), _folder_time(folder))


def read_label(folder: str) -> dict[str, Any]:
    """What a user said of the run afterwards: its new name, whether it did its task."""
    return read_object(os.path.join(folder, LABEL_FILE)) or {}


def read_object(path: str) -> dict[str, Any] | None:
    """The JSON object in a small file, such as run.json; None for anything else that may be there."""
    try:
        text = read_regular(path, _LARGEST_RUN_JSON + 1)
        if len(text) > _LARGEST_RUN_JSON:
            return None
        value = _decoder.decode(text.decode("utf-8-sig"))
        if b"\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair could not be served on
    except (OSError, ValueError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large a number to be served on")
    return number


_decoder = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite)


def run_from_json(raw: dict[str, Any], run_id: str) -> RunMeta | None:
    """run.json in the strict form; None when a required field is unusable, so that the events must be asked."""
    spec_version = raw.get("spec_version", SPEC_VERSION)
    started_at = parse_timestamp(raw.get("started_at"))
    if not is_supported_version(spec_version):
        return _of_later_format(raw, run_id, str(spec_version), started_at)
    ended_at, last_event_ts = parse_timestamp(raw.get("ended_at")), parse_timestamp(raw.get("last_event_ts"))
    counts = _counts(raw)
    status = _run_status(raw.get("status"))
    if raw.get("run_id", run_id) != run_id or started_at is None or counts is None or status is None:
        return None
    if status != "running" and ended_at is None:
        return None
    duration_ms, run_name = raw.get("duration_ms"), raw.get("run_name")
    if status != "running" and not is_count(duration_ms):
        duration_ms = milliseconds_between(started_at, ended_at)
    meta: dict[str, Any] = {
        "spec_version": str(spec_version),
        "run_id": run_id,
        "run_name": run_name if isinstance(run_name, str) else None,
        "started_at": started_at,
        "ended_at": ended_at,
        "duration_ms": duration_ms if is_count(duration_ms) else None,
        "status": status,
        "counts": counts,
        "last_event_ts": last_event_ts or ended_at,
    }
    for key, kind in _OPTIONAL.items():
        value = raw.get(key)
        is_negative = isinstance(value, (int, float)) and value < 0
        if isinstance(value, kind) and not isinstance(value, bool) and not is_negative:
            meta[key] = value
        elif key in raw and value is None and key in _SPENT:
            meta[key] = None
    return cast("RunMeta", meta)


def _not_told(raw: dict[str, Any], meta: RunMeta) -> list[str]:
    """The totals that only the events know: those of older writers, who counted events by type and no tokens."""
    missing = [key for key in _SPENT if key not in meta] if meta["counts"]["llm_calls"] else []
    return missing if isinstance(raw.get("counts"), dict) else ["counts", *missing]


def _of_later_format(raw: dict[str, Any], run_id: str, spec_version: str, started_at: str | None) -> RunMeta:
    run_name = raw.get("run_name")
    return {
        "spec_version": spec_version,
        "run_id": run_id,
        "run_name": run_name if isinstance(run_name, str) else None,
        "started_at": started_at or "1970-01-01T00:00:00.000Z",
        "ended_at": parse_timestamp(raw.get("ended_at")),
        "duration_ms": None,
        "status": "error",
        "counts": _no_counts(),
        "last_event_ts": None,
        "status_reason": later_format_reason(spec_version),
    }


def _run_status(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    word = value.strip().lower()
    if word in ("running", "active", "in_progress", "started"):
        return "running"
    status = plain_status(word)
    # A word we do not know says nothing, and plain_status would call it ok.
    return status if status == "error" or plain_status(word, has_error=True) == "ok" else None


def _counts(raw: dict[str, Any]) -> Counts | None:
    given, by_type = raw.get("counts"), raw.get("event_counts")
    if isinstance(given, dict):
        counts = {counter: given.get(counter, 0) for counter in COUNTERS.values()}
        return cast("Counts", counts) if all(map(is_count, counts.values())) else None
    if isinstance(by_type, dict) and all(is_count(by_type.get(kind, 0)) for kind in COUNTERS):
        return cast("Counts", {counter: by_type.get(kind, 0) for kind, counter in COUNTERS.items()})
    return None


def _no_counts() -> Counts:
    return {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}


def _folder_time(folder: str) -> str:
    try:
        return utc_timestamp(os.lstat(folder).st_mtime)
    except (OSError, ValueError, OverflowError):
        return "1970-01-01T00:00:00.000Z"


def _closed(counted: RunMeta, cached: RunMeta) -> RunMeta:
    """A run nobody writes any more: how it stands by its events, what else run.json knew kept."""
    known: dict[str, Any] = {key: value for key, value in cached.items() if key in _OPTIONAL or key == "run_name"}
    found = {key: value for key, value in counted.items() if value is not None}
    return cast("RunMeta", {**counted, **known, **found, "started_at": cached["started_at"]})


try:
    import fcntl

    _HAS_LOCKS = True
except ImportError:  # pragma: no cover -- Windows
    _HAS_LOCKS = False


_JUST_NOW_SECONDS = 1.0
# Without a lock and without an owner, silence for this long is all there is to go by.
_SILENCE_SECONDS = 600.0


def is_being_written(events_path: str | None, owner: Any, now: float | None = None) -> bool:
    """Whether some process still holds the run whose events are at `events_path`."""
    owner_lives = is_owner_alive(owner)
    if events_path is None:
        return owner_lives is True
    if events_path.endswith(".gz"):
        return False
    silence, size = _last_write(events_path, time.time() if now is None else now)
    # A writer that has just written needs no asking, and one that is just opening its file is left in peace. Where no
    # owner is named, a file with events in it is asked: its writer took the lock before the first of them.
    if silence < _JUST_NOW_SECONDS and (owner_lives or (owner_lives is None and not (size and _HAS_LOCKS))):
        return True
    held = _is_locked(events_path)
    if held is not None:
        return held
    return silence < _SILENCE_SECONDS if owner_lives is None else owner_lives


def _is_locked(path: str) -> bool | None:
    """Whether a writer holds the file; None where that cannot be known."""
    if not _HAS_LOCKS:
        return None
    held = _try_lock(path)
    if held:  # another reader may be asking in the same instant, so one refusal is not yet a writer
        time.sleep(0.002)
        held = _try_lock(path)
    return held


def _try_lock(path: str) -> bool | None:
    try:
        with open_regular(path) as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


def _last_write(path: str, now: float) -> tuple[float, int]:
    """How many seconds ago the file was written to, and how large it is."""
    try:
        status = os.lstat(path)
    except OSError:
        return _SILENCE_SECONDS, 0
    return max(0.0, now - status.st_mtime), status.st_size
