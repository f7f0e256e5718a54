"""
Spans as OTLP protobuf: what collectors take at `/v1/traces`.

`opentelemetry-proto` is loaded here and nowhere else; without it an error says how to get it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import UsageError
from agentdbg.extra_packages import install_hint
from agentdbg.interop.otel.conventions import SCHEMA_URL
from agentdbg.version import __version__

try:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
except ImportError as error:
    raise UsageError(f"pushing needs opentelemetry-proto, which is not installed: {install_hint('otlp')}") from error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentdbg.interop.otel.spans_out import SpanOut

__all__ = ["encode_batch", "encode_span", "read_answer"]

_LARGEST = 2**63
_LATEST_MS = (2**64 - 1) // 1_000_000


def encode_span(span: SpanOut) -> Span:
    """One span as its protobuf message."""
    made = Span(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_id,
        name=_text(span.name),
        kind=Span.SPAN_KIND_CLIENT if span.is_client else Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=_nanoseconds(span.start_ms),
        end_time_unix_nano=_nanoseconds(span.end_ms),
        flags=0x100,  # whether the parent is elsewhere is known: it is not
    )
    _put(made.attributes, span.attributes)
    for event in span.events:
        added = made.events.add(name=_text(event.name), time_unix_nano=_nanoseconds(event.at_ms))
        _put(added.attributes, event.attributes)
    if span.failed is not None:
        made.status.code = Status.STATUS_CODE_ERROR if span.failed else Status.STATUS_CODE_OK
        made.status.message = _text(span.message)
    return made


def encode_batch(spans: Sequence[Span], resource: Mapping[str, Any]) -> bytes:
    """A request that carries these spans, all of one resource."""
    request = ExportTraceServiceRequest()
    of_resource = request.resource_spans.add(schema_url=SCHEMA_URL)
    _put(of_resource.resource.attributes, resource)
    of_scope = of_resource.scope_spans.add(schema_url=SCHEMA_URL)
    of_scope.scope.name = "agentdbg"
    of_scope.scope.version = __version__
    of_scope.spans.extend(spans)
    encoded: bytes = request.SerializeToString()
    return encoded


def read_answer(body: bytes) -> tuple[int, str]:
    """How many spans the collector did not take although it said yes, and why."""
    answer = ExportTraceServiceResponse()
    try:
        answer.ParseFromString(body)
    except DecodeError:  # a collector that answers 200 with something else has taken the spans
        return 0, ""
    return max(answer.partial_success.rejected_spans, 0), answer.partial_success.error_message


def _nanoseconds(at_ms: int) -> int:
    """A time as the wire has it: from 1970 to the year 2554. A clock that was wrong is told as the nearest of these."""
    return min(max(at_ms, 0), _LATEST_MS) * 1_000_000


def _put(target: Any, attributes: Mapping[str, Any]) -> None:
    for key, value in attributes.items():
        if value is not None:
            target.append(_pair(key, value))


def _pair(key: str, value: Any) -> KeyValue:
    pair = KeyValue(key=key)
    into = pair.value
    if isinstance(value, bool):
        into.bool_value = value
    elif isinstance(value, int) and -_LARGEST <= value < _LARGEST:
        into.int_value = value
    elif isinstance(value, float):
        into.double_value = value
    elif isinstance(value, list):
        for item in value:
            into.array_value.values.add(string_value=_text(str(item)))
    else:
        into.string_value = _text(str(value))
    return pair


def _text(value: str) -> str:
    """Text that UTF-8 can hold; a word of the command line may have bytes in it that are no text."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()
