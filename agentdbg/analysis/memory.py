"""
The columns of a run whose events are already in memory: a short run, the tail of a long one, a test.

It gives what an index over a file gives, so everything written against `RunColumns` works on either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis import columns
from agentdbg.analysis.wording import as_json, number_or_none, timestamp_ms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.events import Event

__all__ = ["MemoryColumns", "token_counts"]

_LARGEST = 1 << 60


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
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.cost_usd: float | None = None
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
        tokens_in, tokens_out, total = token_counts(payload) if kind == columns.LLM else (None, None, None)
        self.tokens.append(columns.NO_VALUE if total is None else min(max(total, 0), columns.NO_VALUE - 1))
        if tokens_in is not None:
            self.tokens_in = (self.tokens_in or 0) + tokens_in
        if tokens_out is not None:
            self.tokens_out = (self.tokens_out or 0) + tokens_out
        cost = payload.get("cost_usd")
        if kind == columns.LLM and isinstance(cost, (int, float)) and not isinstance(cost, bool):
            self.cost_usd = (self.cost_usd or 0.0) + cost

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


def token_counts(payload: dict[str, Any]) -> tuple[int | None, int | None, int | None]:
    """Tokens in, out and in all of a model call, as far as its usage says."""
    usage = payload.get("usage")
    if not isinstance(usage, dict):
        return None, None, None
    given_in: Any = usage.get("prompt_tokens")
    given_out: Any = usage.get("completion_tokens")
    given: Any = usage.get("total_tokens")
    # Three plain numbers, as nearly always, need no closer look.
    are_plain = type(given_in) is type(given_out) is type(given) is int
    if are_plain and 0 <= given_in <= given < _LARGEST and 0 <= given_out <= given:
        return given_in, given_out, given
    tokens_in = _first_number(usage, "prompt_tokens", "input_tokens")
    tokens_out = _first_number(usage, "completion_tokens", "output_tokens")
    total = _first_number(usage, "total_tokens")
    if total is None and (tokens_in is not None or tokens_out is not None):
        total = (tokens_in or 0) + (tokens_out or 0)
    return tokens_in, tokens_out, total


def _first_number(usage: dict[str, Any], *keys: str) -> int | None:
    for key in keys:
        count = number_or_none(usage.get(key))
        if count is not None:
            return count
    return None
