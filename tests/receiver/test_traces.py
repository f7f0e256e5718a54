"""Spans as they arrive: in any order, in any number of requests, from several services, twice, late, or never."""

from __future__ import annotations

import errno
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags, set_span_in_context

from agentdbg import own_os, record_tool_call, traced_run
from agentdbg.interop.otel_spans import Overlaps
from agentdbg.interop.span_steps import step_of
from agentdbg.receiver import traces as traces_module
from agentdbg.receiver.trace_run import NotStored
from agentdbg.storage import load_run_meta
from tests.receiver.sdk import encode, tracing

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tests.receiver.conftest import Receiving
    from tests.receiver.sdk import Recorder

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
CHAT: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.usage.input_tokens": 30,
    "gen_ai.usage.output_tokens": 12,
}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find", "gen_ai.tool.call.arguments": '{"id": 1}'}


def small_agent(service: str = "shop") -> Recorder:
    """A model call, a tool and another model call inside an agent."""
    provider, exporter = tracing(service)
    tracer = provider.get_tracer("tests")
    with tracer.start_as_current_span("invoke_agent shop", attributes=AGENT):
        with tracer.start_as_current_span("chat gpt-4o", attributes=CHAT):
            pass
        with tracer.start_as_current_span("execute_tool find", attributes=TOOL):
            pass
        with tracer.start_as_current_span("chat gpt-4o", attributes=CHAT):
            pass
    return exporter


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["event_type"] for event in events]


def is_root(span: ReadableSpan) -> bool:
    return span.parent is None


def test_a_trace_in_one_request_is_one_whole_run(receiving: Receiving) -> None:
    """The usual case: a short agent, and an exporter that sends when it ends."""
    receiving.take(small_agent().encoded())
    receiving.wait(2)

    start, first, tool, second, agent, end = receiving.only()
    assert kinds([first, tool, second, agent]) == ["LLM_CALL", "TOOL_CALL", "LLM_CALL", "STATE_UPDATE"]
    assert {first["parent_id"], tool["parent_id"], second["parent_id"]} == {agent["event_id"]}
    assert agent["parent_id"] == end["parent_id"] == start["event_id"]
    assert start["payload"]["run_name"] == "shop"
    assert (start["meta"]["service"], start["meta"]["received_from"]["format"]) == ("shop", "otlp")
    assert end["payload"]["status"] == "ok"
    assert end["payload"]["summary"]["total_tokens"] == 84


def test_a_persons_eye_finds_the_span_by_its_event(receiving: Receiving) -> None:
    """The same trace may lie in another tool too, which knows only the ids of spans."""
    exporter = small_agent()
    receiving.take(exporter.encoded())

    told = {f"{span.context.span_id:016x}" for span in exporter.spans if span.context is not None}
    shown = [event["event_id"].split("-") for event in receiving.only()[1:]]
    assert {f"{first}{second}{third[1:]}{fourth[1]}" for first, second, third, fourth, _ in shown} == told


def test_what_began_and_ended_is_told_once_for_each_request(receiving: Receiving) -> None:
    """A line for each run, written at once: a terminal is slower than the disk."""
    told: list[list[tuple[str, bool]]] = []
    receiving.start(on_news=lambda news: told.append([(item.run_name, item.has_ended) for item in news]))
    receiving.take(encode([*small_agent("one").spans, *small_agent("two").spans]))
    receiving.wait(2)

    assert told == [[("shop", False), ("shop", False)], [("shop", True), ("shop", True)]]


def test_a_span_is_on_disk_when_it_was_acknowledged(receiving: Receiving) -> None:
    """A live run is looked at while it lasts, and what was acknowledged must survive the receiver's death."""
    exporter = small_agent()
    receiving.take(exporter.encoded(lambda span: not is_root(span)))

    assert kinds(receiving.only()) == ["RUN_START", "LLM_CALL", "TOOL_CALL", "LLM_CALL"]
    run = load_run_meta("latest", receiving.data_dir)
    assert run["status"] == "running"
    receiving.wait(1)
    assert load_run_meta("latest", receiving.data_dir)["counts"]["llm_calls"] == 2


def test_the_root_comes_last_and_names_the_run(receiving: Receiving) -> None:
    """Children end before their parents, so nobody knows the name when the run begins."""
    exporter = small_agent()
    for span in exporter.spans:
        receiving.take(encode([span]))
        receiving.wait(1)
    receiving.wait(1)

    events = receiving.only()
    assert kinds(events)[-2:] == ["STATE_UPDATE", "RUN_END"]
    assert events[1]["parent_id"] == events[-2]["event_id"]
    assert load_run_meta("latest", receiving.data_dir)["run_name"] == "shop"


def test_a_request_that_is_sent_again_adds_nothing(receiving: Receiving) -> None:
    """An exporter whose answer was lost tries again, also long after."""
    body = small_agent().encoded()
    receiving.take(body)
    receiving.take(body)
    receiving.wait(2)
    before = receiving.only()
    receiving.take(body)
    receiving.wait(10)

    assert receiving.only() == before
    assert len(before) == 6


def test_a_late_span_begins_a_run_that_continues_the_first(receiving: Receiving) -> None:
    """Nothing is written after RUN_END, and nothing that arrives is lost."""
    exporter = small_agent()
    late = exporter.spans[1]
    receiving.take(exporter.encoded(lambda span: span is not late))
    receiving.wait(2)
    receiving.take(encode([late]))
    receiving.wait(2)

    first, second = receiving.runs()
    assert kinds(second) == ["RUN_START", "TOOL_CALL", "RUN_END"]
    assert second[0]["name"] == "shop (continued)"
    assert second[0]["meta"]["received_from"]["continues"] == first[0]["run_id"]
    assert second[1]["parent_id"] == second[0]["event_id"]


def test_a_receiver_that_is_started_again_goes_on(receiving: Receiving) -> None:
    """Runs last longer than the terminal somebody closed; totals must not begin anew."""
    exporter = small_agent()
    receiving.take(encode(exporter.spans[:2]))
    receiving.traces.close()
    receiving.start()
    receiving.take(encode(exporter.spans[1:]))
    receiving.wait(2)

    events = receiving.only()
    assert kinds(events) == ["RUN_START", "LLM_CALL", "TOOL_CALL", "LLM_CALL", "STATE_UPDATE", "RUN_END"]
    summary = events[-1]["payload"]["summary"]
    assert (summary["llm_calls"], summary["tool_calls"], summary["total_tokens"]) == (2, 1, 84)


def test_a_receiver_that_was_killed_is_continued_from_what_it_wrote(receiving: Receiving) -> None:
    """A torn last line, as a full disk or a power cut leaves it, costs that line and no other."""
    exporter = small_agent()
    receiving.take(encode(exporter.spans[:2]))
    receiving.traces.close()
    (path,) = receiving.data_dir.glob("runs/*/events.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    receiving.start()
    receiving.take(exporter.encoded())
    receiving.wait(2)

    torn, *rest = path.read_bytes().splitlines()[2:]
    assert torn == whole.splitlines()[2][:-39]
    events = [json.loads(line) for line in rest]
    assert kinds(events) == ["TOOL_CALL", "LLM_CALL", "STATE_UPDATE", "RUN_END"]
    assert events[-1]["payload"]["summary"]["tool_calls"] == 1


def test_a_trace_whose_root_never_comes_is_closed_and_says_so(receiving: Receiving) -> None:
    """An agent that was killed never ends its root span; its run must not look as if it were still going on."""
    receiving.take(small_agent().encoded(lambda span: not is_root(span)))
    receiving.wait(599)
    assert kinds(receiving.only())[-1] == "LLM_CALL"
    receiving.wait(1)

    end = receiving.only()[-1]
    assert end["payload"]["status"] == "error"
    assert end["payload"]["error"]["error_type"] == "TraceIncomplete"
    assert "root span" in end["payload"]["error"]["message"]


def test_a_service_whose_caller_is_recorded_elsewhere_ends_well(receiving: Receiving) -> None:
    """A web server's spans hang under its caller's, which may never be sent here; that is no failure."""
    provider, exporter = tracing()
    caller = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(1))
    context = set_span_in_context(NonRecordingSpan(caller))
    with provider.get_tracer("tests").start_as_current_span("POST /ask", context=context):
        pass
    receiving.take(exporter.encoded())
    receiving.wait(2)
    assert kinds(receiving.only())[-1] == "STATE_UPDATE"
    receiving.wait(600)

    assert receiving.only()[-1]["payload"]["status"] == "ok"


def test_two_services_make_one_run(receiving: Receiving) -> None:
    """An agent and its tool server export on their own schedules; the run waits for the slower one."""
    caller, exporter = tracing("agent")
    server, other = tracing("tools")
    with caller.get_tracer("tests").start_as_current_span("invoke_agent shop", attributes=AGENT) as span:
        here = span.get_span_context()
        there = SpanContext(here.trace_id, here.span_id, is_remote=True, trace_flags=here.trace_flags)
        context = set_span_in_context(NonRecordingSpan(there))
        with server.get_tracer("tests").start_as_current_span("execute_tool find", context=context, attributes=TOOL):
            pass
    receiving.take(other.encoded())
    receiving.take(exporter.encoded())
    receiving.wait(11)
    assert kinds(receiving.only())[-1] != "RUN_END"
    receiving.wait(1)

    start, tool, agent, end = receiving.only()
    assert tool["parent_id"] == agent["event_id"]
    assert agent["parent_id"] == start["event_id"]
    assert end["payload"]["status"] == "ok"


def test_a_failed_root_fails_the_run(receiving: Receiving) -> None:
    """The exception that ended the agent is the first thing one wants to see."""
    provider, exporter = tracing()
    with (
        pytest.raises(LookupError),
        provider.get_tracer("tests").start_as_current_span("invoke_agent shop", attributes=AGENT),
    ):
        raise LookupError("no order 8812")
    receiving.take(exporter.encoded())
    receiving.wait(2)

    events = receiving.only()
    assert kinds(events) == ["RUN_START", "STATE_UPDATE", "ERROR", "RUN_END"]
    assert events[2]["payload"]["error_type"] == "LookupError"
    assert "no order 8812" in events[2]["payload"]["message"]
    assert events[3]["payload"]["status"] == "error"


def test_traces_do_not_mix(receiving: Receiving) -> None:
    """One request of a busy service holds spans of many traces."""
    bodies = [small_agent(name).spans for name in ("one", "two", "three")]
    mixed = [span for spans in zip(*bodies, strict=True) for span in spans]
    receiving.take(encode(mixed))
    receiving.wait(2)

    runs = receiving.runs()
    assert {events[0]["meta"]["service"] for events in runs} == {"one", "two", "three"}
    assert [len(events) for events in runs] == [6, 6, 6]


def test_secrets_are_removed_like_anywhere_else(receiving: Receiving) -> None:
    """What arrives over a socket was redacted by nobody."""
    provider, exporter = tracing()
    says = {
        **TOOL,
        "gen_ai.tool.call.arguments": '{"api_key": "sk-proj-aaaabbbbccccddddeeeeffff1234", "q": "x"}',
        "gen_ai.tool.call.result": "Authorization: Bearer abcdefghijklmnop0123456789",
    }
    with provider.get_tracer("tests").start_as_current_span("execute_tool find", attributes=says) as span:
        span.set_status(Status(StatusCode.ERROR, "password=hunter2hunter2"))
    receiving.take(exporter.encoded())
    receiving.wait(2)

    text = json.dumps(receiving.only())
    assert "sk-proj" not in text
    assert "abcdefghijklmnop" not in text
    assert "hunter2" not in text
    assert "__REDACTED__" in text


def test_what_the_disk_did_not_take_is_written_when_it_is_sent_again(
    receiving: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is the sender's business for a moment: it is told to try again, and nothing is missing or double."""
    exporter = small_agent()
    receiving.take(encode(exporter.spans[:1]))
    real, broken = os.write, [True]

    def write(descriptor: int, data: bytes) -> int:
        if broken and b"execute_tool" not in data and b'"TOOL_CALL"' in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(own_os.os, "write", write)
    with pytest.raises(NotStored):
        receiving.take(exporter.encoded())
    broken.clear()
    receiving.take(exporter.encoded())
    receiving.wait(2)

    events = receiving.only()
    assert kinds(events) == ["RUN_START", "LLM_CALL", "TOOL_CALL", "LLM_CALL", "STATE_UPDATE", "RUN_END"]
    assert events[-1]["payload"]["summary"]["llm_calls"] == 2


def test_many_open_traces_do_not_exhaust_the_files(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every open run holds a descriptor, and a program may leave any number of traces without a root."""
    monkeypatch.setattr(traces_module, "_MOST_OPEN", 3)
    for name in ("one", "two", "three", "four"):
        receiving.take(small_agent(name).encoded(lambda span: not is_root(span)))

    ended = [events[0]["meta"]["service"] for events in receiving.runs() if kinds(events)[-1] == "RUN_END"]
    assert ended == ["one"]


def test_a_run_that_another_receiver_writes_is_left_alone(receiving: Receiving) -> None:
    """Two receivers of one folder must not write into one file."""
    exporter = small_agent()
    receiving.take(encode(exporter.spans[:1]))
    other = receiving.traces
    receiving.start()
    receiving.take(encode(exporter.spans[1:]))
    receiving.wait(2)
    other.close()

    first, second = sorted(receiving.runs(), key=len)
    assert kinds(first) == ["RUN_START", "LLM_CALL"]
    assert kinds(second) == ["RUN_START", "TOOL_CALL", "LLM_CALL", "STATE_UPDATE", "RUN_END"]


def test_a_resent_request_keeps_a_continued_run_open(receiving: Receiving) -> None:
    """A receiver that was started again has heard of the trace when its sender tries once more."""
    exporter = small_agent()
    receiving.take(encode(exporter.spans[:2]))
    receiving.traces.close()
    receiving.start()
    receiving.take(encode(exporter.spans[:2]))
    receiving.wait(1)
    receiving.take(encode(exporter.spans[2:]))
    receiving.wait(2)

    events = receiving.only()
    assert kinds(events)[-1] == "RUN_END"
    assert events[-1]["payload"]["status"] == "ok"


def test_a_span_our_code_cannot_read_costs_only_itself(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever we have not thought of must not cost the other spans of a request, and is said."""

    def fragile(span: Any) -> Any:
        if span.name == "execute_tool find":
            raise KeyError("unexpected")
        return step_of(span)

    monkeypatch.setattr("agentdbg.receiver.trace_run.step_of", fragile)
    rejected = receiving.take(small_agent().encoded())
    receiving.wait(2)

    assert kinds(receiving.only()) == ["RUN_START", "LLM_CALL", "LLM_CALL", "STATE_UPDATE", "RUN_END"]
    assert rejected == ["the span 'execute_tool find' cannot be read (KeyError: 'unexpected')"]


def test_a_trace_of_many_spans_takes_linear_time() -> None:
    """A chain of thousands of spans, or of tools, is nobody's agent, and must not stop the others' spans."""
    overlaps = Overlaps()
    begun = time.process_time()
    for number in range(10_000):
        overlaps.is_told_already(str(number), str(number - 1), "" if number % 2 else "TOOL_CALL", str(number), "s")
    for number in range(10_000):
        overlaps.is_told_already(f"m{number}", "9999", "TOOL_CALL", f"other {number}", "t")

    assert time.process_time() - begun < 5  # with every pair looked at it would be minutes


def test_the_oldest_received_runs_give_way_to_the_quota(receiving: Receiving) -> None:
    """A program that is traced for weeks must not fill the disk."""
    removed: list[str] = []
    receiving.start(max_disk=6_000, on_news=lambda news: removed.extend(run.run_id for run in news if run.was_removed))
    for _ in range(6):
        receiving.take(small_agent().encoded())
        receiving.wait(60)

    left = {path.name for path in (receiving.data_dir / "runs").iterdir()}
    assert removed
    assert left.isdisjoint(removed)
    assert sum(file.stat().st_size for file in (receiving.data_dir / "runs").rglob("*") if file.is_file()) <= 6_000


def test_a_run_of_the_users_own_is_never_removed_for_the_quota(receiving: Receiving) -> None:
    """Only what came over the network is counted and given up."""
    with traced_run("mine") as run:
        record_tool_call("t", {"x": "y" * 5_000})
    receiving.start(max_disk=1)
    receiving.take(small_agent().encoded())
    receiving.wait(60)
    receiving.wait(60)

    assert [path.name for path in (receiving.data_dir / "runs").iterdir()] == [run.run_id]
