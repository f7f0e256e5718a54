"""
Count a run again from its events, many at a time.

The same numbers as reading event by event, for runs that nobody closed: after a crash there may be a million events,
and whoever lists the runs waits for them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from agentdbg.analysis import run_columns as columns
from agentdbg.index.scan import scan_lines
from agentdbg.index.source import EventSource
from agentdbg.index.stretch import facts_of, positions_of
from agentdbg.storage.runfile import tallied
from agentdbg.storage.tally import Tally

if TYPE_CHECKING:
    from agentdbg.events import RunMeta
    from agentdbg.index.scan import Scan

__all__ = ["recount"]

# Of these more is asked than their number.
_TOLD_IN_FULL = frozenset({columns.START, columns.END, columns.EXCEPTION, columns.CALL_START, columns.LOOP})
_IS_TOLD_IN_FULL = bytes(kind in _TOLD_IN_FULL for kind in range(256))


def recount(folder: str, run_id: str, owner: Any = None) -> RunMeta:
    """What run.json would say of the run in `folder`, counted from its events."""
    tally = Tally(run_id)
    source = EventSource(folder)
    try:
        source.refresh(0)
        position = 0
        while (block := source.next_block(position)).end:
            if block.lines:
                _add_lines(tally, block.lines, position, run_id)
            else:
                tally.add(None, position)  # a line that is too long to be kept
            position = block.end
        if source.has_torn_end:
            tally.add(source.torn_line(position), position)
    finally:
        source.close()
    return tallied(tally, folder, owner)


def _add_lines(tally: Tally, lines: bytes, position: int, run_id: str) -> None:
    scan = scan_lines(lines, position, run_id)
    if scan.is_whole:
        _add_block(tally, scan, lines, position)
        return
    for line in lines.split(b"\n"):
        tally.add(line, position)
        position += len(line) + 1


def _add_block(tally: Tally, scan: Scan, lines: bytes, position: int) -> None:
    """Add a block in the strict form, opening only the events of which more is asked than their number."""
    facts = facts_of(scan)
    last = len(scan.events) - 1
    in_full = {
        0,
        *positions_of(1, facts.kinds.translate(_IS_TOLD_IN_FULL)),
        *positions_of(columns.ERROR, facts.statuses),
    }
    in_full.discard(last)
    for number in sorted(in_full):
        tally.add(_line(scan, lines, position, number), scan.offsets[number])
    in_full.add(last)
    by_code = Counter(facts.type_codes)
    by_code.subtract(facts.type_codes[number] for number in in_full)
    by_type = {facts.types[code]: count for code, count in by_code.items() if count}
    totals = facts.spent(without=in_full)
    totals.tool_calls = by_type.get("TOOL_CALL", 0)
    tally.add_successes(by_type, facts.event_ids, totals)
    tally.add(_line(scan, lines, position, last), scan.offsets[last])


def _line(scan: Scan, lines: bytes, position: int, number: int) -> bytes:
    start = scan.offsets[number] - position
    return lines[start : start + scan.lengths[number]]
