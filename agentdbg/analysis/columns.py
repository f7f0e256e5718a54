"""
What is known about every event of a run without opening it: a few small columns.

An event's number counts from 1 in file order; its value in a column stands at `number - 1`. `RunColumns` is what the
analysis asks of an index; the codes are those of the skeleton the server sends to the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.events.facts import call_failed, is_span

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    "RunColumns",
    "kind_of",
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
