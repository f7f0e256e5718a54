"""What a body may be, and what is refused before anything is stored."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from agentdbg.receiver import bodies
from agentdbg.receiver.bodies import JSON, PROTOBUF, Refused, answer_of, media_type_of, read_batch, unpack


def request(**span: Any) -> bytes:
    made = ExportTraceServiceRequest()
    known: dict[str, Any] = {"trace_id": b"\1" * 16, "span_id": b"\2" * 8, "name": "x", **span}
    made.resource_spans.add().scope_spans.add().spans.add(**known)
    encoded: bytes = made.SerializeToString()
    return encoded


@pytest.mark.parametrize(
    "told", ["application/x-protobuf", "Application/X-Protobuf; charset=x", "application/protobuf"]
)
def test_protobuf_is_known_by_its_names(told: str) -> None:
    """The name has changed over the years, and SDKs of every age are about."""
    assert media_type_of(told) == PROTOBUF


@pytest.mark.parametrize("told", ["", "text/plain", "application/grpc", "application/json2", "multipart/form-data"])
def test_other_kinds_are_refused_for_good(told: str) -> None:
    """An exporter set to gRPC, or a form of a web page, is told what to send."""
    with pytest.raises(Refused) as refused:
        media_type_of(told)

    assert refused.value.status == 415


def test_packed_bodies_are_unpacked() -> None:
    """Exporters use gzip, some deflate; a gzip file may consist of several."""
    assert unpack(gzip.compress(b"abc", mtime=0), "gzip") == b"abc"
    assert unpack(gzip.compress(b"abc", mtime=0) + gzip.compress(b"def", mtime=0), "GZIP") == b"abcdef"
    assert unpack(zlib.compress(b"abc"), "deflate") == b"abc"
    assert unpack(b"abc", "identity") == b"abc"


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [
        (b"no gzip", "gzip", 400),
        (gzip.compress(b"abc" * 100, mtime=0)[:-9], "gzip", 400),
        (gzip.compress(b"abc", mtime=0) + b"rubbish", "gzip", 400),
        (b"", "br", 415),
        (b"abc", "gzip, gzip", 415),
    ],
)
def test_what_cannot_be_unpacked_is_refused(body: bytes, encoding: str, status: int) -> None:
    """A body that was cut on its way, or packed in a way nobody announced, must not pass for an empty one."""
    with pytest.raises(Refused) as refused:
        unpack(body, encoding)

    assert refused.value.status == status


def test_a_gzip_bomb_is_stopped_where_it_gets_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes can hold gigabytes; no more than the limit is ever unpacked."""
    monkeypatch.setattr(bodies, "LARGEST_BODY", 3 << 20)
    with pytest.raises(Refused) as refused:
        unpack(gzip.compress(bytes(50 << 20)), "gzip")

    assert refused.value.status == 413


@pytest.mark.parametrize(
    "body",
    [
        b"\xff" * 50,
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x0a" * 100_000,
        request()[:-3],
        b"{}",
    ],
    ids=["noise", "a length beyond the end", "nested without end", "cut", "JSON"],
)
def test_what_is_no_protobuf_is_refused(body: bytes) -> None:
    """Noise, lengths that lie and nesting without end are all one answer, and no crash."""
    with pytest.raises(Refused) as refused:
        read_batch(body, PROTOBUF)

    assert refused.value.status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b'{"resourceSpans": 3}',
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"resourceSpans":' * 50_000 + b"1",
    ],
)
def test_what_is_no_otlp_json_is_refused(body: bytes) -> None:
    """Whoever posts other JSON here is told so, not thanked."""
    with pytest.raises(Refused) as refused:
        read_batch(body, JSON)

    assert refused.value.status == 400


def test_deeply_nested_attributes_are_refused() -> None:
    """Each level is honest OTLP; together they are deeper than anything that is meant."""
    depth = 3_000
    value = '{"arrayValue":{"values":[' * depth + '{"stringValue":"x"}' + "]}}" * depth
    span = f'{{"traceId":"{"1" * 32}","spanId":"{"2" * 16}","name":"x","attributes":[{{"key":"k","value":{value}}}]}}'
    with pytest.raises(Refused) as refused:
        read_batch(f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}'.encode(), JSON)

    assert refused.value.status == 400


@pytest.mark.parametrize(
    "wrong",
    [{"trace_id": b""}, {"trace_id": b"\1" * 8}, {"trace_id": bytes(16)}, {"span_id": b""}, {"span_id": bytes(8)}],
)
def test_a_span_without_ids_costs_only_itself(wrong: dict[str, bytes]) -> None:
    """OTLP has a way to say so, and the others of the request are taken."""
    found = read_batch(request() + request(**wrong), PROTOBUF)

    assert len(found.spans) == 1
    assert len(found.rejected) == 1
    answer = ExportTraceServiceResponse()
    answer.ParseFromString(answer_of(found.rejected, PROTOBUF))
    assert answer.partial_success.rejected_spans == 1
    assert "no valid trace id" in answer.partial_success.error_message
    told = json.loads(answer_of(found.rejected, JSON))
    assert told["partialSuccess"]["rejectedSpans"] == "1"


def test_all_well_is_an_empty_answer() -> None:
    """As OTLP wants it: no partial success where there is none."""
    assert answer_of([], PROTOBUF) == b""
    assert answer_of([], JSON) == b"{}"


def test_an_empty_request_is_fine() -> None:
    """Exporters send one to find out whether anybody is there."""
    assert read_batch(b"", PROTOBUF).spans == []
    assert read_batch(b"{}", JSON).spans == []


def test_every_kind_of_value_is_read() -> None:
    """What an attribute holds must not depend on the type its SDK chose."""
    made = ExportTraceServiceRequest()
    span = made.resource_spans.add().scope_spans.add().spans.add(trace_id=b"\1" * 16, span_id=b"\2" * 8)
    span.attributes.add(key="text").value.string_value = "x"
    span.attributes.add(key="yes").value.bool_value = True
    span.attributes.add(key="number").value.int_value = -(2**62)
    span.attributes.add(key="half").value.double_value = 0.5
    span.attributes.add(key="bytes").value.bytes_value = b"\x00\xff"
    span.attributes.add(key="list").value.array_value.values.add().string_value = "y"
    span.attributes.add(key="dict").value.kvlist_value.values.add(key="z").value.int_value = 1
    span.attributes.add(key="nothing")

    (found,) = read_batch(made.SerializeToString(), PROTOBUF).spans
    assert found.attributes == {
        "text": "x",
        "yes": True,
        "number": -(2**62),
        "half": 0.5,
        "bytes": "AP8=",
        "list": ["y"],
        "dict": {"z": 1},
        "nothing": None,
    }
