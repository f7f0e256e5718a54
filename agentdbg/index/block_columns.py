"""
What a block of events says, as columns.

An index asks little of each event, so a block in the strict form is taken apart a column at a time, in C where that can
be done; only calls, states, warnings and started calls are looked at one by one. A block with anything else in it is
asked event by event, with the same result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis import run_columns as columns
from agentdbg.encoding import IS_FAST
from agentdbg.events.totals import RunTotals

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from agentdbg.events.facts import Tokens
    from agentdbg.index.scan import Scan

__all__ = ["Facts", "ToolCalls", "facts_of", "positions_of"]

_LARGEST = columns.NO_VALUE - 1


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
