"""
The bytes of a file, plain or packed, and never more of them than asked for.
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from typing import TYPE_CHECKING, BinaryIO

from agentdbg.bounded import TooMuch

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "LARGEST_UNPACKED",
    "MOST_RATIO",
    "GzipReader",
    "is_within_bounds",
    "open_plain",
    "read_all",
    "read_small",
    "read_start",
    "shown",
]

LARGEST_UNPACKED = 4 << 30
MOST_RATIO = 200
"""
How many times its size a packed file may unpack to.

Deflate copies at most 258 bytes at a time, and to say from where in the last 32 KB takes about two bytes: texts that
repeat long texts reach some 140. Only endless repetition of something short gets further.
"""
_ANY_RATIO = 8 << 20
"""So much may come out of however little."""
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_PACKED_CHUNK = 1 << 15  # small, since what follows the end of a member is copied
_CHUNK = 1 << 20
_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC"):  # no system has all of them; a pipe is not waited for
    _FLAGS |= getattr(os, _name, 0)


def open_plain(path: str | Path) -> BinaryIO:
    """A plain file, to be read; OSError when it is a pipe, a device or a folder, for none of which is waited."""
    file = os.fdopen(os.open(path, _FLAGS), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))
    return file


def read_small(path: str | Path, most: int) -> bytes:
    """A whole plain file; OSError when it is a pipe, a device or a folder, TooMuch when it is longer than `most`."""
    with open_plain(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise TooMuch(f"it is longer than {shown(most)}")
    return content


def read_start(path: str | Path, most: int) -> bytes:
    """The first bytes of a plain file; OSError when it is a pipe, a device or a folder."""
    with open_plain(path) as file:
        return file.read(most)


def read_all(file: BinaryIO, most: int) -> bytes:
    """A whole file, unpacked if it is gzip; TooMuch when that is more than `most`."""
    is_packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    file.seek(0)
    source = GzipReader(file) if is_packed else file
    found = bytearray()
    while chunk := source.read(_CHUNK):
        found += chunk
        if len(found) > most:
            raise TooMuch(f"it holds more than {shown(most)}")
    return bytes(found)


def is_within_bounds(packed_bytes: int, plain_bytes: int) -> bool:
    """Whether so much may come out of a packed file of that size."""
    return plain_bytes <= LARGEST_UNPACKED and (plain_bytes <= _ANY_RATIO or plain_bytes <= packed_bytes * MOST_RATIO)


class GzipReader:
    """
    Gives what a gzip file holds, piece by piece. Raises TooMuch at the bounds, zlib.error and EOFError at damage.

    `packed_bytes` is how much of the file has been read for that.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inflater: zlib._Decompress | None = None
        self._waiting = b""
        self._has_begun = False
        self.packed_bytes = 0
        self._plain_bytes = 0

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        while True:
            at_end = not self._waiting and not self._fetch()
            if self._inflater is None:
                self._waiting = self._waiting.lstrip(b"\0") if self._has_begun else self._waiting  # padding
                if not self._waiting:
                    if at_end:
                        return b""
                    continue
                self._inflater, self._has_begun = zlib.decompressobj(_GZIP_WINDOW), True
            piece = self._inflater.decompress(self._waiting, size)
            if self._inflater.eof:  # another member may follow
                self._waiting, self._inflater = self._inflater.unused_data, None
            else:
                self._waiting = self._inflater.unconsumed_tail
            if piece:
                self._plain_bytes += len(piece)
                if not is_within_bounds(self.packed_bytes, self._plain_bytes):
                    raise TooMuch(f"it unpacks to more than {MOST_RATIO} times its size, or {shown(LARGEST_UNPACKED)}")
                return piece
            if at_end and self._inflater is not None:
                raise EOFError("it ends before its end")

    def _fetch(self) -> bool:
        self._waiting = self._file.read(_PACKED_CHUNK)
        self.packed_bytes += len(self._waiting)
        return bool(self._waiting)


def shown(count: int) -> str:
    """A number of bytes, for a person."""
    return f"{count >> 30} GB" if count >= 1 << 30 else f"{count >> 20} MB" if count >= 1 << 20 else f"{count >> 10} KB"
