"""
The files in a zip archive, each within a bound, whatever the archive says of itself.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from agentdbg.bounded import TooMuch
from agentdbg.bounded.files import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["open_archive", "read_member"]

_LONGEST_LIST = 4 << 20
"""Bytes of an archive's list of files: some forty thousand."""
_CHUNK = 1 << 20
_BOUNDED_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (EOFError, LookupError, OSError, OverflowError, RuntimeError, ValueError, struct.error, zlib.error)


def open_archive(file: BinaryIO) -> zipfile.ZipFile:
    """A zip archive; BadZipFile when it is none, or a damaged one."""
    with _damage_told():
        return zipfile.ZipFile(cast("BinaryIO", _ShortReads(file)))


class _ShortReads:
    """A file for `zipfile`, which reads its list of files at once, however long the archive says it is."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size if 0 <= size <= _LONGEST_LIST else _LONGEST_LIST + 1)
        if len(data) > _LONGEST_LIST:
            raise TooMuch(f"its list of files is longer than {_LONGEST_LIST >> 20} MB")
        return data


def read_member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """
    One file of a zip archive; TooMuch when it unpacks to more than `most`, whatever the archive claims.

    BadZipFile when it is damaged, NotImplementedError when it is packed in another way than is read here.
    """
    # `zipfile` unpacks the others (bzip2, LZMA, Zstandard) a whole piece at a time, and a piece may hold gigabytes.
    if archive.getinfo(name).compress_type not in _BOUNDED_METHODS:
        raise NotImplementedError("it is packed with something else than deflate")
    found = bytearray()
    with _damage_told(), archive.open(name) as member:
        while chunk := member.read(_CHUNK):
            found += chunk
            if len(found) > most:
                raise TooMuch(f"it unpacks to more than {shown(most)}")
    return bytes(found)


@contextmanager
def _damage_told() -> Iterator[None]:
    """What `zipfile` raises for an archive that lies or is cut off, which may be anything, as BadZipFile."""
    try:
        yield
    except (TooMuch, NotImplementedError):
        raise
    except _DAMAGE as error:
        raise zipfile.BadZipFile(str(error) or "it ends before its end") from None
