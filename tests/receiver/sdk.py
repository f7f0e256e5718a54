"""Spans made with the real OpenTelemetry SDK, in the encoding its exporters use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.sdk.trace import ReadableSpan


class Recorder(SpanExporter):  # type: ignore[misc,unused-ignore]
    """Keeps what the SDK exports, in the order it does: each span when it ends."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return SpanExportResult.SUCCESS

    def encoded(self, choose: Callable[[ReadableSpan], bool] = lambda _: True) -> bytes:
        """A request with the spans that are chosen."""
        return encode([span for span in self.spans if choose(span)])


def tracing(service: str = "shop", **resource: str) -> tuple[TracerProvider, Recorder]:
    """An SDK set up as a program would, with an exporter that keeps the spans."""
    exporter = Recorder()
    provider = TracerProvider(resource=Resource({"service.name": service, **resource}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def encode(spans: Sequence[ReadableSpan]) -> bytes:
    """An ExportTraceServiceRequest."""
    request = ExportTraceServiceRequest()
    for span in spans:
        assert span.context is not None
        group = request.resource_spans.add()
        _put(group.resource.attributes, span.resource.attributes)
        part = group.scope_spans.add()
        part.scope.name = span.instrumentation_scope.name if span.instrumentation_scope else ""
        made = part.spans.add(
            trace_id=span.context.trace_id.to_bytes(16, "big"),
            span_id=span.context.span_id.to_bytes(8, "big"),
            name=span.name,
            start_time_unix_nano=span.start_time,
            end_time_unix_nano=span.end_time,
            flags=0x100 | (0x200 if span.parent is not None and span.parent.is_remote else 0),
        )
        if span.parent is not None:
            made.parent_span_id = span.parent.span_id.to_bytes(8, "big")
        made.status.code = span.status.status_code.value
        made.status.message = span.status.description or ""
        _put(made.attributes, span.attributes or {})
        for event in span.events:
            added = made.events.add(name=event.name, time_unix_nano=event.timestamp)
            _put(added.attributes, event.attributes or {})
    encoded: bytes = request.SerializeToString()
    return encoded


def as_json(body: bytes) -> bytes:
    """A request as OTLP writes it in JSON: as protobuf does, but for the ids, which are hexadecimal."""
    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    document = MessageToDict(request)
    for group, told in zip(document["resourceSpans"], request.resource_spans, strict=True):
        for span, known in zip(group["scopeSpans"][0]["spans"], told.scope_spans[0].spans, strict=True):
            span.update(traceId=known.trace_id.hex(), spanId=known.span_id.hex())
            span.update(parentSpanId=known.parent_span_id.hex())
    return json.dumps(document).encode()


def _put(pairs: Any, attributes: Any) -> None:
    for key, value in attributes.items():
        into = pairs.add(key=key).value
        if isinstance(value, bool):
            into.bool_value = value
        elif isinstance(value, int):
            into.int_value = value
        elif isinstance(value, float):
            into.double_value = value
        elif isinstance(value, str):
            into.string_value = value
        else:
            for item in value:
                into.array_value.values.add(string_value=item)
