"""
A run's columns as the page reads them: one run of bytes, twenty an event.

The page orders, filters and draws by these numbers and asks for words only where somebody looks.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from array import array

    from agentdbg.index.events import EventIndex

__all__ = ["pack_skeleton"]

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
