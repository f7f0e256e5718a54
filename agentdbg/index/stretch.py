"""
What some whole lines of a run's file say, as columns.

A `Stretch` is made from its lines alone, and those of a file joined in order give the same index however the file was
cut.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from agentdbg.analysis import run_columns as columns
from agentdbg.events.facts import RunTotals
from agentdbg.index.links import pack_ids, split_ids
from agentdbg.index.scan import scan_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.index.scan import Scan

__all__ = [
    "NOT_STRICT",
    "STRICT_AFTER_GAP",
    "STRICT_JOINED",
    "Stretch",
    "read_stretch",
]

NOT_STRICT, STRICT_JOINED, STRICT_AFTER_GAP = range(3)
"""Whether an event's line may be served as it stands, and whether it starts where the one before it ended."""

_LARGEST = columns.NO_VALUE - 1


class Stretch(NamedTuple):
    """The events of a stretch in file order. Positions count from 0; codes are positions in the list beside them."""

    line_count: int = 0
    damaged: Sequence[int] = ()
    """Which lines are no events."""
    first_ms: int = 0
    last_ms: int = 0
    """The times of the first and the last event."""
    offset: bytes = b""
    length: bytes = b""
    strictness: bytes = b""
    kind: bytes = b""
    status: bytes = b""
    severity: bytes = b""
    types: Sequence[str] = ()
    type: Sequence[int] = ()
    start_ms: bytes = b""
    duration_ms: bytes = b""
    tokens: bytes = b""
    ids: bytes = b""
    """Packed, sixteen bytes each."""
    parents: Sequence[bytes | None] = ()
    parent: Sequence[int] = ()
    tools: Sequence[str] = ()
    tool: Sequence[int] = ()
    """One for each tool call; they stand at `tool_positions`."""
    tool_positions: Sequence[int] = ()
    likeness: bytes = b""
    """Of each tool call a number that is the same for the same tool with the same arguments, and hardly for others."""
    started_positions: Sequence[int] = ()
    """Where each CALL_START stands."""
    started_ids: bytes = b""
    """The packed ids that the ends of these calls will have."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None


def read_stretch(lines: bytes, offset: int, run_id: str, started_ms: int | None, last_ms: int = 0) -> Stretch:
    """
    What `lines` say, which stand at `offset`; `started_ms` is the time of the run's first event, None if it is here.

    An event without a time of its own has that of the one before, which is `last_ms` for the first.
    """
    scan = scan_lines(lines, offset, run_id, last_ms)
    events = scan.events
    if not events:
        return Stretch(scan.line_count, scan.damaged)
    kinds = bytes(event.kind for event in events)
    types = list(dict.fromkeys(event.event_type for event in events))
    parents = list(dict.fromkeys(event.parent_id for event in events))
    tool_positions = [position for position, kind in enumerate(kinds) if kind == columns.TOOL]
    calls = [events[position] for position in tool_positions]
    tools = list(dict.fromkeys(call.name for call in calls))
    started = [
        (position, events[position].call_id)
        for position, kind in enumerate(kinds)
        if kind == columns.CALL_START and events[position].call_id is not None
    ]
    tokens, spent = _tokens(events, kinds)
    used = spent.tokens()
    return Stretch(
        line_count=scan.line_count,
        damaged=scan.damaged,
        first_ms=scan.ts_ms[0],
        last_ms=scan.ts_ms[-1],
        offset=array("Q", scan.offsets).tobytes(),
        length=array("I", scan.lengths).tobytes(),
        strictness=_strictness(scan),
        kind=kinds,
        status=bytes(event.status for event in events),
        severity=bytes(event.severity for event in events),
        types=types,
        type=_codes(types, (event.event_type for event in events)),
        start_ms=_starts(scan, kinds, scan.ts_ms[0] if started_ms is None else started_ms).tobytes(),
        duration_ms=_durations(events).tobytes(),
        tokens=tokens.tobytes(),
        ids=pack_ids([event.event_id for event in events]),
        parents=_packed_or_none(parents),
        parent=_codes(parents, (event.parent_id for event in events)),
        tools=tools,
        tool=_codes(tools, (call.name for call in calls)),
        tool_positions=tool_positions,
        likeness=_likeness(calls).tobytes(),
        started_positions=[position for position, _ in started],
        started_ids=pack_ids([call_id for _, call_id in started]),
        tokens_in=used.given,
        tokens_out=used.written,
        total_tokens=used.total,
        cost_usd=spent.cost_usd if spent.costs_told else None,
    )


def _strictness(scan: Scan) -> bytes:
    found = bytearray()
    end = scan.offsets[0]
    for offset, length, is_strict in zip(scan.offsets, scan.lengths, scan.is_strict, strict=True):
        found.append(is_strict and (STRICT_JOINED if offset == end else STRICT_AFTER_GAP))
        end = offset + length
    return bytes(found)


def _tokens(events: Sequence[Any], kinds: bytes) -> tuple[array[int], RunTotals]:
    """The tokens of each model call, and what all of them spent."""
    tokens = array("I", [columns.NO_VALUE]) * len(events)
    spent = RunTotals()
    for position, kind in enumerate(kinds):
        if kind == columns.LLM:
            used = events[position].usage
            spent.add_model_call(used, events[position].cost_usd)
            if used.total is not None:
                tokens[position] = min(used.total, _LARGEST)
    return tokens, spent


def _durations(events: Sequence[Any]) -> array[int]:
    durations = [event.duration_ms for event in events]
    return array("I", [columns.NO_VALUE if one is None else min(one, _LARGEST) for one in durations])


def _starts(scan: Scan, kinds: bytes, started_ms: int) -> array[int]:
    # A call is written when it ends, the end of the run when it happens.
    starts = [
        ts_ms - started_ms - (0 if kind == columns.END else event.duration_ms or 0)
        for ts_ms, kind, event in zip(scan.ts_ms, kinds, scan.events, strict=True)
    ]
    return array("I", [min(max(start, 0), _LARGEST) for start in starts])


def _packed_or_none(ids: Iterable[str | None]) -> list[bytes | None]:
    known = [one for one in ids if one]
    packed = dict(zip(known, split_ids(pack_ids(known)), strict=True))
    return [packed[one] if one else None for one in ids]


def _codes(table: Iterable[str | None], values: Iterable[str | None]) -> list[int]:
    code_of = {value: code for code, value in enumerate(table)}
    return list(map(code_of.__getitem__, values))


def _likeness(calls: Sequence[Any]) -> array[int]:
    return array("Q", [crc32(call.args, _seed(call.name)) << 31 | len(call.args) & 0x7FFFFFFF for call in calls])


def _seed(name: str) -> int:
    return crc32(name.encode(errors="replace"))
