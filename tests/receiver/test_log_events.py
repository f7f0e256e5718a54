"""What was said in model calls, sent as log records: before their spans, after them, and without end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from agentdbg.receiver import bodies, log_events, traces
from agentdbg.receiver.bodies import JSON, PROTOBUF, Refused
from agentdbg.receiver.log_events import answer_to_logs, read_log_events
from tests.receiver.running import calls
from tests.receiver.sdk import as_json, encode, tracing

if TYPE_CHECKING:
    from tests.receiver.conftest import Receiving

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.system": "openai"}
SAID: list[tuple[str, dict[str, Any]]] = [
    ("gen_ai.system.message", {"content": "Be brief."}),
    ("gen_ai.user.message", {"content": "Where is it?"}),
    ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "In Oslo."}}),
]


def _called() -> tuple[bytes, str, str]:
    """A call as OpenTelemetry's own instrumentation tells it, with the ids of its span."""
    provider, exporter = tracing()
    with provider.get_tracer("opentelemetry.instrumentation.openai_v2").start_as_current_span("chat", attributes=CALL):
        pass
    (span,) = exporter.spans
    context = span.get_span_context()
    assert context is not None
    return encode(exporter.spans), f"{context.trace_id:032x}", f"{context.span_id:016x}"


def _logged(trace_id: str, span_id: str) -> bytes:
    def wrapped(value: Any) -> Any:
        if isinstance(value, dict):
            return {"kvlistValue": {"values": [{"key": key, "value": wrapped(item)} for key, item in value.items()]}}
        return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}

    records = [
        {"traceId": trace_id, "spanId": span_id, "eventName": name, "timeUnixNano": "0", "body": wrapped(body)}
        for name, body in SAID
    ]
    records.append({"traceId": trace_id, "spanId": span_id, "body": {"stringValue": "GET / 200"}})
    return _as_request(records)


def test_what_was_said_before_the_span_came_is_in_the_call(receiving: Receiving) -> None:
    """The records of a call are made while it runs, so they are often sent first."""
    body, trace_id, span_id = _called()
    events, others = read_log_events(_logged(trace_id, span_id), JSON)

    assert receiving.traces.note(events) == 0
    assert receiving.take(body) == []

    (call,) = calls(receiving.only())
    assert others == 1
    assert call["payload"]["prompt"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is it?"},
    ]
    assert call["payload"]["response"] == {"role": "assistant", "content": "In Oslo."}
    assert call["payload"]["stop_reason"] == "stop"


def test_what_comes_after_the_span_hangs_under_its_call(receiving: Receiving) -> None:
    """An event is never changed, so what was said stands beside it."""
    body, trace_id, span_id = _called()
    receiving.take(body)

    receiving.traces.note(read_log_events(_logged(trace_id, span_id), JSON)[0])

    events = receiving.only()
    (call,) = calls(events)
    told = [event for event in events if event["event_type"] == "MESSAGE"]
    assert [event["payload"]["content"] for event in told] == ["Be brief.", "Where is it?", "In Oslo."]
    assert {event["parent_id"] for event in told} == {call["event_id"]}
    assert len({event["event_id"] for event in told}) == len(told)


def test_records_whose_spans_never_come_take_no_more_room_than_there_is(receiving: Receiving) -> None:
    """Whoever sends logs for ever fills no memory; what came last is kept, so others are still heard."""
    large = {"content": "x" * 1_000_000}
    record = {"spanId": "1" * 16, "eventName": "gen_ai.user.message", "body": {"stringValue": json.dumps(large)}}
    records = [{**record, "traceId": f"{number:032x}"} for number in range(1, 51)]
    events, _ = read_log_events(_as_request(records), JSON)
    first, last = _called(), _called()
    said = {trace_id: read_log_events(_logged(trace_id, span_id), JSON)[0] for _, trace_id, span_id in (first, last)}

    receiving.traces.note(said[first[1]])
    assert receiving.traces.note(events) == 0
    receiving.traces.note(said[last[1]])

    assert 25 <= len(receiving.traces._notes) <= 33 + 1
    receiving.take(last[0])
    assert calls(receiving.only())[0]["payload"]["response"]["content"] == "In Oslo."
    assert (first[1], first[2]) not in receiving.traces._notes


def test_records_that_say_nothing_take_room_too(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is kept with its ids, whatever it says; ids that no span can have are not kept at all."""
    monkeypatch.setattr(traces, "_MOST_NOTED", 100_000)
    record = {"spanId": "1" * 16, "eventName": "gen_ai.user.message"}
    records = [{**record, "traceId": f"{number:032x}"} for number in range(1, 1001)]
    events, others = read_log_events(_as_request([*records, {**record, "traceId": "x" * 1000}]), JSON)

    assert receiving.traces.note(events) == 0
    assert others == 1
    assert len(receiving.traces._notes) < 200


def test_too_many_records_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As spans are, in either encoding."""
    request = ExportLogsServiceRequest()
    part = request.resource_logs.add().scope_logs.add()
    for _ in range(10):
        part.log_records.add().body.kvlist_value.values.add(key="content").value.string_value = "x"
    bodies_sent = {PROTOBUF: request.SerializeToString(), JSON: _as_request([{"body": {"stringValue": "x"}}] * 10)}

    def status(media_type: str) -> int:
        with pytest.raises(Refused) as refused:
            read_log_events(bodies_sent[media_type], media_type)
        return refused.value.status

    monkeypatch.setattr(log_events, "MOST_SPANS", 9)
    assert [status(media_type) for media_type in bodies_sent] == [413, 413]
    monkeypatch.undo()
    for name, limit in {"_SMALL": 0, "_MOST_MESSAGES": 2 + 5 * 10 - 1, "_MOST_OBJECTS": 20}.items():
        monkeypatch.setattr(bodies, name, limit)
    assert [status(media_type) for media_type in bodies_sent] == [413, 413]
    monkeypatch.setattr(bodies, "_MOST_MESSAGES", 2 + 5 * 10)
    assert read_log_events(bodies_sent[PROTOBUF], PROTOBUF) == ([], 10)


def _as_request(records: list[dict[str, Any]]) -> bytes:
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()


def test_protobuf_says_the_same(receiving: Receiving) -> None:
    """Most exporters send it."""
    body, trace_id, span_id = _called()
    request = ExportLogsServiceRequest()
    record = (
        request.resource_logs.add()
        .scope_logs.add()
        .log_records.add(trace_id=bytes.fromhex(trace_id), span_id=bytes.fromhex(span_id))
    )
    record.attributes.add(key="event.name").value.string_value = "gen_ai.user.message"
    record.body.kvlist_value.values.add(key="content").value.string_value = "Where is it?"
    events, others = read_log_events(request.SerializeToString(), PROTOBUF)

    receiving.traces.note(events)
    receiving.take(body)

    assert others == 0
    assert calls(receiving.only())[0]["payload"]["prompt"] == [{"role": "user", "content": "Where is it?"}]
    assert answer_to_logs(0, PROTOBUF) == b""
    refused = ExportLogsServiceResponse.FromString(answer_to_logs(2, PROTOBUF)).partial_success
    assert (refused.rejected_log_records, "OTEL_LOGS_EXPORTER" in refused.error_message) == (2, True)


def test_json_spans_hear_it_too(receiving: Receiving) -> None:
    """The ids of a span are the same in either encoding."""
    body, trace_id, span_id = _called()

    receiving.traces.note(read_log_events(_logged(trace_id, span_id), JSON)[0])
    receiving.take(as_json(body), JSON)

    assert calls(receiving.only())[0]["payload"]["response"]["content"] == "In Oslo."


def test_a_run_waits_a_little_longer_for_what_was_said(receiving: Receiving) -> None:
    """Exporters send every five seconds, each signal for itself."""
    body, trace_id, span_id = _called()
    receiving.take(body)
    receiving.wait(5)

    receiving.traces.note(read_log_events(_logged(trace_id, span_id), JSON)[0])
    receiving.wait(13)

    assert [event["event_type"] for event in receiving.only()][-2:] == ["MESSAGE", "RUN_END"]
