"""
What some whole lines of a run's file say, as columns.

A `Stretch` is made from its lines alone, so any process may make it, and those of a file joined in order give the same
index however the file was cut. It holds plain values and bytes, ready to be sent elsewhere and to be joined at once.

What a block of events says, as columns.

An index asks little of each event, so a block in the strict form is taken apart a column at a time, in C where that can
be done; only calls, states, warnings and started calls are looked at one by one. A block with anything else in it is
asked event by event, with the same result.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from agentdbg.analysis import run_columns as columns
from agentdbg.encoding import IS_FAST
from agentdbg.events.totals import RunTotals
from agentdbg.index.links import pack_ids, split_ids
from agentdbg.index.scan import scan_lines

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from agentdbg.events.facts import Tokens
    from agentdbg.index.scan import Scan

__all__ = [
    "NOT_STRICT",
    "STRICT_AFTER_GAP",
    "STRICT_JOINED",
    "Facts",
    "Stretch",
    "facts_of",
    "positions_of",
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


class ToolCalls(NamedTuple):
    """The tool calls of a block, as parallel lists."""

    positions: list[int]
    names: list[str]
    args: list[Any]
    """As JSON."""

    def add(self, position: int, name: str, args: Any) -> None:
        self.positions.append(position)
        self.names.append(name)
        self.args.append(args)


class StartedCalls(NamedTuple):
    """The CALL_STARTs of a block, with the ids that the ends of their calls will have."""

    positions: list[int]
    ids: list[str]

    def add(self, position: int, call_id: str | None) -> None:
        if call_id is not None:
            self.positions.append(position)
            self.ids.append(call_id)


@dataclass
class Facts:
    """One block's columns, and what later events may refer to. Positions count from 0."""

    kinds: bytearray
    statuses: bytearray
    severities: bytearray
    types: list[str]
    type_codes: Sequence[int]
    """Positions in `types`."""
    event_ids: Sequence[str]
    parent_ids: Sequence[str | None]
    durations: Sequence[int | None]
    tokens: list[int]
    tool_calls: ToolCalls
    started_calls: StartedCalls = field(default_factory=lambda: StartedCalls([], []))
    model_calls: list[tuple[int, Tokens, float | None]] = field(default_factory=list)
    """Where each model call stands, and its tokens and cost."""

    def add_model_call(self, position: int, usage: Tokens, cost_usd: float | None) -> None:
        """Note what one model call spent."""
        self.model_calls.append((position, usage, cost_usd))
        total = usage[2]
        if total is not None:
            self.tokens[position] = min(total, _LARGEST)

    def spent(self, without: Container[int] = ()) -> RunTotals:
        """What the block's model calls spent, those at some positions left out."""
        totals = RunTotals()
        for position, usage, cost_usd in self.model_calls:
            if position not in without:
                totals.add_model_call(usage, cost_usd)
        return totals


def facts_of(scan: Scan) -> Facts:
    """The columns of a block that has at least one event."""
    return _of_strict(scan.events) if scan.is_whole else _of_each(scan.events)


def positions_of(value: int, column: bytearray) -> Iterator[int]:
    """Where a column of small numbers holds a value, counted from 0."""
    position = column.find(value)
    while position >= 0:
        yield position
        position = column.find(value, position + 1)


def _of_each(events: list[Any]) -> Facts:
    types = list(dict.fromkeys(event.event_type for event in events))
    code_of = {name: code for code, name in enumerate(types)}
    facts = Facts(
        kinds=bytearray(event.kind for event in events),
        statuses=bytearray(event.status for event in events),
        severities=bytearray(event.severity for event in events),
        types=types,
        type_codes=[code_of[event.event_type] for event in events],
        event_ids=[event.event_id for event in events],
        parent_ids=[event.parent_id for event in events],
        durations=[event.duration_ms for event in events],
        tokens=[columns.NO_VALUE] * len(events),
        tool_calls=ToolCalls([], [], []),
    )
    for position, event in enumerate(events):
        kind = facts.kinds[position]
        if kind == columns.TOOL:
            facts.tool_calls.add(position, event.name, event.args)
        elif kind == columns.LLM:
            facts.add_model_call(position, event.usage, event.cost_usd)
        elif kind == columns.CALL_START:
            facts.started_calls.add(position, event.call_id)
    return facts


if IS_FAST:
    from agentdbg.index import strict

    _KIND_OF_CLASS: dict[type, int] = {
        strict.LlmCall: columns.LLM,
        strict.ToolCall: columns.TOOL,
        strict.StateUpdate: columns.STATE,
        strict.ErrorEvent: columns.EXCEPTION,
        strict.LoopWarning: columns.LOOP,
        strict.RunStart: columns.START,
        strict.RunEnd: columns.END,
        strict.CallStart: columns.CALL_START,
    }
    _TYPE_OF_KIND: dict[int, str] = {kind: vars(found)["event_type"] for found, kind in _KIND_OF_CLASS.items()}
    # What an event of a kind is unless it says otherwise.
    _STATUS_OF_KIND = dict.fromkeys((columns.LLM, columns.TOOL, columns.END), columns.OK)
    _STATUS_OF_KIND[columns.EXCEPTION] = columns.ERROR
    _USUAL_STATUS = bytes(_STATUS_OF_KIND.get(kind, columns.NO_STATUS) for kind in range(256))
    _ONLY = {kind: bytes(code == kind for code in range(256)) for kind in range(len(columns.KINDS))}


def _of_strict(events: list[Any]) -> Facts:
    kinds = bytearray(map(_KIND_OF_CLASS.__getitem__, map(type, events)))
    types = bytes(dict.fromkeys(kinds))  # a kind has one type, spans aside, and those are told apart below
    facts = Facts(
        kinds=kinds,
        statuses=kinds.translate(_USUAL_STATUS),
        severities=bytearray(len(events)),
        types=[_TYPE_OF_KIND[kind] for kind in types],
        type_codes=kinds.translate(bytes.maketrans(types, bytes(range(len(types))))),
        event_ids=[event.event_id for event in events],
        parent_ids=[event.parent_id for event in events],
        durations=[event.duration_ms for event in events],
        tokens=[columns.NO_VALUE] * len(events),
        tool_calls=ToolCalls([], [], []),
    )
    _add_model_calls(facts, _chosen(kinds, columns.LLM, events))
    _add_tool_calls(facts, _chosen(kinds, columns.TOOL, events))
    for position, event in _chosen(kinds, columns.CALL_START, events):
        facts.started_calls.add(position, event.payload.call_id)
    for position, event in [
        *_chosen(kinds, columns.STATE, events),
        *_chosen(kinds, columns.LOOP, events),
        *_chosen(kinds, columns.END, events),
    ]:
        facts.kinds[position], facts.statuses[position] = event.kind, event.status
        facts.severities[position] = event.severity
    return facts


def _chosen(kinds: bytearray, kind: int, values: Sequence[Any]) -> Iterable[tuple[int, Any]]:
    """The values at the positions of one kind, with those positions."""
    if kind not in kinds:
        return ()
    mask = kinds.translate(_ONLY[kind])
    return zip(compress(range(len(kinds)), mask), compress(values, mask), strict=True)


def _add_tool_calls(facts: Facts, calls: Iterable[tuple[int, Any]]) -> None:
    positions, names, args = facts.tool_calls
    for position, event in calls:
        payload = event.payload
        if payload.error is not None or payload.status == "error":
            facts.statuses[position] = columns.ERROR
        positions.append(position)
        names.append(event.name)
        args.append(payload.args)


def _add_model_calls(facts: Facts, calls: Iterable[tuple[int, Any]]) -> None:
    for position, event in calls:
        payload = event.payload
        if payload.error is not None or payload.status == "error":
            facts.statuses[position] = columns.ERROR
        facts.add_model_call(position, event.usage, event.cost_usd)
