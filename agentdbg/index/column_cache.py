"""
Columns of an index as a file: a line of JSON that says what follows, then the columns as the machine holds them.

Never the truth: a file that is missing, torn, of another version or of another machine is as good as none.
"""

from __future__ import annotations

import os
import sys
from array import array
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.storage.layout import make_private_folder, replace_file
from agentdbg.storage.lines import read_regular

if TYPE_CHECKING:
    from pathlib import Path

    Column = array[int] | bytearray

__all__ = ["ColumnFile", "packed"]

_FORMAT = f"agentdbg-columns-3-{sys.byteorder}-{array('Q').itemsize}-{array('I').itemsize}"


def packed(facts: dict[str, Any], columns: dict[str, Column]) -> bytes:
    """The content of a file."""
    sizes = {name: len(column) for name, column in columns.items()}
    header = encode_json({"format": _FORMAT, "sizes": sizes, "facts": facts})
    return b"".join([header, b"\n", *columns.values()])


class ColumnFile:
    """One run's columns in the cache folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def exists(self) -> bool:
        """Whether there is a file at all."""
        return os.path.lexists(self._path)

    def write(self, content: bytes) -> bool:
        """Replace what is there by what `packed` made; False when that cannot be done, which is no loss."""
        try:
            make_private_folder(self._path.parent)
            replace_file(self._path, content)
        except OSError:
            return False
        return True

    def read(self, columns: dict[str, Column], most: int) -> dict[str, Any] | None:
        """Fill the empty `columns` and give the facts; None, and nothing filled, when the file is of no use."""
        try:
            content = read_regular(self._path, most + 1)
            header, _, rest = content.partition(b"\n")
            if len(content) > most:
                return None
            said = decode_json(header)
            if said["format"] != _FORMAT or list(said["sizes"]) != list(columns):
                return None
            return self._fill(said, columns, rest)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _fill(self, said: dict[str, Any], columns: dict[str, Column], rest: bytes) -> dict[str, Any] | None:
        spans = []
        position = 0
        for name, column in columns.items():
            length = said["sizes"][name] * (column.itemsize if isinstance(column, array) else 1)
            spans.append((column, position, position + length))
            position += length
        if position != len(rest):
            return None
        view = memoryview(rest)
        for column, start, end in spans:
            if isinstance(column, array):
                column.frombytes(view[start:end])
            else:
                column.extend(view[start:end])
        facts: dict[str, Any] = said["facts"]
        return facts
