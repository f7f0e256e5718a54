"""
The last events of a run, read from the end of its file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.layout import EVENTS_FILE
from agentdbg.storage.lines import open_events

if TYPE_CHECKING:
    from agentdbg.events import Event

__all__ = ["last_events"]

_TAIL_BYTES = 128 << 10


def last_events(folder: str, run_id: str) -> tuple[list[Event], bool]:
    """A run's last events, and whether those are all of them."""
    file = open_events(folder)
    if file is None:
        return [], True
    with file:
        data, start = _end_of_packed(file) if _is_packed(folder) else _end_of(file)
    lines = data.split(b"\n")
    found = (_event_or_none(line, run_id) for line in (lines[1:] if start else lines))
    return [event for event in found if event is not None], start == 0


def _end_of(file: BinaryIO) -> tuple[bytes, int]:
    """The last bytes of a file, and where they begin."""
    start = max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES)
    file.seek(start)
    data = b""
    while len(data) < _TAIL_BYTES and (chunk := file.read(_TAIL_BYTES - len(data))):
        data += chunk
    return data, start


def _end_of_packed(file: BinaryIO) -> tuple[bytes, int]:
    """The same for a packed file, which can only be read from its beginning."""
    data, start = b"", 0
    while chunk := file.read(_TAIL_BYTES):
        data += chunk
        if len(data) > 2 * _TAIL_BYTES:
            start += len(data) - _TAIL_BYTES
            data = data[-_TAIL_BYTES:]
    return data[-_TAIL_BYTES:], start + max(0, len(data) - _TAIL_BYTES)


def _event_or_none(line: bytes, run_id: str) -> Event | None:
    try:
        return parse_event(line, run_id)
    except DamagedLine:
        return None


def _is_packed(folder: str) -> bool:
    return not os.path.lexists(os.path.join(folder, EVENTS_FILE))
