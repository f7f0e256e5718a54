"""
The events of a stored run one after the other, as fast as they can be read, whatever dialect they are in.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentdbg.storage.dialects import DamagedLine, parse_event
from agentdbg.storage.lines import events_path, iter_lines, open_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentdbg.events import Event

__all__ = ["events_of"]

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
