"""
A run in a file of its own: what `agentdbg export` wrote, or the log or the whole folder of a run from elsewhere.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.bounded import TooMuch
from agentdbg.bounded.files import read_all
from agentdbg.bounded.json_size import check_json_size
from agentdbg.encoding import decode_json, encode_json
from agentdbg.exceptions import UsageError
from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.lines import events_path
from agentdbg.storage.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.events import Event, RunMeta

__all__ = ["RunFile", "is_path", "read_run_file"]

_LOGS = (".jsonl", ".jsonl.gz")
_LONGEST_FILE = 32 << 20


class RunFile(NamedTuple):
    """A run as a file holds it; damaged lines of a log are left out and counted."""

    run_id: str
    name: str
    events: list[Event]
    damaged_lines: int

    def meta(self) -> RunMeta:
        """What run.json would say of it, counted from its events."""
        tally = Tally(self.run_id)
        for number, event in enumerate(self.events):
            tally.add(encode_json(event), number)
        return {**tally.result(is_live=False, folder_time=""), "run_name": self.name}


def is_path(wanted: str) -> bool:
    """Whether a person means a file or a folder; the id of a run has neither a dot nor a slash."""
    return "." in wanted or os.sep in wanted or "/" in wanted


def read_run_file(path: Path) -> RunFile:
    """The run in a file or a folder; UsageError for one that is not there, or holds no run."""
    try:
        found = _read(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    if not found.events:
        raise UsageError(f"{path} holds no events")
    return found


def _read(path: Path) -> RunFile:
    if path.is_dir():
        log = events_path(path)
        if log is None:
            raise UsageError(f"the folder {path} has no events.jsonl, so it is none of a run")
        path = Path(log)
    content = _content(path)
    if path.name.endswith(_LOGS):
        return _run_of(path, {}, content.splitlines())
    document = _document(path, content)
    meta = document["run"] if isinstance(document.get("run"), dict) else {}
    return _run_of(path, meta, map(encode_json, document["events"]))


def _content(path: Path) -> bytes:
    """The whole file, unpacked. All of it is held in memory, so there is a limit to it."""
    try:
        with path.open("rb") as file:
            content = read_all(file, _LONGEST_FILE)
        check_json_size(content)
    except (EOFError, zlib.error):
        raise UsageError(f"{path} is damaged and cannot be unpacked") from None
    except TooMuch as error:
        raise UsageError(f"{path} is too large to be read at once ({error}); `agentdbg import` it first") from None
    return content


def _document(path: Path, content: bytes) -> dict[str, Any]:
    try:
        document = decode_json(content)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("events"), list):
        raise UsageError(f"{path} is no run; `agentdbg export RUN --out {path.stem}.json` writes one")
    return document


def _run_of(path: Path, meta: dict[str, Any], lines: Iterable[bytes]) -> RunFile:
    events: list[Event] = []
    damaged_lines = 0
    for number, text in enumerate(lines):
        if text.strip():
            try:
                events.append(parse_event(text, "", number))
            except DamagedLine:
                damaged_lines += 1
    start = next((event for event in events if event["event_type"] == "RUN_START"), None)
    name = meta.get("run_name") or (path.name if start is None else start["name"])
    run_id = meta.get("run_id") or (events[0]["run_id"] if events else "") or path.stem
    return RunFile(str(run_id), str(name), events, damaged_lines)
