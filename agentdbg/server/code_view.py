"""
The lines of the reader's own code around a recorded step.

Only a file that the event itself names as its `source`, that lies under the folder the run was started in, and that is
Python source in text is read; never for a run that came from elsewhere, whose paths are not this machine's.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from agentdbg.events import Event, RunMeta

__all__ = ["SourceLines", "source_lines"]

_AROUND = 40
_LARGEST = 2_000_000


class SourceLines(TypedDict):
    """Some lines of a file; `lines` is empty where the file cannot be shown, and `reason` says why."""

    path: str
    line: int | None
    first: int
    lines: list[str]
    has_changed: bool
    reason: str | None


def source_lines(start: Event, event: Event, run: RunMeta) -> SourceLines:
    """The lines around an event's source; `start` is the run's first event, which knows its folder."""
    named = _text(event["payload"].get("source")) or ""
    name, _, number = named.rpartition(":")
    line = int(number) if name and number.isascii() and number.isdigit() else None
    answer: SourceLines = {
        "path": name if line is not None else named,
        "line": line,
        "first": 1,
        "lines": [],
        "has_changed": False,
        "reason": None if named else "This step does not say which line recorded it.",
    }
    if not named:
        return answer
    is_ours = not (run.get("metadata") or {}).get("imported_from")
    path = _inside(_text(start["payload"].get("cwd")), answer["path"]) if is_ours else None
    if path is None:
        answer["reason"] = "The code of this run is not on this machine, or lies outside the folder it was started in."
        return answer
    try:
        if path.stat().st_size > _LARGEST:
            raise OSError
        lines = path.read_text(encoding="utf-8").splitlines()
        answer["has_changed"] = path.stat().st_mtime > _seconds(run["started_at"])
    except (OSError, UnicodeError):
        answer["reason"] = f"{answer['path']} cannot be read."
        return answer
    middle = line or 1
    answer["first"] = max(1, middle - _AROUND)
    answer["lines"] = lines[answer["first"] - 1 : middle + _AROUND]
    return answer


def _inside(folder: str | None, name: str) -> Path | None:
    """The file, if it is Python source under the folder; links are followed before that is judged."""
    if not folder or not name.endswith(".py"):
        return None
    root = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(root, name))
    if root == os.path.realpath(os.sep) or not path.startswith(root + os.sep) or not os.path.isfile(path):
        return None
    return Path(path)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and "\0" not in value and len(value) < 4096 else None


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
