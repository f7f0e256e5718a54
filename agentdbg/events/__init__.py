"""
The shape of what is stored: event types, the ten keys, ids and timestamps.

Everything here is shared by the side that writes and the side that reads. Nothing here touches a file except
`load_schema`, which reads the JSON Schemas shipped with the package.
"""

from __future__ import annotations

import os
import time
from typing import Any, Literal, TypedDict

__all__ = [
    "BUILTIN_EVENT_TYPES",
    "COUNTED_CALLS",
    "EVENT_KEYS",
    "EVENT_TYPES",
    "MAX_LINE_BYTES",
    "MEDIA",
    "REDACTED",
    "SPEC_VERSION",
    "TRUNCATED",
    "Counts",
    "Event",
    "RunMeta",
    "load_schema",
    "new_id",
    "schema_problems",
    "utc_timestamp",
    "validate_event",
]

SPEC_VERSION = "0.1"
REDACTED = "__REDACTED__"
TRUNCATED = "__TRUNCATED__"
MEDIA = "__MEDIA__"
"""Begins the descriptor that stands for an image, a sound or a document: its type, its size and its hash."""
MAX_LINE_BYTES = 1_000_000

EVENT_TYPES = (
    "RUN_START",
    "RUN_END",
    "LLM_CALL",
    "TOOL_CALL",
    "STATE_UPDATE",
    "ERROR",
    "LOOP_WARNING",
    "CALL_START",
    "BREAK",
)
BUILTIN_EVENT_TYPES = frozenset(EVENT_TYPES)
COUNTED_CALLS = frozenset({"LLM_CALL", "TOOL_CALL"})
EVENT_KEYS = (
    "spec_version",
    "event_id",
    "run_id",
    "parent_id",
    "event_type",
    "ts",
    "duration_ms",
    "name",
    "payload",
    "meta",
)


class Event(TypedDict):
    """One line of events.jsonl: exactly these keys, in this order."""

    spec_version: str
    event_id: str
    run_id: str
    parent_id: str | None
    event_type: str
    ts: str
    duration_ms: int | None
    name: str
    payload: dict[str, Any]
    meta: dict[str, Any]


class Counts(TypedDict):
    """The four counters every run.json has."""

    llm_calls: int
    tool_calls: int
    errors: int
    loop_warnings: int


class _RequiredRunMeta(TypedDict):
    spec_version: str
    run_id: str
    run_name: str | None
    started_at: str
    ended_at: str | None
    duration_ms: int | None
    status: Literal["running", "ok", "error"]
    counts: Counts
    last_event_ts: str | None


class RunMeta(_RequiredRunMeta, total=False):
    """run.json: the required fields, then what we add; the last three are added by readers."""

    event_counts: dict[str, int]
    total_tokens: int | None
    cost_usd: float | None
    loop_cost_usd: float | None
    guardrails: dict[str, Any]
    metadata: dict[str, Any]
    agentdbg_version: str
    redaction: str
    dropped_events: int
    replay: dict[str, Any]
    owner: dict[str, Any]
    status_reason: str
    damaged_lines: int
    mark: dict[str, Any]


_BATCH = 256
_DIGITS = tuple(place for place, sign in enumerate("xxxxxxxx-....-....-....-xxxxxxxxxxxx") if sign == "x")
"""Where the digits stand that belong to one id; the middle is that of its batch."""


class _IdPool:
    """Ids made in batches: ten times cheaper each than `uuid.uuid4`."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: list[str] = []

    def take(self) -> str:
        while True:
            try:
                return self._ids.pop()
            except IndexError:
                pass  # filled outside of the handler, so that an interruption of that has nothing chained to it
            self._refill()

    def _refill(self) -> None:
        # Eighty bits of an id are its own; the middle, with the 4 and the variant of a UUIDv4, is its batch's.
        middle = os.urandom(6).hex()
        middle = f"-{middle[:4]}-4{middle[4:7]}-{'89ab'[int(middle[7], 16) % 4]}{middle[8:11]}-"
        ids = bytearray(f"{'':8}{middle}{'':12}\n".encode() * _BATCH)
        digits = os.urandom(len(_DIGITS) * _BATCH // 2).hex().encode()
        # One digit of all ids at a time: a batch is twenty steps then, and not a few hundred.
        for number, place in enumerate(_DIGITS):
            ids[place :: len(ids) // _BATCH] = digits[number * _BATCH : (number + 1) * _BATCH]
        self._ids.extend(ids.decode().split())

    def forget(self) -> None:
        self._ids.clear()


_pool = _IdPool()
# A forked child must not hand out the ids its parent will hand out too.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)

new_id = _pool.take
"""A new UUIDv4 as a string."""

_SECOND = 1_000_000_000
_second_shown = [(-_SECOND, "")]
"""When the second that was shown last began, in nanoseconds, and how it is written. A race only recomputes it."""
_MILLISECONDS = tuple(f".{number:03d}Z" for number in range(1000))


clock_ns = time.time_ns
"""The clock of everything that is recorded; a replay sets the program's own to another time."""


def utc_timestamp(seconds: float | None = None) -> str:
    """Now (or the given Unix time) as UTC ISO 8601 with milliseconds and a trailing Z."""
    now = clock_ns() if seconds is None else int(seconds * 1000) * 1_000_000
    begin, shown = _second_shown[0]
    into = now - begin
    if not 0 <= into < _SECOND:
        into = now % _SECOND
        shown = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // _SECOND))
        _second_shown[0] = (now - into, shown)
    return shown + _MILLISECONDS[into // 1_000_000]  # of a small number: dividing the time itself takes much longer


def load_schema(event_type: str | None = None) -> dict[str, Any]:
    """
    The JSON Schema of an event; of one type's events when `event_type` is given; of run.json for `"run"`.

    A type we do not know gets the general event schema, as readers must accept it.
    """
    schema: dict[str, Any] = _schemas().read_schema(event_type)
    return schema


def validate_event(event: Any) -> bool:
    """Whether `event` is what the trace format says; `schema_problems` says what is not."""
    return not schema_problems(event)


def schema_problems(event: Any) -> list[str]:
    """What is wrong with `event` according to its schema, one sentence each; empty when it is valid."""
    problems: list[str] = _schemas().event_problems(event)
    return problems


def _schemas() -> Any:
    from agentdbg import schemas  # noqa: PLC0415 -- json is not needed to record

    return schemas
