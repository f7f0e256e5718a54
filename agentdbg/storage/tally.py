"""
Count a run again from its events, as its writer would have.

A `Tally` is fed lines and gives what run.json would say: the counters, how the run ended, and when its process is gone,
what it was doing last.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from agentdbg.events import COUNTED_CALLS, SPEC_VERSION, Event, RunMeta
from agentdbg.events.facts import COST_DIGITS, RunTotals, amount, call_failed
from agentdbg.storage.dialects import DamagedLine, is_supported_version, parse_event, timestamp_ms

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = ["COUNTERS", "Tally", "is_count", "later_format_reason", "milliseconds_between"]

COUNTERS = {"LLM_CALL": "llm_calls", "TOOL_CALL": "tool_calls", "ERROR": "errors", "LOOP_WARNING": "loop_warnings"}
_LARGEST_PROBE = 1_000_000


class Tally:
    """Counts events, and notes how the run began and ended."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._totals = RunTotals()
        self._by_type: dict[str, int] = {}
        self._loop_cost: float | None = None
        self._damaged = 0
        self._first: Event | None = None
        self._start: Event | None = None
        self._end: Event | None = None
        self._last: Event | None = None
        self._later_format: str | None = None
        self._open_calls: dict[str, str] = {}

    @property
    def has_begun(self) -> bool:
        """Whether an event has been read."""
        return self._first is not None

    def add(self, line: bytes | None, offset: int) -> None:
        if line is not None and not line.strip():
            return
        try:
            if line is None:
                raise DamagedLine("too long")
            event = parse_event(line, self._run_id, offset, **self._fallback())
        except DamagedLine:
            self._damaged += 1
            self._notice_later_format(line)
            return
        self._first = self._first or event
        self._last = event
        event_type = event["event_type"]
        self._by_type[event_type] = self._by_type.get(event_type, 0) + 1
        if event_type == "RUN_START":
            self._start = self._start or event
        elif event_type == "RUN_END":
            self._end = event
        elif event_type == "CALL_START":
            self._open_calls[str(event["payload"].get("call_id"))] = str(event["payload"].get("name") or event["name"])
        elif event_type == "LOOP_WARNING":
            self._add_loop_cost(event["payload"])
        elif event_type in COUNTED_CALLS:
            self._open_calls.pop(event["event_id"], None)
        self._totals.add(event_type, event["payload"])

    def _fallback(self) -> dict[str, str]:
        return {"fallback_ts": self._last["ts"]} if self._last else {}

    def result(self, is_live: bool, folder_time: str) -> RunMeta:
        begin = self._start or self._first
        later_format = self._later_format if self._first is None else None
        started_at = begin["ts"] if begin else folder_time
        last_ts = self._last["ts"] if self._last else None
        meta: dict[str, Any] = {
            "spec_version": later_format or SPEC_VERSION,
            "run_id": self._run_id,
            "run_name": self._run_name(),
            "started_at": started_at,
            "ended_at": None,
            "duration_ms": None,
            "status": "running",
            "counts": self._totals.counts(),
            "last_event_ts": last_ts,
            "event_counts": self._by_type,
            "total_tokens": self._totals.tokens().total,
            "cost_usd": self._totals.cost(),
            "loop_cost_usd": self._loop_cost,
        }
        if self._start and self._start["meta"]:
            meta["metadata"] = self._start["meta"]
        if self._start and isinstance(self._start["payload"].get("guardrails"), dict):
            meta["guardrails"] = self._start["payload"]["guardrails"]
        if self._damaged:
            meta["damaged_lines"] = self._damaged
        if later_format:
            meta.update(status="error", status_reason=later_format_reason(later_format))
        elif self._end is not None:
            self._close_as_recorded(meta, self._end)
        elif not is_live:
            meta.update(
                status="error",
                ended_at=last_ts or started_at,
                duration_ms=milliseconds_between(started_at, last_ts or started_at),
            )
            meta["status_reason"] = self._reason()
        return cast("RunMeta", meta)

    def _add_loop_cost(self, payload: dict[str, Any]) -> None:
        """What a loop had cost when it was told; what it cost in the end only RUN_END knows."""
        spent = payload.get("spent")
        cost = amount(spent.get("cost_usd")) if isinstance(spent, dict) else None
        if payload.get("severity") != "info" and cost is not None:
            self._loop_cost = round((self._loop_cost or 0.0) + cost, COST_DIGITS)

    def _notice_later_format(self, line: bytes | None) -> None:
        if self._first is not None or line is None or len(line) > _LARGEST_PROBE:
            return
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return
        version = value.get("spec_version") if isinstance(value, dict) else None
        if isinstance(version, str) and not is_supported_version(version):
            self._later_format = version

    def _run_name(self) -> str | None:
        if self._start is None:
            return None
        name = self._start["payload"].get("run_name")
        return name if isinstance(name, str) and name else self._start["name"] or None

    def _close_as_recorded(self, meta: dict[str, Any], end: Event) -> None:
        payload = end["payload"]
        meta["status"] = "error" if call_failed(payload) else "ok"
        meta["ended_at"] = end["ts"]
        meta["duration_ms"] = (
            end["duration_ms"]
            if end["duration_ms"] is not None
            else milliseconds_between(meta["started_at"], end["ts"])
        )
        summary = payload.get("summary")
        if isinstance(summary, dict) and (cost := amount(summary.get("loop_cost_usd"))) is not None:
            meta["loop_cost_usd"] = cost
        if isinstance(summary, dict) and is_count(summary.get("dropped_events")):
            meta["dropped_events"] = summary["dropped_events"]

    def _reason(self) -> str:
        if self._last is None:
            return "the process ended before it recorded anything"
        reason = "the process ended without closing the run; the last thing recorded was "
        if self._last["event_type"] == "CALL_START":
            return f"{reason}the start of {self._last['payload'].get('name') or self._last['name']}"
        if self._open_calls:
            return f"{reason}{_said(self._last)}, inside {list(self._open_calls.values())[-1]}"
        return reason + _said(self._last)


def _said(event: Event) -> str:
    words = {
        "LLM_CALL": "an answer of",
        "TOOL_CALL": "the result of",
        "ERROR": "the error",
        "STATE_UPDATE": "the state",
    }
    if event["event_type"] == "RUN_START":
        return "its start"
    return f"{words.get(event['event_type'], event['event_type'])} {event['name']}"


def is_count(value: Any) -> TypeGuard[int]:
    """Whether `value` is a number of things."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def milliseconds_between(start: str, end: str | None) -> int | None:
    """From one strict timestamp to another; never negative, as clocks are set back."""
    return None if end is None else max(0, timestamp_ms(end) - timestamp_ms(start))


def later_format_reason(spec_version: str) -> str:
    """Why a run shows nothing but its name."""
    return f"written in trace format {spec_version}, which this version does not read; upgrade agentdbg"
