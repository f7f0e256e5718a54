"""
Is anybody still writing this run?

A writer holds a shared lock on events.jsonl for as long as it may write, so a reader that gets the exclusive lock knows
that the writer is gone. The lock is let go at once and never waited for. Where a file system has no such lock, the
`owner` in run.json decides: a process that no longer exists writes nothing.
"""

from __future__ import annotations

import os
import time
from typing import Any

from agentdbg.owner import is_owner_alive
from agentdbg.storage.lines import open_regular

try:
    import fcntl

    _HAS_LOCKS = True
except ImportError:  # pragma: no cover -- Windows
    _HAS_LOCKS = False

__all__ = ["is_being_written"]

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
