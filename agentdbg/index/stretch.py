"""
What some whole lines of a run's file say, as columns.

A `Stretch` is made from its lines alone, so any process may make it, and those of a file joined in order give the same
index however the file was cut. It holds plain values and bytes, ready to be sent elsewhere and to be joined at once.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from agentdbg.analysis import run_columns as columns
from agentdbg.index.block_columns import facts_of, positions_of
from agentdbg.index.ids import pack_ids, split_ids
from agentdbg.index.scan import scan_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.index.block_columns import Facts
    from agentdbg.index.scan import Scan

__all__ = ["NOT_STRICT", "STRICT_AFTER_GAP", "STRICT_JOINED", "Stretch", "read_stretch"]

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


def read_stretch(
    lines: bytes, offset: int, run_id: str, started_ms: int | None, last_ms: int | None = None
) -> Stretch | None:
    """
    What `lines` say, which stand at `offset`; `started_ms` is the time of the run's first event, None if it is here.

    An event without a time of its own has that of the one before, which is `last_ms` for the first; where that would
    have to be known and is None, there is no answer.
    """
    scan = scan_lines(lines, offset, run_id, last_ms or 0)
    if scan.lacks_first_time and last_ms is None:
        return None
    if not scan.events:
        return Stretch(scan.line_count, scan.damaged)
    facts = facts_of(scan)
    parents = list(dict.fromkeys(facts.parent_ids))
    tools = list(dict.fromkeys(facts.tool_calls.names))
    spent = facts.spent()
    tokens = spent.tokens()
    return Stretch(
        line_count=scan.line_count,
        damaged=scan.damaged,
        first_ms=scan.ts_ms[0],
        last_ms=scan.ts_ms[-1],
        offset=array("Q", scan.offsets).tobytes(),
        length=array("I", scan.lengths).tobytes(),
        strictness=_strictness(scan),
        kind=bytes(facts.kinds),
        status=bytes(facts.statuses),
        severity=bytes(facts.severities),
        types=facts.types,
        type=facts.type_codes,
        start_ms=_starts(scan.ts_ms, facts, scan.ts_ms[0] if started_ms is None else started_ms).tobytes(),
        duration_ms=_durations(facts).tobytes(),
        tokens=array("I", facts.tokens).tobytes(),
        ids=pack_ids(facts.event_ids),
        parents=_packed_or_none(parents),
        parent=_codes(parents, facts.parent_ids),
        tools=tools,
        tool=_codes(tools, facts.tool_calls.names),
        tool_positions=facts.tool_calls.positions,
        likeness=_likeness(tools, facts).tobytes(),
        started_positions=facts.started_calls.positions,
        started_ids=pack_ids(facts.started_calls.ids),
        tokens_in=tokens.given,
        tokens_out=tokens.written,
        total_tokens=tokens.total,
        cost_usd=spent.cost_usd if spent.costs_told else None,
    )


def _strictness(scan: Scan) -> bytes:
    if scan.is_whole:
        return bytes(scan.is_strict)  # 1 is STRICT_JOINED
    found = bytearray()
    end = scan.offsets[0]
    for offset, length, is_strict in zip(scan.offsets, scan.lengths, scan.is_strict, strict=True):
        found.append(is_strict and (STRICT_JOINED if offset == end else STRICT_AFTER_GAP))
        end = offset + length
    return bytes(found)


def _durations(facts: Facts) -> array[int]:
    nothing = columns.NO_VALUE
    if max(filter(None, facts.durations), default=0) > _LARGEST:
        return array("I", [nothing if duration is None else min(duration, _LARGEST) for duration in facts.durations])
    return array("I", [nothing if duration is None else duration for duration in facts.durations])


def _starts(times: list[int], facts: Facts, started_ms: int) -> array[int]:
    # A call is written when it ends, the end of the run when it happens.
    took = [duration or 0 for duration in facts.durations]
    for position in positions_of(columns.END, facts.kinds):
        took[position] = 0
    starts = [ts_ms - duration - started_ms for ts_ms, duration in zip(times, took, strict=True)]
    if min(starts) < 0 or max(starts) > _LARGEST:
        starts = [min(max(start, 0), _LARGEST) for start in starts]
    return array("I", starts)


def _packed_or_none(ids: Iterable[str | None]) -> list[bytes | None]:
    known = [one for one in ids if one]
    packed = dict(zip(known, split_ids(pack_ids(known)), strict=True))
    return [packed[one] if one else None for one in ids]


def _codes(table: Iterable[str | None], values: Iterable[str | None]) -> list[int]:
    code_of = {value: code for code, value in enumerate(table)}
    return list(map(code_of.__getitem__, values))


def _likeness(tools: Iterable[str], facts: Facts) -> array[int]:
    seeds = {name: crc32(name.encode(errors="replace")) for name in tools}
    calls = facts.tool_calls
    return array(
        "Q",
        [
            crc32(args, seeds[name]) << 31 | len(args) & 0x7FFFFFFF
            for name, args in zip(calls.names, calls.args, strict=True)
        ],
    )
