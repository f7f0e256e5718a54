"""
Runs that AgentDbg recorded before, taken over as they are: they were redacted when they were written.

Events keep every byte, a run keeps its id. What is no event of ours is left out and said, so that a damaged file does
not make a damaged run.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from agentdbg.encoding import encode_json
from agentdbg.events import MAX_LINE_BYTES
from agentdbg.interop.importing import NotWritten, StoredRun, writing_aside
from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.layout import (
    EVENTS_FILE,
    LABEL_FILE,
    TAPE_FILE,
    make_run_folder,
    open_private,
    replace_file,
    run_dir,
)
from agentdbg.storage.runfile import rebuild_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.config import Config

__all__ = ["StoredCopy", "store_copy"]

# What only the process that recorded the run, or the reader of the file, could say.
_NOT_COPIED = ("owner", "status_reason", "damaged_lines", "mark")
_MOST_PROBLEMS = 20
_TAPED = (b'{"tape":', b'{"v":"', b'{"l":"', b'{"c":')
"""How the lines of a tape begin, its head first."""


@dataclass
class StoredCopy:
    """A stored run: its id, its lines, and what its run.json said."""

    run_id: str
    lines: Iterator[bytes]
    run: dict[str, Any] | None = None
    label: bytes | None = None
    entry: str = ""
    problems: list[str] = field(default_factory=list)


def store_copy(copy: StoredCopy, config: Config) -> StoredRun:
    """Put a stored run into this data folder, unless it is there."""
    name = str((copy.run or {}).get("run_name") or "")
    if os.path.lexists(run_dir(config.data_dir, copy.run_id)):
        return StoredRun(copy.run_id, name, 0, is_new=False)
    with writing_aside(config.data_dir, copy.run_id) as folder:
        events = _write_events(copy, folder)
        run = copy.run
        if run is None or run.get("run_id") != copy.run_id:
            run = dict(rebuild_run(str(folder), copy.run_id))
        kept = {key: value for key, value in run.items() if key not in _NOT_COPIED}
        known = kept.get("replay")
        replay = known if isinstance(known, dict) else {}
        if not (folder / TAPE_FILE).exists() and replay.get("state") != "none":
            kept["replay"] = {**replay, "state": "none", "why": "imported without a tape"}
        replace_file(folder / "run.json", encode_json(kept) + b"\n")
        if copy.label is not None:
            replace_file(folder / LABEL_FILE, copy.label)
    return StoredRun(copy.run_id, name or str(run.get("run_name") or ""), events, is_new=True)


def _write_events(copy: StoredCopy, folder: Path) -> int:
    make_run_folder(str(folder))
    events = 0
    try:
        with contextlib.ExitStack() as files:
            file, tape = files.enter_context(_new_file(folder / EVENTS_FILE)), None
            for line, is_taped in _lines_of(copy):
                if is_taped:
                    tape = tape or files.enter_context(_new_file(folder / TAPE_FILE))
                    tape.write(line + b"\n")
                else:
                    file.write(line + b"\n")
                    events += 1
    except OSError as error:
        raise NotWritten("the disk did not take all of its events") from error
    if not events:
        raise ValueError("it holds no event")
    return events


def _new_file(path: Path) -> BinaryIO:
    return open(open_private(str(path), os.O_WRONLY | os.O_CREAT), "wb")


def _lines_of(copy: StoredCopy) -> Iterator[tuple[bytes, bool]]:
    """Its lines that are events, or that its tape has, each without its newline, and whether they are the tape's."""
    is_of_run = False
    for number, given in enumerate(copy.lines, 1):
        line = given.strip()
        if not line:
            continue
        if line.startswith(_TAPED):
            if line.startswith(_TAPED[0]):
                is_of_run = b'"run_id":"%b"' % copy.run_id.encode() in line[:200]
            if is_of_run:
                yield line, True
            continue
        try:
            event = parse_event(line, copy.run_id)
        except DamagedLine as error:
            _note(copy, f"line {number} is not an event ({error}), left out")
            continue
        if len(line) > MAX_LINE_BYTES or event["run_id"] != copy.run_id:
            _note(copy, f"line {number} is an event of another run or too long, left out")
            continue
        yield line, False


def _note(copy: StoredCopy, problem: str) -> None:
    if len(copy.problems) < _MOST_PROBLEMS:
        copy.problems.append(problem)
