"""
One run as it is being written: events after a place in the file, whole lines only.

A `Follower` looks at one file and nothing else, so watching costs a `stat` every ten milliseconds. It copes with a file
that does not exist yet, shrinks, is replaced or is compressed.

The last events of a run, read from the end of its file.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, BinaryIO

from agentdbg.index.source import EventSource
from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.layout import EVENTS_FILE
from agentdbg.storage.lines import open_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentdbg.events import Event

__all__ = ["POLL_SECONDS", "Follower", "last_events"]

POLL_SECONDS = 0.01


class Follower:
    """Gives a run's events once each, in file order. `offset` is how far it has read."""

    def __init__(self, folder: str | Path, run_id: str) -> None:
        self.offset = 0
        self.damaged = 0
        self._run_id = run_id
        self._source = EventSource(folder)
        self._source.refresh(0)

    def poll(self) -> list[Event]:
        """The next events that are there, at most a block of them; none when there is nothing new."""
        if not self._source.refresh(self.offset) or self.offset > self._source.size:
            self.offset = 0  # another file than the one the offset was of
        # A block in which every line is damaged is not the end.
        while (block := self._source.next_block(self.offset)).end:
            events, position = [], self.offset
            for line in block.lines.split(b"\n"):
                if line.strip():
                    event = self._parse(line, position)
                    if event is not None:
                        events.append(event)
                position += len(line) + 1
            self.offset = block.end
            if events:
                return events
        return []

    def events(self, keep_going: Callable[[], bool], sleep: Callable[[float], None] = time.sleep) -> Iterator[Event]:
        """Every event from here on, until `keep_going` says no while there is nothing new."""
        while True:
            events = self.poll()
            yield from events
            if not events:
                if not keep_going():
                    yield from self._rest()
                    return
                sleep(POLL_SECONDS)

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()

    def _rest(self) -> Iterator[Event]:
        """What was written between the last look and the moment nobody wrote any more."""
        while events := self.poll():
            yield from events

    def _parse(self, line: bytes, position: int) -> Event | None:
        try:
            return parse_event(line, self._run_id, position)
        except DamagedLine:
            self.damaged += 1
            return None


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
