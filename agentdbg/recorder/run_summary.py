"""
A run as a whole: what RUN_START tells, the summary RUN_END carries, and the content of run.json.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.events import SPEC_VERSION
from agentdbg.events.totals import COST_DIGITS
from agentdbg.faults import pass_on
from agentdbg.owner import describe_owner
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentdbg.recorder.counters import Counters

__all__ = ["encode_run_meta", "end_summary", "start_fields"]

_COUNTS = ("llm_calls", "tool_calls", "errors", "loop_warnings")


def start_fields(
    run_name: str, argv: list[str], start: Mapping[str, Any], guardrails: Mapping[str, Any]
) -> dict[str, Any]:
    """The payload of RUN_START; `argv` is redacted already."""
    return {
        "run_name": run_name,
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "platform": sys.platform,
        "cwd": _current_folder(),
        "argv": argv,
        **start,
        "guardrails": guardrails,
        "agentdbg_version": __version__,
    }


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError as error:
        pass_on(error)
        return None


def end_summary(counters: Counters, duration_ms: int) -> dict[str, Any]:
    """The `summary` of RUN_END."""
    return {
        "llm_calls": counters.whole("llm_calls"),
        "tool_calls": counters.whole("tool_calls"),
        "errors": counters.whole("errors"),
        "duration_ms": duration_ms,
        "loop_warnings": counters.whole("loop_warnings"),
        "total_tokens": _total_tokens(counters),
        "cost_usd": _cost_usd(counters),
        "loop_cost_usd": _loop_cost_usd(counters),
    }


def encode_run_meta(
    *,
    run_id: str,
    run_name: str,
    started_at: str,
    ended_at: str | None,
    duration_ms: int | None,
    status: str,
    last_event_ts: str,
    counters: Counters,
    guardrails: Mapping[str, Any],
    metadata: bytes,
    redaction: str,
    dropped_by_writer: int,
) -> bytes:
    """The content of run.json; `metadata` is JSON already."""
    meta: dict[str, Any] = {
        "spec_version": SPEC_VERSION,
        "run_id": run_id,
        "run_name": run_name,
        "started_at": started_at,
        "ended_at": ended_at,
        "duration_ms": duration_ms,
        "status": status,
        "counts": {name: counters.whole(name) for name in _COUNTS},
        "last_event_ts": last_event_ts,
        "total_tokens": _total_tokens(counters),
        "cost_usd": _cost_usd(counters),
        "loop_cost_usd": _loop_cost_usd(counters),
        "guardrails": guardrails,
    }
    rest: dict[str, Any] = {
        "agentdbg_version": __version__,
        "redaction": redaction,
        "dropped_events": dropped_by_writer + counters.whole("dropped"),
        "owner": describe_owner(),
    }
    if not counters.is_shared:  # forked children count their types for themselves; readers add the file up
        rest["event_counts"] = counters.by_type()
    return b'%b,"metadata":%b,%b\n' % (encoding.encode(meta)[:-1], metadata, encoding.encode(rest)[1:])


def _total_tokens(counters: Counters) -> int | None:
    return counters.whole("total_tokens") if counters.total("tokens_told") else None


def _cost_usd(counters: Counters) -> float | None:
    return round(counters.total("cost_usd"), COST_DIGITS) if counters.total("costs_told") else None


def _loop_cost_usd(counters: Counters) -> float | None:
    return round(counters.total("loop_cost_usd"), COST_DIGITS) if counters.total("loop_cost_known") else None
