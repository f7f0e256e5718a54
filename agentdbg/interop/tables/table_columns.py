"""
What the tables hold: the columns of `runs`, `events` and `findings`, and how an event becomes a row.

The ten keys of an event are all there, `payload` and `meta` as JSON text, so the log can be made again from the table.
Beside them stands what people ask about most, typed. What an event does not say is null, never 0. Pure: no file is
touched and no package of the extra is loaded.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentdbg.analysis.run_columns import (
    CALL_KINDS,
    ERROR,
    EXCEPTION,
    KINDS,
    LLM,
    LOOP,
    OK,
    SEVERITIES,
    SPAN,
    TOOL,
    kind_of,
    severity_of,
    status_of,
)
from agentdbg.analysis.wording import number_or_none
from agentdbg.encoding import encode_json
from agentdbg.events.facts import cached_tokens, cost_of, tokens_of
from agentdbg.storage.dialects import parse_timestamp, timestamp_ms

if TYPE_CHECKING:
    from agentdbg.analysis.findings import Finding
    from agentdbg.events import Event, RunMeta

__all__ = ["EVENTS", "FINDINGS", "RUNS", "Column", "event_row", "finding_row", "run_row"]

Type = Literal["text", "word", "integer", "float", "time", "json"]
"""`word` is text of few different values; `json` is text that holds JSON; `time` is UTC in microseconds."""


class Column(NamedTuple):
    """A column, its type, and what it means."""

    name: str
    type: Type
    meaning: str


EVENTS = (
    Column("run_id", "word", "the run"),
    Column("n", "integer", "the event's number in its run, from 1, in the order of the log"),
    Column("spec_version", "word", "the version of the trace format"),
    Column("event_id", "text", "the event's id"),
    Column("parent_id", "text", "the event it hangs under"),
    Column("event_type", "word", "LLM_CALL, TOOL_CALL, ERROR …"),
    Column("kind", "word", "llm, tool, state, span, loop, error, start, end, call_start or other"),
    Column("name", "word", "the model, the tool, the span, the exception"),
    Column("started_at", "time", "when it began: `ts` less `duration_ms`"),
    Column("ts", "time", "when it was written: the end of a call"),
    Column("duration_ms", "integer", "how long it took"),
    Column("status", "word", "ok or error; null for what can be neither"),
    Column("model", "word", "of a model call"),
    Column("provider", "word", "of a model call"),
    Column("temperature", "float", "of a model call"),
    Column("stop_reason", "word", "why the model stopped"),
    Column("input_tokens", "integer", "cached ones included"),
    Column("output_tokens", "integer", "reasoning included"),
    Column("total_tokens", "integer", "in and out"),
    Column("cached_tokens", "integer", "the part of the input that came from a cache"),
    Column("cost_usd", "float", "of a model call"),
    Column("tool_args", "json", "what a tool was called with"),
    Column("tool_result", "json", "what it gave back"),
    Column("error_type", "word", "the exception's class"),
    Column("error_message", "text", "what it said"),
    Column("loop_kind", "word", "cycle, error_retry, stall, echo or repetition"),
    Column("loop_severity", "word", "critical, warning or info"),
    Column("loop_repetitions", "integer", "how often it had repeated"),
    Column("source", "word", "where in the code it was recorded"),
    Column("payload", "json", "everything the event says"),
    Column("meta", "json", "the tags of whoever recorded it"),
)

RUNS = (
    Column("run_id", "text", "the run"),
    Column("run_name", "text", "its name, the new one if it was renamed"),
    Column("started_at", "time", "when it began"),
    Column("ended_at", "time", "when it ended"),
    Column("duration_ms", "integer", "how long it took"),
    Column("status", "word", "ok, error or running"),
    Column("status_reason", "text", "why it is an error, where its process only went away"),
    Column("llm_calls", "integer", "model calls"),
    Column("tool_calls", "integer", "tool calls"),
    Column("errors", "integer", "errors and failed calls"),
    Column("loop_warnings", "integer", "loop warnings of every severity"),
    Column("total_tokens", "integer", "over all calls that said"),
    Column("cost_usd", "float", "over all calls whose price is known"),
    Column("framework", "word", "from the run's metadata, as are the next six"),
    Column("environment", "word", "production, staging …"),
    Column("user_id", "text", "whom it was for"),
    Column("session_id", "text", "the conversation it belongs to"),
    Column("experiment_id", "text", "the experiment it belongs to"),
    Column("version", "word", "the agent's version"),
    Column("tags", "json", "tags"),
    Column("metadata", "json", "all of the metadata"),
    Column("guardrails", "json", "the limits it ran under"),
    Column("event_counts", "json", "how many events of each type"),
    Column("last_event_ts", "time", "when its last event was written"),
    Column("agentdbg_version", "word", "what recorded it"),
    Column("redaction", "word", "on, weakened or off"),
    Column("dropped_events", "integer", "events that could not be written"),
    Column("damaged_lines", "integer", "lines of the log that are no events"),
    Column("spec_version", "word", "the version of the trace format"),
    Column("parent_run_id", "text", "the run that it is a fork or a replay of"),
    Column("root_run_id", "text", "the first run of its family"),
    Column("replay_mode", "word", "fork or replay; null for a run of its own"),
)

FINDINGS = (
    Column("run_id", "word", "the run"),
    Column("n", "integer", "the event to look at first"),
    Column("kind", "word", "first_failure, swallowed_error, loop, context_growth …"),
    Column("severity", "word", "critical, warning or info"),
    Column("sentence", "text", "what was found, in a sentence"),
    Column("events", "integer", "how many events prove it"),
    Column("evidence", "json", "those events and the figures"),
)

_NAMED_METADATA = ("framework", "environment", "user_id", "session_id", "experiment_id", "version")
_STATUSES: dict[int, str] = {OK: "ok", ERROR: "error"}
_HAS_LENGTH = CALL_KINDS | {SPAN}
_LARGEST = (1 << 63) - 1


def event_row(number: int, event: Event) -> tuple[Any, ...]:
    """The values of `EVENTS` for one event in the strict form."""
    payload, meta = event["payload"], event["meta"]
    kind = kind_of(event["event_type"], meta)
    ts = _microseconds(event["ts"])
    length = event["duration_ms"]
    began = ts - length * 1000 if ts is not None and length is not None and kind in _HAS_LENGTH else ts
    error = payload if kind == EXCEPTION else payload.get("error")
    error = error if isinstance(error, dict) else {}
    return (
        event["run_id"],
        number,
        event["spec_version"],
        event["event_id"],
        event["parent_id"],
        event["event_type"],
        KINDS[kind],
        event["name"],
        began,
        ts,
        length,
        _STATUSES.get(status_of(kind, payload)),
        *(_model_call(payload) if kind == LLM else _NO_MODEL_CALL),
        *((_json(payload.get("args")), _json(payload.get("result"))) if kind == TOOL else (None, None)),
        _text(error.get("error_type")),
        _text(error.get("message")),
        *(_loop(payload) if kind == LOOP else _NO_LOOP),
        _text(payload.get("source")),
        _json(payload),
        _json(meta),
    )


def run_row(meta: RunMeta) -> tuple[Any, ...]:
    """The values of `RUNS` for what is known of one run."""
    metadata: Any = meta.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    counts = meta["counts"]
    origin: Any = meta.get("replay")
    origin = origin if isinstance(origin, dict) else {}
    return (
        meta["run_id"],
        _text(meta["run_name"]),
        _microseconds(meta["started_at"]),
        _microseconds(meta["ended_at"]),
        _integer(meta["duration_ms"]),
        meta["status"],
        _text(meta.get("status_reason")),
        _integer(counts["llm_calls"]),
        _integer(counts["tool_calls"]),
        _integer(counts["errors"]),
        _integer(counts["loop_warnings"]),
        _integer(meta.get("total_tokens")),
        _float(meta.get("cost_usd")),
        *(_word(metadata.get(name)) for name in _NAMED_METADATA),
        _json(metadata["tags"]) if metadata.get("tags") is not None else None,
        _json(metadata),
        _json(meta["guardrails"]) if meta.get("guardrails") is not None else None,
        _json(meta["event_counts"]) if meta.get("event_counts") is not None else None,
        _microseconds(meta["last_event_ts"]),
        _text(meta.get("agentdbg_version")),
        _text(meta.get("redaction")),
        _integer(meta.get("dropped_events")),
        _integer(meta.get("damaged_lines")),
        str(meta["spec_version"]),
        *(_word(origin.get(name)) for name in ("parent_run_id", "root_run_id", "mode")),
    )


def finding_row(run_id: str, finding: Finding) -> tuple[Any, ...]:
    """The values of `FINDINGS` for one finding."""
    told = finding.as_json()
    return (
        run_id,
        finding.number,
        finding.kind,
        finding.severity,
        finding.sentence,
        finding.evidence.count,
        _json(told["evidence"]),
    )


_NO_MODEL_CALL = (None,) * 9
_NO_LOOP = (None,) * 3


def _model_call(payload: dict[str, Any]) -> tuple[Any, ...]:
    tokens_in, tokens_out, total = tokens_of(payload)
    return (
        _text(payload.get("model")),
        _text(payload.get("provider")),
        _float(payload.get("temperature")),
        _text(payload.get("stop_reason")),
        tokens_in,
        tokens_out,
        total,
        cached_tokens(payload.get("usage")),
        cost_of(payload),
    )


def _loop(payload: dict[str, Any]) -> tuple[Any, ...]:
    severity = SEVERITIES[severity_of(LOOP, payload)]
    return _text(payload.get("kind")), severity, _integer(payload.get("repetitions"))


def _microseconds(timestamp: Any) -> int | None:
    """Microseconds since 1970 of a stored time."""
    if not isinstance(timestamp, str):
        return None
    if len(timestamp) == 24 and (minute := _minute_ms(timestamp[:16])) is not None:
        try:
            return (minute + int(timestamp[17:19]) * 1000 + int(timestamp[20:23])) * 1000
        except ValueError:
            pass
    strict = parse_timestamp(timestamp)
    return None if strict is None else timestamp_ms(strict) * 1000


@lru_cache(maxsize=4096)
def _minute_ms(minute: str) -> int | None:
    """A run's events share their minutes, so most times are looked up and not read."""
    try:
        return timestamp_ms(f"{minute}:00.000Z")
    except ValueError:
        return None


def _json(value: Any) -> str:
    try:
        return encode_json(value).decode()
    except (ValueError, TypeError, RecursionError):
        return json.dumps(value, ensure_ascii=False, default=str)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _word(value: Any) -> str | None:
    """Text as it is; any other value of the user's as JSON."""
    return value if value is None or isinstance(value, str) else _json(value)


def _integer(value: Any) -> int | None:
    count = number_or_none(value)
    return count if count is None or -_LARGEST <= count <= _LARGEST else None


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None
