"""
Columns of an index as a file: a line of JSON that says what follows, then the columns as the machine holds them.

Never the truth: a file that is missing, torn, of another version or of another machine is as good as none.

A run's columns as the page reads them: one run of bytes, twenty an event.

The page orders, filters and draws by these numbers and asks for words only where somebody looks.
"""

from __future__ import annotations

import io
import os
import struct
import sys
from array import array
from typing import TYPE_CHECKING, Any, cast

from agentdbg.encoding import decode_json, encode_json
from agentdbg.storage.layout import make_private_folder, replace_file
from agentdbg.storage.lines import open_regular

if TYPE_CHECKING:
    from pathlib import Path

    Column = array[int] | bytearray

    from agentdbg.index.events import EventIndex

__all__ = ["ColumnFile", "pack_skeleton"]

_FORMAT = f"agentdbg-columns-3-{sys.byteorder}-{array('Q').itemsize}-{array('I').itemsize}"


class ColumnFile:
    """One run's columns in the cache folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        """Whether there is a file at all."""
        return os.path.lexists(self._path)

    def write(self, facts: dict[str, Any], columns: dict[str, Column]) -> bool:
        """Replace what is there; False when that cannot be done, which is no loss."""
        sizes = {name: len(column) for name, column in columns.items()}
        header = encode_json({"format": _FORMAT, "sizes": sizes, "facts": facts})
        try:
            make_private_folder(self._path.parent)
            replace_file(self._path, header, b"\n", *[memoryview(column) for column in columns.values()])
        except OSError:
            return False
        return True

    def read(self, columns: dict[str, Column], most: int) -> dict[str, Any] | None:
        """Fill the empty `columns` and give the facts; None when the file is of no use, whatever was filled then."""
        try:
            with open_regular(self._path) as raw, io.BufferedReader(cast("io.RawIOBase", raw)) as file:
                size = os.fstat(raw.fileno()).st_size
                header = file.readline(min(most, _LONGEST_HEADER))
                said = decode_json(header)
                lengths = [said["sizes"][name] * _width(column) for name, column in columns.items()]
                is_ours = said["format"] == _FORMAT and list(said["sizes"]) == list(columns)
                if not is_ours or size > most or len(header) + sum(lengths) != size:
                    return None
                for (name, column), length in zip(columns.items(), lengths, strict=True):
                    if isinstance(column, array):
                        column.fromfile(file, said["sizes"][name])
                    else:
                        column.extend(file.read(length))
            facts: dict[str, Any] = said["facts"]
        except (OSError, ValueError, KeyError, TypeError, EOFError):
            return None
        return facts


def _width(column: Column) -> int:
    return column.itemsize if isinstance(column, array) else 1


_LONGEST_HEADER = 16 << 20
_MAGIC = b"ADBGSKL1"
_LONGEST_TYPE_NAME = 100


def pack_skeleton(index: EventIndex, start: int = 0) -> tuple[bytes, list[str]]:
    """The columns from event `start` + 1 on, and the names of the types."""
    with index.lock:
        start = min(max(0, start), index.total)
        parts = [struct.pack("<8sIII", _MAGIC, index.total - start, start, int(index.complete))]
        for small in (index.kind, index.status, index.severity, index.type):
            parts.append(bytes(small[start:]))
            parts.append(b"\x00" * (-len(parts[-1]) % 4))
        parts += [
            _little_endian(wide[start:]) for wide in (index.parent_n, index.start_ms, index.duration_ms, index.tokens)
        ]
        return b"".join(parts), [name[:_LONGEST_TYPE_NAME] for name in index.types]


def _little_endian(column: array[int]) -> bytes:
    if sys.byteorder == "big":  # pragma: no cover -- no such machine at hand
        column = column[:]
        column.byteswap()
    return column.tobytes()
