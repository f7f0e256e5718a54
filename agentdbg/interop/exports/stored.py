"""
A stored run to be written in another form, and its lines in the strict form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.encoding import encode_json
from agentdbg.index.scan import scan_lines
from agentdbg.index.source import EventSource
from agentdbg.storage.dialects import parse_event

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.events import RunMeta

__all__ = ["Progress", "Put", "Run", "line_blocks", "part_of"]

Put = Callable[[bytes], object]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Run:
    """What is known of a run, and the folder its events are in."""

    meta: RunMeta
    folder: Path

    @property
    def run_id(self) -> str:
        return self.meta["run_id"]


def line_blocks(run: Run) -> Iterator[tuple[list[bytes], float]]:
    """
    The events as lines of JSON without their newlines, a block of the file at a time, and how much of it that was.

    A line in the strict form is given as it stands; one of another dialect the way readers see it; a damaged one not.
    """
    source = EventSource(run.folder)
    source.refresh(0)
    offset, last_ts_ms = 0, 0
    while (block := source.next_block(offset)).end:
        if not block.lines:  # a line too long to be kept
            offset = block.end
            continue
        scan = scan_lines(block.lines, offset, run.run_id, last_ts_ms)
        lines = []
        for position, at in enumerate(scan.offsets):
            line = block.lines[at - offset : at - offset + scan.lengths[position]].rstrip(b"\r\n")
            lines.append(line if scan.is_strict[position] else encode_json(parse_event(line, run.run_id, at)))
        if lines:
            last_ts_ms = scan.ts_ms[-1]
            yield lines, block.end / max(source.size, 1)
        offset = block.end
    source.close()


def part_of(progress: Progress, position: int, total: int) -> Progress:
    """The progress of one of several runs, as a part of the whole."""
    return lambda share: progress((position + share) / max(total, 1))
