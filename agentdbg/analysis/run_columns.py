"""
What is known about every event of a run without opening it: a few small columns.

An event's number counts from 1 in file order; its value in a column stands at `number - 1`. `RunColumns` is what the
analysis asks of an index; the codes are those of the skeleton the server sends to the page. `MemoryColumns` gives the
same for a run whose events are already in memory: a short run, the tail of a long one, a test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.analysis.wording import as_json, number_or_none, timestamp_ms
from agentdbg.events.facts import NO_TOKENS, RunTotals, call_failed, cost_of, is_span, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.events import Event

__all__ = [
    "CALL_KINDS",
    "ENDED",
    "ERROR",
    "KINDS",
    "NO_STATUS",
    "NO_VALUE",
    "OK",
    "SEVERITIES",
    "MemoryColumns",
    "RunColumns",
    "kind_of",
    "lacks_times",
    "payload_of",
    "severity_of",
    "status_of",
]

NO_VALUE = 0xFFFFFFFF
"""Stands for null in the columns of 32 bits."""

KINDS = ("other", "llm", "tool", "state", "span", "loop", "error", "start", "end", "call_start")
OTHER, LLM, TOOL, STATE, SPAN, LOOP, EXCEPTION, START, END, CALL_START = range(len(KINDS))
CALL_KINDS = frozenset({LLM, TOOL})

NO_STATUS, OK, ERROR, ENDED = range(4)
"""`ENDED` is a CALL_START whose call has ended: it has no row of its own."""

SEVERITIES = (None, "info", "warning", "critical")

_KIND_OF_TYPE = {
    "LLM_CALL": LLM,
    "TOOL_CALL": TOOL,
    "STATE_UPDATE": STATE,
    "LOOP_WARNING": LOOP,
    "ERROR": EXCEPTION,
    "RUN_START": START,
    "RUN_END": END,
    "CALL_START": CALL_START,
}

_WITH_STATUS = frozenset({LLM, TOOL, SPAN, END})


class RunColumns(Protocol):
    """The columns of one run, and the way to one whole event. Grows while the run is recorded or indexed."""

    @property
    def total(self) -> int:
        """How many events are indexed so far."""

    @property
    def complete(self) -> bool:
        """Whether that is the whole file."""

    @property
    def started_ms(self) -> int:
        """When the run began, in milliseconds of Unix time; `start_ms` counts from here."""

    @property
    def kind(self) -> Sequence[int]: ...
    @property
    def status(self) -> Sequence[int]: ...
    @property
    def severity(self) -> Sequence[int]: ...
    @property
    def type(self) -> Sequence[int]:
        """Positions in `types`."""

    @property
    def types(self) -> Sequence[str]: ...
    @property
    def parent_n(self) -> Sequence[int]:
        """The parent's number, 0 for none or unknown."""

    @property
    def start_ms(self) -> Sequence[int]: ...
    @property
    def duration_ms(self) -> Sequence[int]:
        """`NO_VALUE` for null."""

    @property
    def tokens(self) -> Sequence[int]:
        """`NO_VALUE` for null."""

    @property
    def tokens_in(self) -> int | None:
        """The sum over all model calls so far; None when no call told."""

    @property
    def tokens_out(self) -> int | None: ...
    @property
    def total_tokens(self) -> int | None: ...
    @property
    def cost_usd(self) -> float | None: ...

    def event(self, number: int) -> Event:
        """The whole event, read again."""

    def number_of(self, event_id: str) -> int | None:
        """Where an event stands; None for an id this run does not have."""

    def same_as(self, number: int) -> int | None:
        """The first earlier call of the same tool with the same arguments."""

    def previous_call(self, number: int) -> int | None:
        """The latest earlier call of the same tool."""


def payload_of(event: Event) -> dict[str, Any]:
    """The payload, or an empty one where a damaged event has none."""
    payload: Any = event.get("payload")
    return payload if isinstance(payload, dict) else {}


def lacks_times(labels: Any) -> bool:
    """Whether a run with this meta was imported from a file that has no times: that it took none is not known then."""
    imported = labels.get("imported_from") if isinstance(labels, dict) else None
    return isinstance(imported, dict) and bool(imported.get("times"))


def kind_of(event_type: str, meta: Any) -> int:
    """The code of a kind: its type, where a span is a STATE_UPDATE that says so in its meta."""
    kind = _KIND_OF_TYPE.get(event_type, OTHER)
    return SPAN if kind == STATE and is_span(event_type, meta) else kind


def status_of(kind: int, payload: Any) -> int:
    """The code of a status: calls, spans and the end of the run have one, an ERROR is one."""
    if kind == EXCEPTION:
        return ERROR
    if kind not in _WITH_STATUS or not isinstance(payload, dict):
        return NO_STATUS
    return ERROR if call_failed(payload) else OK


def severity_of(kind: int, payload: Any) -> int:
    """The code of a finding's severity; a warning that gives none (an older format) is a warning."""
    if kind != LOOP:
        return 0
    severity = payload.get("severity") if isinstance(payload, dict) else None
    return SEVERITIES.index(severity) if severity in ("info", "warning", "critical") else 2


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
        payload = payload_of(event)
        kind = kind_of(event["event_type"], event.get("meta"))
        self.kind.append(kind)
        self.status.append(status_of(kind, payload))
        self.severity.append(severity_of(kind, payload))
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
        self.duration_ms.append(min(length, NO_VALUE - 1) if known and length is not None else NO_VALUE)
        began = end - (length if known and length is not None and not is_end else 0)
        self.start_ms.append(min(max(began - self.started_ms, 0), NO_VALUE - 1))

    def _append_usage(self, kind: int, payload: dict[str, Any]) -> None:
        usage = tokens_of(payload) if kind == LLM else NO_TOKENS
        self.tokens.append(NO_VALUE if usage.total is None else min(usage.total, NO_VALUE - 1))
        if kind == LLM:
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
        if kind == CALL_START and isinstance(payload.get("call_id"), str):
            self._open_calls[payload["call_id"]] = number
        elif event_id in self._open_calls:
            self.status[self._open_calls.pop(event_id) - 1] = ENDED
        if kind == TOOL:
            name = event["name"]
            if name in self._latest:
                self._previous[number] = self._latest[name]
            self._latest[name] = number
            key = (name, as_json(payload.get("args")))
            if key in self._first_alike:
                self._same_as[number] = self._first_alike[key]
            else:
                self._first_alike[key] = number
