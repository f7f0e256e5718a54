"""
The columns of a run whose events are already in memory: a short run, the tail of a long one, a test.

It gives what an index over a file gives, so everything written against `RunColumns` works on either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis import columns
from agentdbg.analysis.wording import as_json, number_or_none, timestamp_ms
from agentdbg.events.facts import NO_TOKENS, cost_of, tokens_of
from agentdbg.events.totals import RunTotals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.events import Event

__all__ = ["MemoryColumns"]


class MemoryColumns:
    """A run's events and the columns made from them."""

    complete = True

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.started_ms = 0
        self.kind = bytearray()
        self.status = bytearray()
        self.severity = bytearray()
        self.type: list[int] = []
        self.types: list[str] = []
        self.parent_n: list[int] = []
        self.start_ms: list[int] = []
        self.duration_ms: list[int] = []
        self.tokens: list[int] = []
        self._spent = RunTotals()
        self._events: list[Event] = []
        self._numbers: dict[str, int] = {}
        self._waiting: dict[str, list[int]] = {}
        self._open_calls: dict[str, int] = {}
        self._first_alike: dict[tuple[str, str], int] = {}
        self._latest: dict[str, int] = {}
        self._same_as: dict[int, int] = {}
        self._previous: dict[int, int] = {}
        for event in events:
            self.append(event)

    @property
    def total(self) -> int:
        return len(self._events)

    @property
    def tokens_in(self) -> int | None:
        return self._spent.tokens().given

    @property
    def tokens_out(self) -> int | None:
        return self._spent.tokens().written

    @property
    def total_tokens(self) -> int | None:
        return self._spent.tokens().total

    @property
    def cost_usd(self) -> float | None:
        return self._spent.cost()

    def event(self, number: int) -> Event:
        return self._events[number - 1]

    def number_of(self, event_id: str) -> int | None:
        return self._numbers.get(event_id)

    def same_as(self, number: int) -> int | None:
        return self._same_as.get(number)

    def previous_call(self, number: int) -> int | None:
        return self._previous.get(number)

    def append(self, event: Event) -> None:
        """Add the next event of the file."""
        self._events.append(event)
        number = len(self._events)
        payload: Any = event.get("payload")
        payload = payload if isinstance(payload, dict) else {}
        kind = columns.kind_of(event["event_type"], event.get("meta"))
        self.kind.append(kind)
        self.status.append(columns.status_of(kind, payload))
        self.severity.append(columns.severity_of(kind, payload))
        if event["event_type"] not in self.types:
            self.types.append(event["event_type"])
        self.type.append(self.types.index(event["event_type"]))
        self._append_times(event)
        self._append_usage(kind, payload)
        self._link(event, kind, number, payload)

    def _append_times(self, event: Event) -> None:
        end = timestamp_ms(event.get("ts")) or self.started_ms
        length = number_or_none(event.get("duration_ms"))
        if not self.start_ms:
            self.started_ms = end
        known = length is not None and length >= 0
        is_end = event["event_type"] == "RUN_END"
        self.duration_ms.append(min(length, columns.NO_VALUE - 1) if known and length is not None else columns.NO_VALUE)
        began = end - (length if known and length is not None and not is_end else 0)
        self.start_ms.append(min(max(began - self.started_ms, 0), columns.NO_VALUE - 1))

    def _append_usage(self, kind: int, payload: dict[str, Any]) -> None:
        usage = tokens_of(payload) if kind == columns.LLM else NO_TOKENS
        self.tokens.append(columns.NO_VALUE if usage.total is None else min(usage.total, columns.NO_VALUE - 1))
        if kind == columns.LLM:
            self._spent.add_model_call(usage, cost_of(payload))

    def _link(self, event: Event, kind: int, number: int, payload: dict[str, Any]) -> None:
        event_id, parent_id = event["event_id"], event.get("parent_id")
        self._numbers.setdefault(event_id, number)
        for child in self._waiting.pop(event_id, ()):
            self.parent_n[child - 1] = number
        self.parent_n.append(self._numbers.get(parent_id, 0) if parent_id else 0)
        if parent_id and parent_id not in self._numbers:
            # A call or a span is written when it ends, after what happened inside it.
            self._waiting.setdefault(parent_id, []).append(number)
        if kind == columns.CALL_START and isinstance(payload.get("call_id"), str):
            self._open_calls[payload["call_id"]] = number
        elif event_id in self._open_calls:
            self.status[self._open_calls.pop(event_id) - 1] = columns.ENDED
        if kind == columns.TOOL:
            name = event["name"]
            if name in self._latest:
                self._previous[number] = self._latest[name]
            self._latest[name] = number
            key = (name, as_json(payload.get("args")))
            if key in self._first_alike:
                self._same_as[number] = self._first_alike[key]
            else:
                self._first_alike[key] = number
