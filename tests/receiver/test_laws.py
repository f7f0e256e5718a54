"""Laws of receiving: however the spans of a trace are spread over requests, the run is the same."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.receiver.conftest import Receiving

pytestmark = pytest.mark.slow


# None says what a call may take from the span around it: that depends on whether both have come.
KINDS: list[dict[str, Any]] = [
    {},
    {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"},
    {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"},
    {"openinference.span.kind": "LLM", "llm.model_name": "m"},
    {"openinference.span.kind": "TOOL", "tool.name": "find"},
]
# Each span but the first hangs under an earlier one; it has a kind.
trees = st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(range(len(KINDS)))), min_size=1, max_size=12)


def spans_of(tree: list[tuple[int, int]]) -> list[bytes]:
    """One request a span, in the order they end: children before their parents."""
    bodies = []
    for number, (choice, kind) in reversed(list(enumerate(tree))):
        request = ExportTraceServiceRequest()
        part = request.resource_spans.add().scope_spans.add()
        part.scope.name = f"scope {kind}"
        span = part.spans.add(
            trace_id=b"\7" * 16,
            span_id=(number + 1).to_bytes(8, "big"),
            parent_span_id=b"" if number == 0 else (choice % number + 1).to_bytes(8, "big"),
            name=f"span {number}",
            start_time_unix_nano=1_700_000_000_000_000_000 + number * 1_000_000,
            end_time_unix_nano=1_700_000_001_000_000_000 - number * 1_000_000,
        )
        for key, value in KINDS[kind].items():
            span.attributes.add(key=key).value.string_value = value
        bodies.append(request.SerializeToString())
    return bodies


def received(requests: list[bytes], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("AGENTDBG_DATA_DIR", folder)
        receiving = Receiving(Path(folder))
        for request in requests:
            assert receiving.take(request) == []
        receiving.wait(2)
        # What is said of repetition depends on the order, as it should.
        return [event for event in receiving.only() if event["event_type"] != "LOOP_WARNING"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees, cuts=st.lists(st.booleans(), min_size=12, max_size=12))
def test_the_borders_of_requests_change_nothing(
    tree: list[tuple[int, int]], cuts: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exporter sends when its buffer is full or its time has come; that is no fact about the agent."""
    bodies = spans_of(tree)
    requests = [bodies[0]]
    for body, is_cut in zip(bodies[1:], cuts, strict=False):
        if is_cut:
            requests.append(body)
        else:
            requests[-1] += body  # protobuf messages that follow each other are one

    one, many = received([b"".join(bodies)], monkeypatch), received(requests, monkeypatch)
    assert [{**event, "meta": {}} for event in one[1:]] == [{**event, "meta": {}} for event in many[1:]]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees, order=st.randoms(use_true_random=False))
def test_any_order_keeps_every_span_once_and_in_its_place(
    tree: list[tuple[int, int]], order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Services and exporters do not wait for each other."""
    bodies = spans_of(tree)
    order.shuffle(bodies)
    events = received([*bodies, *bodies[:3]], monkeypatch)

    assert len(events) == len(tree) + 2
    ids = [event["event_id"] for event in events]
    assert len(set(ids)) == len(ids)
    usual = received(spans_of(tree), monkeypatch)
    assert {event["event_id"]: event["parent_id"] for event in events} == {
        event["event_id"]: event["parent_id"] for event in usual
    }
    assert events[-1]["duration_ms"] == usual[-1]["duration_ms"]
