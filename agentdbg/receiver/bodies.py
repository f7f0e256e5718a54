"""
What an exporter sends, read with suspicion: unpacked within bounds, decoded, and turned into spans.

`Refused` says which status a body deserves that cannot be read at all. A span that cannot be used costs only itself:
it is counted and named, as OTLP wants it, and the others are taken.

How many things a body would become, found out before it is read.

A body of two-byte messages becomes fifty times as large in memory, and reading it is too late to find that out. Small
bodies cannot do harm and are not looked at; the messages of large ones are counted on the wire, as far as the limit.
"""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.exceptions import UsageError
from agentdbg.extra_packages import install_hint
from agentdbg.interop.otel_spans import REMOTE_PARENT, Span, SpanEvent, read_spans
from agentdbg.interop.sources import moment_ms, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "IDS",
    "JSON",
    "LARGEST_BODY",
    "LOGS",
    "MOST_SPANS",
    "PROTOBUF",
    "TOO_MANY",
    "Batch",
    "Malformed",
    "Refused",
    "answer_of",
    "has_too_many_messages",
    "has_too_many_values",
    "media_type_of",
    "proto_attributes",
    "proto_value",
    "read_batch",
    "unpack",
]

try:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )
except ImportError as error:
    raise UsageError(f"receiving needs opentelemetry-proto, which is not installed: {install_hint('otlp')}") from error


PROTOBUF, JSON = "application/x-protobuf", "application/json"
LARGEST_BODY = 64 << 20
"""Bytes, as they are sent and once they are unpacked."""
_CHUNK = 1 << 20
IDS = re.compile(r"[0-9a-f]{32} [0-9a-f]{16}")
_MOST_REASONS = 5
MOST_SPANS = 100_000
"""In one request; exporters send some hundreds at a time."""
_FEW = 1000
TOO_MANY = "the body holds more attributes and events than are taken at a time; send it in parts"


class Refused(Exception):
    """A body that is not taken; the status says whose fault it is."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Batch:
    """The spans of one request, and why others of it are none."""

    spans: list[Span] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)


def media_type_of(content_type: str) -> str:
    """Which of the two encodings a Content-Type names; Refused for any other."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/protobuf":
        return PROTOBUF
    if kind not in (PROTOBUF, JSON):
        raise Refused(415, f"send {PROTOBUF} or {JSON}, not {kind[:60] or 'a body without a Content-Type'}")
    return kind


def unpack(body: bytes, encoding: str) -> bytes:
    """A body as it was before it was compressed; stops as soon as it is too much."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise Refused(415, f"send the body as it is or gzip it; {encoding[:60]} is not unpacked here")
    found = bytearray()
    rest = body
    try:
        while rest:  # gzip may consist of several members
            inflater = zlib.decompressobj(wbits=31 if encoding == "gzip" else 15)
            while not inflater.eof:
                found += inflater.decompress(rest, _CHUNK)
                rest = inflater.unconsumed_tail
                if len(found) > LARGEST_BODY:
                    raise Refused(413, f"unpacked, a body has at most {LARGEST_BODY >> 20} MB")
                if not rest and not inflater.eof:
                    raise Refused(400, f"the {encoding} body ends before its end")
            rest = inflater.unused_data
    except zlib.error as error:
        raise Refused(400, f"the body is no {encoding} ({error})") from None
    return bytes(found)


def read_batch(body: bytes, media_type: str) -> Batch:
    """The spans of a body; Refused when it is not what it claims to be."""
    try:
        found = _from_protobuf(body) if media_type == PROTOBUF else _from_json(body)
        batch = Batch()
        for number, span in enumerate(found):
            if number == MOST_SPANS:
                raise Refused(413, f"a request has at most {MOST_SPANS:,} spans")
            if isinstance(span, str):
                batch.rejected.append(span)
            elif not IDS.fullmatch(f"{span.trace_id} {span.span_id}"):
                batch.rejected.append(f"{span.name[:60]!r} has no valid trace id and span id")
            else:
                batch.spans.append(span)
    except RecursionError:
        raise Refused(400, "the body is nested too deeply") from None
    return batch


def answer_of(rejected: list[str], media_type: str) -> bytes:
    """The answer to a request that was taken, except for these."""
    if media_type == JSON:
        partial = {"rejectedSpans": str(len(rejected)), "errorMessage": _reasons(rejected)}
        return encode_json({"partialSuccess": partial} if rejected else {})
    answer = ExportTraceServiceResponse()
    if rejected:
        answer.partial_success.rejected_spans = len(rejected)
        answer.partial_success.error_message = _reasons(rejected)
    encoded: bytes = answer.SerializeToString()
    return encoded


def _reasons(rejected: list[str]) -> str:
    more = f"; and {len(rejected) - _MOST_REASONS} more" if len(rejected) > _MOST_REASONS else ""
    text = "; ".join(rejected[:_MOST_REASONS]) + more
    return text.encode(errors="replace").decode()


def _from_json(body: bytes) -> Iterator[Span | str]:
    if has_too_many_values(body):
        raise Refused(413, TOO_MANY)
    try:
        document = read_json(body)
    except ValueError as error:
        raise Refused(400, f"the body is not JSON ({error})") from None
    groups = document.get("resourceSpans", document.get("resource_spans", [])) if isinstance(document, dict) else None
    if not isinstance(groups, list):
        raise Refused(400, "the body is no OTLP: an object with a list `resourceSpans` was expected")
    return read_spans({"resourceSpans": groups}) if groups else iter(())


def _from_protobuf(body: bytes) -> Iterator[Span | str]:
    request = ExportTraceServiceRequest()
    try:
        if has_too_many_messages(body):
            raise Refused(413, TOO_MANY)
        request.ParseFromString(body)
    except (DecodeError, ValueError) as error:
        raise Refused(400, f"the body is no ExportTraceServiceRequest ({error})") from None
    for group in request.resource_spans:
        resource = proto_attributes(group.resource.attributes)
        for part in group.scope_spans:
            scope = part.scope.name
            for span in part.spans:
                yield _span(span, resource, scope)


def _span(span: Any, resource: dict[str, Any], scope: str) -> Span:
    return Span(
        trace_id=_hex(span.trace_id),
        span_id=_hex(span.span_id),
        parent_id=_hex(span.parent_span_id) or None,
        name=span.name or "span",
        started_ms=_moment_ms(span.start_time_unix_nano),
        ended_ms=_moment_ms(span.end_time_unix_nano),
        attributes=proto_attributes(span.attributes),
        failed=span.status.code == 2,
        message=span.status.message,
        events=[
            SpanEvent(event.name, _moment_ms(event.time_unix_nano), proto_attributes(event.attributes))
            for event in span.events
        ],
        resource=resource,
        scope=scope,
        has_remote_parent=bool(span.flags & REMOTE_PARENT),
    )


def _hex(given: bytes) -> str:
    """An id as text; empty for one of nothing but zeros, which means none."""
    return given.hex() if given.strip(b"\0") else ""


def _moment_ms(nanoseconds: int) -> float | None:
    """A moment of these decades; what else may stand there is looked at twice."""
    return nanoseconds / 1e6 if 1e18 < nanoseconds < 4e18 else moment_ms(nanoseconds)


def proto_attributes(pairs: Sequence[Any]) -> dict[str, Any]:
    """Attributes as Python has them."""
    # Nearly all are texts, and asking which kind a value is takes longer than asking for one. A slice is a list, which
    # is walked through quicker than what holds the messages, but keeps all of them in memory at once.
    few = pairs[:] if len(pairs) < _FEW else pairs
    return {pair.key: pair.value.string_value or proto_value(pair.value) for pair in few}


def proto_value(value: Any) -> Any:
    """One value as Python has it."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    given = getattr(value, kind)
    if kind == "array_value":
        return [proto_value(item) for item in given.values]
    if kind == "kvlist_value":
        return proto_attributes(given.values)
    return base64.b64encode(given).decode() if kind == "bytes_value" else given


_SMALL = 1 << 20
_MOST_MESSAGES = 2_000_000
"""Spans, attributes, their values and what else repeats; a collector sends 8,192 spans at a time."""
_DEEPEST = 100
_MOST_OBJECTS, _MOST_KEYS = 2_000_000, 4_000_000
"""In JSON. The messages of models are JSON in JSON, and what stands in texts cannot be told apart this quickly."""

_Shape = dict[int, "_Shape"]
_VALUE: _Shape = {}
_PAIR: _Shape = {2: _VALUE}
_VALUE.update({5: {1: _VALUE}, 6: {1: _PAIR}})
_SPAN: _Shape = {9: _PAIR, 11: {3: _PAIR}, 13: {4: _PAIR}, 15: {}}
_TRACES: _Shape = {1: {1: {1: _PAIR}, 2: {1: {3: _PAIR}, 2: _SPAN}}}
LOGS: _Shape = {1: {1: {1: _PAIR}, 2: {1: {3: _PAIR}, 2: {5: _VALUE, 6: _PAIR}}}}
"""Which fields of a request hold messages, by number, and which fields those hold."""

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


class Malformed(ValueError):
    """No protobuf."""


def has_too_many_values(body: bytes) -> bool:
    """Whether a body of JSON would become too many objects, or objects with too many keys."""
    if len(body) <= _SMALL:
        return False
    return body.count(b"{") + body.count(b"[") > _MOST_OBJECTS or body.count(b":") > _MOST_KEYS


def has_too_many_messages(body: bytes, shape: _Shape = _TRACES) -> bool:
    """Whether a body of protobuf holds more messages than any honest request of its size. Raises Malformed."""
    if len(body) <= _SMALL:
        return False
    found, at, end = 0, 0, len(body)
    around: list[tuple[int, _Shape]] = []
    try:
        while at < end or around:
            if at >= end:
                end, shape = around.pop()
                continue
            tag, at = _read_varint(body, at)
            kind = tag & 7
            if kind == _BYTES:
                size, at = _read_varint(body, at)
                inside = shape.get(tag >> 3)
                if inside is None:
                    at += size
                    continue
                found += 1
                if found > _MOST_MESSAGES:
                    return True
                if len(around) > _DEEPEST or at + size > end:
                    raise Malformed("a message is nested too deeply, or longer than what it is in")
                around.append((end, shape))
                end, shape = at + size, inside
            elif kind == _VARINT:
                _, at = _read_varint(body, at)
            elif kind in (_FIXED_64, _FIXED_32):
                at += 8 if kind == _FIXED_64 else 4
            else:
                raise Malformed(f"a field has the kind {kind}")
    except IndexError:
        raise Malformed("it ends in the middle of a field") from None
    return False


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends."""
    byte = body[at]
    if byte < 0x80:
        return byte, at + 1
    number = byte & 0x7F
    for shift in range(7, 70, 7):
        at += 1
        byte = body[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at + 1
    raise Malformed("a number does not end")
