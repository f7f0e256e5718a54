"""
Which events of a run become spans, and which are moments in the life of one.

The run itself, model calls, tool calls, traced functions and whatever else took time are spans. What has no length (a
state, a loop finding, an error) belongs to the nearest span around it that is still open. Events are taken in the order
of the file and spans come out as they end, always the same ones in the same order, so that who was interrupted can skip
what was sent before. Memory does not grow with the run.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from agentdbg.analysis.run_columns import CALL_START, END, EXCEPTION, LLM, LOOP, SPAN, START, TOOL, kind_of
from agentdbg.encoding import encode_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.events import Event

__all__ = ["RUN", "Moment", "Node", "Outline"]

RUN = START
"""The kind of the run's own span."""

_MOST_MOMENTS = 128
"""
For one span, as the OpenTelemetry SDKs have it. What comes after becomes a span without length. Half of the places are
kept for findings and errors, which are few and matter most.
"""
_MOST_WAITING_BYTES = 4 << 20
_REMEMBERED = 10_000
_DEEPEST = 1_000


class Moment(NamedTuple):
    """An event without length, and its place in the run, from 1."""

    event: Event
    sequence: int


@dataclass
class Node:
    """One span to be: its event, what happened in it, and the event whose span is around it (None: the run's own)."""

    kind: int
    event: Event | None
    sequence: int
    parent_id: str | None
    moments: list[Moment] = field(default_factory=list)
    end: Moment | None = None
    """Of the run's own span: RUN_END."""
    last_ts: str = ""
    """Of spans that nobody ended: when something was last heard."""


class Outline:
    """Takes a run's events one by one and gives the spans that are complete; `taken` is how many it was given."""

    def __init__(self) -> None:
        self.taken = 0
        self._start: Moment | None = None
        self._end: Moment | None = None
        self._last_ts = ""
        self._calls: dict[str, Moment] = {}
        # For each open span, what happened in it; None is the run's own.
        self._waiting: dict[str | None, list[Moment]] = {}
        self._waiting_bytes = 0
        # Spans that are out already, and events that never become one, with what is around them. The latest ones are
        # enough to find the way up.
        self._closed: OrderedDict[str, str | None] = OrderedDict()
        self._spanless: OrderedDict[str, str | None] = OrderedDict()

    @property
    def has_ended(self) -> bool:
        """Whether RUN_END has been seen."""
        return self._end is not None

    @property
    def start(self) -> Event | None:
        """RUN_START, once it was seen."""
        return self._start.event if self._start else None

    def take(self, event: Event) -> Iterator[Node]:
        """The spans that are complete with this event: mostly one or none."""
        self.taken += 1
        moment = Moment(event, self.taken)
        self._last_ts = max(self._last_ts, event["ts"])
        kind = kind_of(event["event_type"], event["meta"])
        if kind == START and self._start is None:
            self._start = moment
        elif kind == END and self._end is None:
            self._end = moment
        elif kind == CALL_START:
            self._calls[str(event["payload"].get("call_id") or event["event_id"])] = moment
        elif kind in (LLM, TOOL, SPAN) or event["duration_ms"] is not None:
            self._calls.pop(event["event_id"], None)
            yield self._closing(kind, moment)
        else:
            yield from self._hold(kind, moment)

    def finish(self) -> Iterator[Node]:
        """The spans of a run that is over: calls that never ended, what nobody claimed, and the run itself."""
        for call_id, begun in self._calls.items():
            node = self._node(CALL_START, begun, self._waiting.pop(call_id, []))
            node.last_ts = self._last_ts
            yield node
        moments = self._waiting.pop(None, [])
        # The spans around these were never written: the run is what is left to hang them on.
        for moment in sorted((one for held in self._waiting.values() for one in held), key=lambda one: one.sequence):
            if len(moments) < _MOST_MOMENTS:
                moments.append(moment)
            else:
                yield self._node(kind_of(moment.event["event_type"], None), moment, [])
        self._waiting.clear()
        start = self._start
        yield Node(
            RUN,
            start.event if start else None,
            start.sequence if start else 0,
            None,
            sorted(moments, key=lambda one: one.sequence),
            end=self._end,
            last_ts=self._last_ts,
        )

    def _closing(self, kind: int, moment: Moment) -> Node:
        event_id = moment.event["event_id"]
        moments = self._waiting.pop(event_id, [])
        if self._waiting_bytes:
            self._waiting_bytes -= sum(_size(held) for held in moments)
        node = self._node(kind, moment, moments)
        _remember(self._closed, event_id, node.parent_id)
        return node

    def _hold(self, kind: int, moment: Moment) -> Iterator[Node]:
        """Keep a moment for the span it belongs to, or make it a span of its own where there is no room."""
        around = _climb(self._closed, self._span_around(moment.event["parent_id"]))
        held = self._waiting.get(around, [])
        room = _MOST_MOMENTS if kind in (LOOP, EXCEPTION) else _MOST_MOMENTS // 2
        size = _size(moment)
        if len(held) >= room or self._waiting_bytes + size > _MOST_WAITING_BYTES:
            yield self._node(kind, moment, [])
            return
        self._waiting.setdefault(around, []).append(moment)
        self._waiting_bytes += size
        _remember(self._spanless, moment.event["event_id"], moment.event["parent_id"])

    def _node(self, kind: int, moment: Moment, moments: list[Moment]) -> Node:
        return Node(kind, moment.event, moment.sequence, self._span_around(moment.event["parent_id"]), moments)

    def _span_around(self, parent_id: str | None) -> str | None:
        parent_id = _climb(self._spanless, parent_id)
        return None if self._start is not None and parent_id == self._start.event["event_id"] else parent_id


def _climb(around: OrderedDict[str, str | None], event_id: str | None) -> str | None:
    """Up from an event to the first that is not in `around`; events that are around each other end somewhere too."""
    for _ in range(_DEEPEST):
        if event_id is None or event_id not in around:
            break
        event_id = around[event_id]
    return event_id


def _remember(around: OrderedDict[str, str | None], event_id: str, parent_id: str | None) -> None:
    around[event_id] = parent_id
    if len(around) > _REMEMBERED:
        around.popitem(last=False)


def _size(moment: Moment) -> int:
    return len(encode_json(moment.event["payload"]))
