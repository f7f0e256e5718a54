"""
What was said to a model and by it, where an instrumentation sends it as log records beside the spans.

OpenTelemetry's own instrumentations do (`gen_ai.user.message`, `gen_ai.choice`). Each record names the span of its
call; it is read as an event of that span. All other log records are counted and turned down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from agentdbg.encoding import encode_json
from agentdbg.interop.drafts import message_step
from agentdbg.interop.otel_spans import Span, SpanEvent, attributes_of, plain_value
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.span_messages import messages_in
from agentdbg.receiver.bodies import (
    IDS,
    JSON,
    LOGS,
    MOST_SPANS,
    TOO_MANY,
    Malformed,
    Refused,
    has_too_many_messages,
    proto_attributes,
    proto_value,
)
from agentdbg.receiver.unsupported_signals import document_in, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.drafts import Step

__all__ = ["LogEvent", "answer_to_logs", "messages_of", "read_log_events"]

_SIDES: tuple[Literal["input", "output"], ...] = ("input", "output")
_WHY = (
    "agentdbg receive keeps spans and the gen_ai events of model calls, no other log records; "
    "set OTEL_LOGS_EXPORTER=none to stop sending these if there are no such events"
)


class LogEvent(NamedTuple):
    """An event, and the span it belongs to."""

    trace_id: str
    span_id: str
    event: SpanEvent


def read_log_events(body: bytes, media_type: str) -> tuple[list[LogEvent], int]:
    """The events of model calls in a request with log records, and how many other records it has."""
    kept, others = [], 0
    try:
        for item in _from_json(body) if media_type == JSON else _from_protobuf(body):
            is_ours = IDS.fullmatch(f"{item.trace_id} {item.span_id}") and item.event.name.startswith("gen_ai.")
            if is_ours:
                kept.append(item)
            else:
                others += 1
            if len(kept) + others > MOST_SPANS:
                raise Refused(413, f"a request has at most {MOST_SPANS:,} log records")
    except RecursionError:
        raise Refused(400, "the body is nested too deeply") from None
    return kept, others


def messages_of(event: SpanEvent) -> list[Step]:
    """What an event says was said, as steps of their own."""
    told = Span("", "", None, "", None, event.at_ms, {}, events=[event])
    found = [as_dict(message) for side in _SIDES for message in messages_in(told, side) or ()]
    return [
        message_step(
            as_word(message.get("role")) or "user",
            message.get("content"),
            said={key: value for key, value in message.items() if key not in ("role", "content")},
            at_ms=event.at_ms,
        )
        for message in found
    ]


def answer_to_logs(turned_down: int, media_type: str) -> bytes:
    """The answer to a request of which these many records are not kept."""
    if media_type == JSON:
        told = {"rejectedLogRecords": str(turned_down), "errorMessage": _WHY}
        return encode_json({"partialSuccess": told} if turned_down else {})
    answer = ExportLogsServiceResponse()
    if turned_down:
        answer.partial_success.rejected_log_records = turned_down
        answer.partial_success.error_message = _WHY
    encoded: bytes = answer.SerializeToString()
    return encoded


def _from_protobuf(body: bytes) -> Iterator[LogEvent]:
    try:
        if has_too_many_messages(body, LOGS):
            raise Refused(413, TOO_MANY)
    except Malformed as error:
        raise Refused(400, f"the body is no ExportLogsServiceRequest ({error})") from None
    request = parsed(ExportLogsServiceRequest(), body)
    for group in request.resource_logs:
        for part in group.scope_logs:
            for record in part.log_records:
                yield _log_event(
                    (record.trace_id.hex(), record.span_id.hex()),
                    getattr(record, "event_name", ""),
                    record.time_unix_nano or record.observed_time_unix_nano,
                    proto_attributes(record.attributes),
                    proto_value(record.body),
                )


def _from_json(body: bytes) -> Iterator[LogEvent]:
    for group in as_list(as_dict(document_in(body)).get("resourceLogs")):
        for part in as_list(as_dict(group).get("scopeLogs")):
            for record in map(as_dict, as_list(as_dict(part).get("logRecords"))):
                yield _log_event(
                    (as_word(record.get("traceId")).lower(), as_word(record.get("spanId")).lower()),
                    record.get("eventName"),
                    record.get("timeUnixNano") or record.get("observedTimeUnixNano"),
                    attributes_of(record.get("attributes")),
                    plain_value(record.get("body")),
                )


def _log_event(ids: tuple[str, str], name: Any, at: Any, attributes: dict[str, Any], body: Any) -> LogEvent:
    said = body if isinstance(body, dict) else {} if body in (None, "") else {"content": body}
    named = as_word(name) or as_word(attributes.get("event.name"))
    return LogEvent(*ids, SpanEvent(named, moment_ms(at), {**attributes, **said}))
