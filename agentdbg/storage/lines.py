"""
Lines of a file as bytes, whatever the file holds.

A torn or damaged line never hides another line, and a line longer than anything we would show, or that would take too
much memory, is stepped over without being kept. Files are opened so that no symlink is followed and no pipe is waited
for.
"""

from __future__ import annotations

import io
import os
import stat
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

from agentdbg.bounded import TooMuch
from agentdbg.bounded.files import GzipReader
from agentdbg.bounded.json_size import takes_too_much

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "LONGEST_LINE",
    "PackedLines",
    "events_path",
    "is_too_long",
    "iter_lines",
    "open_events",
    "open_regular",
    "read_regular",
]

LONGEST_LINE = 16_000_000
"""Ours end at 1 MB; other writers know no such limit, and what they wrote is shown up to here."""

_CHUNK = 1 << 18
_MANY_LINES, _LEAST_PACKED = 20_000, 10
"""More lines than these need so many packed bytes each: an event has an id of its own, which does not pack."""
_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"):  # no system has all of them
    _FLAGS |= getattr(os, _name, 0)


def open_regular(path: str | Path) -> BinaryIO:
    """Open a plain file for reading; OSError for a symlink, a folder, a pipe or a device."""
    return os.fdopen(_descriptor(path), "rb", buffering=0)


def read_regular(path: str | Path, most: int) -> bytes:
    """The first bytes of a plain file, at most so many; the same errors."""
    descriptor = _descriptor(path)
    try:
        content = os.read(descriptor, most)
        while content and len(content) < most and (more := os.read(descriptor, most - len(content))):
            content += more
        return content
    finally:
        os.close(descriptor)


def _descriptor(path: str | Path) -> int:
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a plain file")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def events_path(folder: str | Path) -> str | None:
    """Where a run's events are: events.jsonl, else its compressed form, else None. Symlinks do not count."""
    for name in ("events.jsonl", "events.jsonl.gz"):
        path = os.path.join(folder, name)
        try:
            if stat.S_ISREG(os.lstat(path).st_mode):
                return path
        except OSError:
            continue
    return None


def open_events(folder: str | Path) -> BinaryIO | None:
    """A run's events as plain bytes, or None when there are none to read."""
    path = events_path(folder)
    if path is None:
        return None
    try:
        file = open_regular(path)
    except OSError:
        return None
    return cast("BinaryIO", _Unzipped(file)) if path.endswith(".gz") else file


def is_too_long(line: bytes) -> bool:
    """Whether a line is stepped over: it is longer than what is shown, or would take too much memory."""
    return len(line) > LONGEST_LINE or takes_too_much(line)


def iter_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """
    Each line of a file read from its beginning, with where it starts, without its newline; None for one too long.

    A last line without a newline is given too. Blank lines are given as they are.
    """
    rest = b""
    start = offset = 0
    too_long = False
    while True:
        chunk = file.read(_CHUNK)
        if not chunk:
            break
        *whole, tail = chunk.split(b"\n")
        for piece in whole:
            line = rest + piece if rest else piece
            length = (offset - start) + len(piece) + 1
            yield start, (None if too_long or is_too_long(line) else line)
            start += length
            offset = start
            rest, too_long = b"", False
        rest = b"" if too_long else rest + tail if rest else tail
        offset += len(tail)
        if len(rest) > LONGEST_LINE:
            rest, too_long = b"", True
    if too_long or rest:
        yield start, (None if too_long or is_too_long(rest) else rest)


class PackedLines:
    """The lines of a packed log; TooMuch for more of them than events can be packed into it, else as GzipReader."""

    def __init__(self, file: BinaryIO) -> None:
        self._plain = GzipReader(file)
        self._lines = 0

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        data = self._plain.read(size)
        self._lines += data.count(b"\n")
        if self._lines > max(_MANY_LINES, self._plain.packed_bytes // _LEAST_PACKED):
            raise TooMuch("it holds more lines than events can be packed into it")
        return data


class _Unzipped(io.RawIOBase):
    """What a gzip file holds, up to where it is damaged or too much; the torn end shows as one torn line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._plain = PackedLines(file)
        self._broken = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._broken:
            return b""
        try:
            return self._plain.read(_CHUNK if size < 0 else size)
        except (OSError, EOFError, zlib.error, TooMuch):
            self._broken = True
            return b"\x00"  # marks what stands before it as torn

    def close(self) -> None:
        self._file.close()
        super().close()
