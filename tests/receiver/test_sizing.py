"""Bodies that are small on the wire and huge in memory."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agentdbg.receiver import bodies
from agentdbg.receiver.bodies import JSON, PROTOBUF, Malformed, Refused, has_too_many_messages, read_batch

pytestmark = pytest.mark.slow

_MANY = 600_000
"""Of the smallest messages; just more than what is not looked at."""


def _field(number: int, content: bytes) -> bytes:
    size, length = len(content), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def _in_a_span(content: bytes) -> bytes:
    ids = _field(1, b"\1" * 16) + _field(2, b"\1" * 8)
    return _field(1, _field(2, _field(2, ids + content)))


def _in_a_value(content: bytes) -> bytes:
    return _in_a_span(_field(9, _field(1, b"name") + _field(2, content)))


_EMPTY = {
    "resources": _field(1, b"") * _MANY,
    "scopes": _field(1, _field(2, b"") * _MANY),
    "spans": _field(1, _field(2, _field(2, b"") * _MANY)),
    "attributes": _in_a_span(_field(9, b"") * _MANY),
    "events": _in_a_span(_field(11, b"") * _MANY),
    "attributes of an event": _in_a_span(_field(11, _field(3, b"") * _MANY)),
    "links": _in_a_span(_field(13, b"") * _MANY),
    "items of a list": _in_a_value(_field(5, _field(1, b"") * _MANY)),
    "pairs of a value": _in_a_value(_field(6, _field(1, b"") * _MANY)),
    "attributes of a resource": _field(1, _field(1, _field(1, b"") * _MANY)),
}


@pytest.mark.parametrize("body", _EMPTY.values(), ids=_EMPTY)
def test_millions_of_empty_messages_are_refused_before_they_are_made(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight megabytes of them took three gigabytes, and the receiver with them."""
    monkeypatch.setattr(bodies, "_MOST_MESSAGES", _MANY // 3)
    with pytest.raises(Refused, match="more attributes and events") as refused:
        read_batch(body, PROTOBUF)

    assert refused.value.status == 413


@pytest.mark.parametrize(
    "body",
    [
        b'{"resourceSpans":[' + b"{}," * 2_000_000 + b"{}]}",
        b'{"resourceSpans":[{' + b'"a":0,' * 4_000_000 + b'"b":0}]}',
    ],
    ids=["objects", "keys"],
)
def test_millions_of_values_in_json_are_refused_too(body: bytes) -> None:
    """The other encoding is no way around it."""
    with pytest.raises(Refused, match="more attributes and events") as refused:
        read_batch(body, JSON)

    assert refused.value.status == 413


def test_every_message_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not counted is a way around the limit, and what is counted twice costs honest senders theirs."""
    monkeypatch.setattr(bodies, "_SMALL", 0)
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "shop"
    part = group.scope_spans.add()
    part.scope.attributes.add(key="of the scope").value.int_value = 1
    span = part.spans.add(name="chat", flags=3, start_time_unix_nano=5, trace_id=b"\1" * 16)
    span.attributes.add(key="text").value.string_value = "x" * 300
    span.attributes.add(key="number").value.double_value = 0.5
    span.attributes.add(key="list").value.array_value.values.add(string_value="y")
    span.attributes.add(key="pairs").value.kvlist_value.values.add(key="z").value.bool_value = True
    span.events.add(name="event").attributes.add(key="of the event").value.bytes_value = b"\xff"
    span.links.add(trace_id=b"\2" * 16).attributes.add(key="of the link").value.int_value = -1
    span.status.message = "fine"
    # Resource, scope and span with what they are in; eight attributes with a value each; a list with its item; pairs
    # with their attribute and its value; event, link and status.
    messages = 5 + 2 * 8 + 2 + 3 + 3
    body = request.SerializeToString()

    monkeypatch.setattr(bodies, "_MOST_MESSAGES", messages)
    assert not has_too_many_messages(body)
    monkeypatch.setattr(bodies, "_MOST_MESSAGES", messages - 1)
    assert has_too_many_messages(body)


def test_long_messages_are_no_many_messages() -> None:
    """Agents send long conversations; only what is many is refused."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for number in range(1, 301):
        span = spans.add(trace_id=b"\1" * 16, span_id=number.to_bytes(8, "big"), name="chat")
        span.attributes.add(key="gen_ai.input.messages").value.string_value = "The order left on Monday. " * 1000

    batch = read_batch(request.SerializeToString(), PROTOBUF)
    assert (len(batch.spans), batch.rejected) == (300, [])


@pytest.mark.parametrize(
    "body",
    [b"\n", b"\n\x05\x12", b"\x80" * 20, b"\x0b\x0b", b"\x08", b"\n\x02\x12\x09"],
    ids=["no length", "cut off", "endless number", "a group", "no number", "longer than what it is in"],
)
def test_what_is_no_protobuf_is_no_reason_to_fail(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes is answered: with 400, by whoever finds out first."""
    monkeypatch.setattr(bodies, "_SMALL", 0)
    with pytest.raises(Refused) as refused:
        read_batch(body, PROTOBUF)

    assert refused.value.status == 400


def test_values_may_be_nested_only_so_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level would be kept in memory until the innermost has been seen."""
    monkeypatch.setattr(bodies, "_SMALL", 0)
    value = b""
    for _ in range(300):
        value = _field(5, _field(1, value))

    with pytest.raises(Malformed, match="nested too deeply"):
        has_too_many_messages(_in_a_value(value))
