"""
Metrics: not kept, and said so in the way OTLP has for it.

An exporter that is pointed here for its spans often sends these too. They are counted, so that the answer is true, and
turned down as a partial success, which exporters report without trying again.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from agentdbg.encoding import encode_json
from agentdbg.interop.shapes import as_dict, as_list
from agentdbg.interop.sources import read_json
from agentdbg.receiver.bodies import JSON, TOO_MANY, Refused, has_too_many_values

__all__ = ["document_in", "parsed", "turn_down_metrics"]

_WHY = "agentdbg receive keeps spans and nothing else; set {} to stop sending these"


def turn_down_metrics(body: bytes, media_type: str) -> bytes:
    """The answer to a request with metrics."""
    why = _WHY.format("OTEL_METRICS_EXPORTER=none")
    if media_type == JSON:
        groups = _listed(document_in(body), "resourceMetrics")
        metrics = [
            metric for group in groups for part in _listed(group, "scopeMetrics") for metric in _listed(part, "metrics")
        ]
        count = sum(len(_listed(kind, "dataPoints")) for metric in metrics for kind in as_dict(metric).values())
        return _as_json("rejectedDataPoints", count, why)
    request = parsed(ExportMetricsServiceRequest(), body)
    count = sum(
        len(getattr(metric, kind).data_points)
        for group in request.resource_metrics
        for part in group.scope_metrics
        for metric in part.metrics
        if (kind := metric.WhichOneof("data"))
    )
    answer = ExportMetricsServiceResponse()
    answer.partial_success.rejected_data_points = count
    return _encoded(answer, why)


def document_in(body: bytes) -> Any:
    """A body of JSON; Refused for what is none, or too much."""
    if has_too_many_values(body):
        raise Refused(413, TOO_MANY)
    try:
        return read_json(body)
    except ValueError as error:
        raise Refused(400, f"the body is not JSON ({error})") from None


def parsed(request: Any, body: bytes) -> Any:
    """A body of protobuf in the request it is; Refused for what is none."""
    try:
        request.ParseFromString(body)
    except (DecodeError, ValueError) as error:
        raise Refused(400, f"the body is no {type(request).__name__} ({error})") from None
    return request


def _listed(value: Any, key: str) -> list[Any]:
    return as_list(as_dict(value).get(key))


def _encoded(answer: Any, why: str) -> bytes:
    answer.partial_success.error_message = why
    encoded: bytes = answer.SerializeToString()
    return encoded


def _as_json(counted: str, count: int, why: str) -> bytes:
    return encode_json({"partialSuccess": {counted: str(count), "errorMessage": why}})
