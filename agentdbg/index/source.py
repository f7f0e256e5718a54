"""
The bytes of one run's events, whichever form they are stored in, and whether they are still the same bytes.

A compressed file is unpacked once, into memory while it is small and into a nameless private file otherwise. A file
that shrank or was replaced is noticed, and everything known of it is void from then on.
"""

from __future__ import annotations

import os
import tempfile
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.lines import LONGEST_LINE, events_path, is_too_long, open_events, open_regular

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Block", "EventSource"]

_BLOCK = 1 << 18
_SAMPLE = 4096
_IN_MEMORY = 32 << 20


class Block(NamedTuple):
    """Whole lines, and where they end in the file; no lines but an end for a line that is too long to be kept."""

    lines: bytes
    end: int


_NOTHING = Block(b"", 0)


class EventSource:
    """Random access to a run's events. Reads what is there at `refresh`; later bytes wait for the next one."""

    def __init__(self, folder: str | Path) -> None:
        self._file: BinaryIO | None = None
        self._folder = str(folder)
        self._path: str | None = None
        self._stamp: tuple[int, ...] = ()
        self._torn_at = -1
        self._inside_long_line = False
        self._seeking = threading.Lock()
        self.size = 0
        self.generation = 0

    @property
    def has_torn_end(self) -> bool:
        """Whether the file ends in the middle of a line that is no event."""
        return self._torn_at >= 0

    def is_at_end(self, offset: int) -> bool:
        """Whether there is nothing to take after `offset`."""
        return offset >= self.size or self._torn_at == offset

    def refresh(self, known_bytes: int) -> bool:
        """See how far the file reaches now. False when it is not the file any more whose first bytes were known."""
        path = events_path(self._folder)
        stamp = _stamp(path)
        if path is not None and path == self._path and stamp[:2] == self._stamp[:2] and stamp[2] >= self._stamp[2]:
            if path.endswith(".gz"):
                if stamp == self._stamp:
                    return True
            else:
                if stamp[2] != self.size:
                    self.size, self._torn_at = stamp[2], -1
                self._stamp = stamp
                return True
        is_first = self._path is None and known_bytes == 0
        self._open(path, stamp)
        if not is_first:
            self.generation += 1
        return is_first

    def is_stale(self) -> bool:
        """Whether the file has changed since `refresh` looked; a `stat` and nothing more."""
        return self._path is None or _stamp(self._path) != self._stamp

    def next_block(self, offset: int) -> Block:
        """The next whole lines from `offset`; nothing at the end, and at a torn last line."""
        if self.is_at_end(offset):
            return _NOTHING
        if self._inside_long_line:
            return self._skip_line(offset)
        length = _BLOCK
        while True:
            data = self.read(offset, min(length, self.size - offset))
            # A line that is longer than a block comes alone, since it may be one to step over.
            end = (data.rfind(b"\n") if length == _BLOCK else data.find(b"\n")) + 1
            if end:
                lines = data[:end]
                return Block(b"" if is_too_long(lines) else lines, offset + end)
            if offset + len(data) >= self.size or not data:
                return self._open_end(data, offset)
            if length > LONGEST_LINE:
                self._inside_long_line = True
                return self._skip_line(offset)
            length = min(4 * length, LONGEST_LINE + 1)

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of the file, uncompressed; fewer at its end."""
        if self._file is None or length <= 0:
            return b""
        if self._path is not None and not self._path.endswith(".gz") and hasattr(os, "pread"):
            return os.pread(self._file.fileno(), length, offset)
        with self._seeking:  # no reading at a place here, so the place is shared by all threads
            self._file.seek(offset)
            return self._file.read(length)

    def fingerprint(self, length: int) -> list[Any]:
        """What tells that the first `length` bytes are still the same file's: cheap, and hard to meet by accident."""
        head = self.read(0, min(_SAMPLE, length))
        tail = self.read(max(0, length - _SAMPLE), min(_SAMPLE, length))
        return [length, sha256(head + tail).hexdigest(), self.size >= length]

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        # An index lives as long as somebody looks at its run; nobody has to remember to close it.
        self.close()

    def _open(self, path: str | None, stamp: tuple[int, ...]) -> None:
        self.close()
        self._path, self._stamp = path, stamp
        self._torn_at, self._inside_long_line = -1, False
        self.size = 0
        if path is None:
            return
        try:
            if path.endswith(".gz"):
                self._file, self.size = _unpacked(self._folder)
            else:
                self._file = open_regular(path)
                self.size = os.fstat(self._file.fileno()).st_size
        except OSError:
            self._path = None

    def _open_end(self, data: bytes, offset: int) -> Block:
        """The last line, without its newline: an event when it is whole."""
        try:
            if is_too_long(data):
                raise DamagedLine("too long")
            parse_event(data, "")
        except DamagedLine:
            if data.strip():
                self._torn_at = offset
                return _NOTHING
        return Block(data, offset + len(data)) if data else _NOTHING

    def _skip_line(self, offset: int) -> Block:
        position = offset
        while position < self.size:
            data = self.read(position, _BLOCK)
            newline = data.find(b"\n")
            if newline >= 0:
                self._inside_long_line = False
                return Block(b"", position + newline + 1)
            if not data:
                break
            position += len(data)
        self._torn_at = offset
        return _NOTHING


def _stamp(path: str | None) -> tuple[int, ...]:
    if path is None:
        return ()
    try:
        found = os.lstat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _unpacked(folder: str) -> tuple[BinaryIO, int]:
    packed = open_events(folder)
    plain = cast("BinaryIO", tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 -- the index closes it
    size = 0
    if packed is not None:
        with packed:
            while chunk := packed.read(_BLOCK):
                size += plain.write(chunk)
    return plain, size
