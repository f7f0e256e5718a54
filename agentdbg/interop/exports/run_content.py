"""
A stored run to be written in another form, and its lines in the strict form.

The events of a stored run one after the other, as fast as they can be read, whatever dialect they are in.

Files that appear whole or not at all, for this user alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.encoding import encode_json
from agentdbg.exceptions import UsageError
from agentdbg.index.scan import scan_lines
from agentdbg.index.source import EventSource
from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.layout import open_private
from agentdbg.storage.lines import events_path, iter_lines, open_events
from agentdbg.tape.tape_reader import find_tape, tape_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.events import Event, RunMeta

__all__ = ["Progress", "Put", "Run", "appearing", "events_of", "line_blocks", "part_of", "write_whole"]

Put = Callable[[bytes], object]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Run:
    """What is known of a run, and the folder its events are in."""

    meta: RunMeta
    folder: Path

    @property
    def run_id(self) -> str:
        return self.meta["run_id"]


def line_blocks(run: Run) -> Iterator[tuple[list[bytes], float]]:
    """
    The events as lines of JSON without their newlines, a block of the file at a time, and how much of it that was.

    A line in the strict form is given as it stands; one of another dialect the way readers see it; a damaged one not.
    """
    source = EventSource(run.folder)
    source.refresh(0)
    offset, last_ts_ms = 0, 0
    while (block := source.next_block(offset)).end:
        if not block.lines:  # a line too long to be kept
            offset = block.end
            continue
        scan = scan_lines(block.lines, offset, run.run_id, last_ts_ms)
        lines = []
        for position, at in enumerate(scan.offsets):
            line = block.lines[at - offset : at - offset + scan.lengths[position]].rstrip(b"\r\n")
            lines.append(line if scan.is_strict[position] else encode_json(parse_event(line, run.run_id, at)))
        if lines:
            last_ts_ms = scan.ts_ms[-1]
            yield lines, block.end / max(source.size, 1)
        offset = block.end
    source.close()


def lines_of_tape(run: Run) -> Iterator[bytes]:
    """The lines of a run's tape, without their newlines; nothing when it has none."""
    path = find_tape(run.folder)
    return iter(()) if path is None else tape_lines(path)


def part_of(progress: Progress, position: int, total: int) -> Progress:
    """The progress of one of several runs, as a part of the whole."""
    return lambda share: progress((position + share) / max(total, 1))


_NO_TIME = "1970-01-01T00:00:00.000Z"
_SAID_EVERY = 2_000


def events_of(folder: str | Path, run_id: str, progress: Callable[[float], None] | None = None) -> Iterator[Event]:
    """In file order, damaged lines left out; a folder without events gives none. Says how far it is where it can."""
    file = open_events(folder)
    if file is None:
        return
    size = _plain_size(folder)
    latest = _NO_TIME
    with file:
        for number, (offset, line) in enumerate(iter_lines(file)):
            if not line or line.isspace():
                continue
            try:
                event = parse_event(line, run_id, offset, latest)
            except DamagedLine:
                continue
            latest = event["ts"]
            yield event
            if progress is not None and size and number % _SAID_EVERY == 0:
                progress(min(offset / size, 1.0))


def _plain_size(folder: str | Path) -> int:
    """The length of the log, 0 where it is compressed or gone."""
    path = events_path(folder)
    return os.path.getsize(path) if path and not path.endswith(".gz") else 0


def write_whole(path: Path, write: Callable[[Put], None]) -> None:
    """Make the file whole or not at all; a device or a pipe is written as it comes."""
    if path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
        with open(path, "wb") as device:
            write(device.write)
        return
    with appearing(path) as temporary, os.fdopen(os.open(temporary, os.O_WRONLY), "wb") as file:
        write(file.write)


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """An empty private file to be filled, which takes its place at `path` when all went well."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it, like {path / 'run.json'}")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}; make it first, or name another place")
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    os.close(open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
