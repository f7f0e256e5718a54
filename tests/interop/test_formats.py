"""SWE-agent, OpenTelemetry, Inspect AI and OpenHands: each in the forms its tool writes."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.files import asks, imported, kinds, take, write

if TYPE_CHECKING:
    from pathlib import Path


# SWE-agent


def test_a_step_is_an_answer_and_its_command(tmp_path: Path, data_dir: Path) -> None:
    """The command is the tool the model means: its first word names it, its time is kept."""
    step = {
        "response": "Look.\nls -F",
        "thought": "Look.",
        "action": "ls -F\n",
        "observation": "a.py",
        "execution_time": 0.25,
    }
    document = {
        "environment": "main",
        "trajectory": [step],
        "history": [{"role": "system", "content": "Rules"}, {"role": "user", "content": "Fix it"}],
        "info": {"exit_status": "submitted", "submission": "diff"},
    }

    events = imported(write(tmp_path / "fix.traj", document), data_dir)

    assert kinds(events) == ["RUN_START", "LLM_CALL", "TOOL_CALL", "RUN_END"]
    assert [message["content"] for message in events[1]["payload"]["prompt"]] == ["Rules", "Fix it"]
    assert (events[2]["name"], events[2]["payload"]["args"]) == ("ls", {"command": "ls -F"})
    assert events[2]["duration_ms"] == 250
    assert events[-1]["payload"]["result"] == "diff"
    assert events[-1]["duration_ms"] == 250


def test_an_agent_that_gave_up_failed(tmp_path: Path, data_dir: Path) -> None:
    """Its exit status is the only sign of it."""
    document = {
        "trajectory": [{"response": "x", "action": "ls", "observation": ""}],
        "info": {"exit_status": "exit_cost"},
    }

    events = imported(write(tmp_path / "cost.traj", document), data_dir)

    assert kinds(events)[-2:] == ["ERROR", "RUN_END"]
    assert "exit_cost" in events[-1]["payload"]["error"]["message"]


# OpenTelemetry


def _otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def _span(span_id: str, name: str, parent: str = "", start: int = 0, length: int = 1000, **more: Any) -> dict[str, Any]:
    attributes = [{"key": key, "value": _wrapped(value)} for key, value in more.pop("attributes", {}).items()]
    began = 1_700_000_000_000 + start
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": span_id,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(began * 1_000_000),
        "endTimeUnixNano": str((began + length) * 1_000_000),
        "attributes": attributes,
        "status": {},
        **more,
    }


def _wrapped(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_wrapped(item) for item in value]}}
    return {"stringValue": value}


GENAI = _otlp(
    _span("a1", "invoke_agent shop", length=3000, attributes={"gen_ai.operation.name": "invoke_agent"}),
    _span(
        "b1",
        "chat gpt-4o",
        "a1",
        start=100,
        attributes={
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.provider.name": "openai",
            "gen_ai.usage.input_tokens": 12,
            "gen_ai.usage.output_tokens": 8,
            "gen_ai.response.finish_reasons": ["tool_calls"],
            "gen_ai.input.messages": json.dumps(
                [{"role": "user", "parts": [{"type": "text", "content": "Where is 8812?"}]}]
            ),
            "gen_ai.output.messages": json.dumps(
                [
                    {
                        "role": "assistant",
                        "parts": [{"type": "tool_call", "id": "c", "name": "find", "arguments": {"id": 8812}}],
                    }
                ]
            ),
        },
    ),
    _span(
        "c1",
        "execute_tool find",
        "a1",
        start=1200,
        length=50,
        attributes={
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "find",
            "gen_ai.tool.call.arguments": '{"id": 8812}',
        },
        status={"code": 2, "message": "not found"},
        events=[
            {
                "name": "exception",
                "attributes": [
                    {"key": "exception.type", "value": {"stringValue": "LookupError"}},
                    {"key": "exception.message", "value": {"stringValue": "no order 8812"}},
                ],
            }
        ],
    ),
)


def test_otlp_spans_keep_their_tree_times_and_errors(tmp_path: Path, data_dir: Path) -> None:
    """OTLP JSON is what collectors and SDKs write to files."""
    events = imported(write(tmp_path / "spans.json", GENAI), data_dir)

    assert kinds(events) == ["RUN_START", "LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "RUN_END"]
    start, model, tool, agent, end = events
    assert model["payload"]["prompt"] == [{"role": "user", "content": "Where is 8812?"}]
    assert model["payload"]["response"]["tool_calls"][0]["function"]["name"] == "find"
    assert model["payload"]["usage"]["total_tokens"] == 20
    assert (model["payload"]["provider"], model["payload"]["stop_reason"]) == ("openai", "tool_calls")
    assert (model["ts"], model["duration_ms"]) == ("2023-11-14T22:13:21.100Z", 1000)
    assert tool["payload"]["args"] == {"id": 8812}
    assert tool["payload"]["error"]["error_type"] == "LookupError"
    assert agent["meta"]["span"] == "invoke_agent shop"
    assert {model["parent_id"], tool["parent_id"]} == {agent["event_id"]}
    assert agent["parent_id"] == start["event_id"]
    assert end["duration_ms"] == 3000
    assert start["meta"]["service"] == "shop"


def test_openinference_messages_and_tools_are_put_together(tmp_path: Path, data_dir: Path) -> None:
    """Phoenix flattens messages and schemas into attributes; findings need them whole."""
    schema = json.dumps({"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}})
    span = {
        "name": "ChatCompletion",
        "context": {"trace_id": "0xabc1", "span_id": "0xdef1"},
        "parent_id": None,
        "start_time": "2025-03-19T16:40:25.243451Z",
        "end_time": "2025-03-19T16:40:26.243451Z",
        "status_code": "OK",
        "attributes": {
            "openinference.span.kind": "LLM",
            "llm.model_name": "o3-mini",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Hi",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{}",
            "llm.tools.0.tool.json_schema": schema,
            "llm.token_count.prompt": 5,
            "llm.token_count.completion": 2,
        },
    }

    call = imported(write(tmp_path / "phoenix.json", [span]), data_dir)[1]

    assert call["name"] == "o3-mini"
    assert call["payload"]["prompt"] == [{"role": "user", "content": "Hi"}]
    assert call["payload"]["response"]["tool_calls"][0]["function"]["name"] == "find"
    assert call["payload"]["tools"] == [json.loads(schema)]
    assert call["payload"]["usage"]["total_tokens"] == 7


def test_traces_in_one_file_are_runs_of_their_own(tmp_path: Path, data_dir: Path) -> None:
    """A collector writes batches line by line, and a trace may be spread over several."""
    other = _otlp(_span("z1", "other"))
    other["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] = "ffff651916cd43dd8448eb211c80319c"
    late = _otlp(_span("d1", "late", "a1", start=2000, length=10))
    lines = "\n".join(json.dumps(document) for document in (GENAI, other, late))

    outcomes = take(write(tmp_path / "batches.jsonl", lines))

    assert [outcome.run.events if outcome.run else 0 for outcome in outcomes] == [6, 3]


def test_a_parent_that_is_its_own_descendant_does_no_harm(tmp_path: Path, data_dir: Path) -> None:
    """Broken exporters exist, and a run must still be shown."""
    events = imported(write(tmp_path / "knot.json", _otlp(_span("a1", "a", "b1"), _span("b1", "b", "a1"))), data_dir)

    assert kinds(events) == ["RUN_START", "STATE_UPDATE", "STATE_UPDATE", "RUN_END"]


# Inspect AI


def _inspect() -> dict[str, Any]:
    model = {
        "event": "model",
        "span_id": "s1",
        "timestamp": "2025-02-07T10:00:01+00:00",
        "completed": "2025-02-07T10:00:03+00:00",
        "model": "openai/gpt-4o",
        "input": [{"role": "user", "content": "attachment://abc"}],
        "tools": [],
        "config": {"temperature": 0.5},
        "output": {
            "choices": [{"message": asks("bash", {"cmd": "ls"}), "stop_reason": "tool_calls"}],
            "usage": {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10},
        },
    }
    tool = {
        "event": "tool",
        "id": "c1",
        "function": "bash",
        "arguments": {"cmd": "ls"},
        "result": "",
        "error": {"type": "timeout", "message": "took too long"},
        "timestamp": "2025-02-07T10:00:03+00:00",
        "working_time": 1.5,
    }
    begun = {"event": "span_begin", "id": "s1", "name": "solver", "timestamp": "2025-02-07T10:00:00+00:00"}
    ended = {"event": "span_end", "id": "s1", "timestamp": "2025-02-07T10:00:05+00:00"}
    score = {"event": "score", "score": {"value": "I"}, "timestamp": "2025-02-07T10:00:06+00:00"}
    sample = {
        "id": 7,
        "epoch": 1,
        "input": "q",
        "attachments": {"abc": "a very long text"},
        "events": [begun, model, tool, ended, score],
        "scores": {"match": {"value": "I"}},
    }
    return {"version": 2, "status": "success", "eval": {"task": "ctf", "model": "openai/gpt-4o"}, "samples": [sample]}


@pytest.mark.parametrize("packed", [False, True], ids=["json", "eval"])
def test_a_sample_of_an_inspect_log_is_a_run(tmp_path: Path, data_dir: Path, packed: bool) -> None:
    """Inspect writes archives by default and JSON on request."""
    log = _inspect()
    path = write(tmp_path / "log.json", log)
    if packed:
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("header.json", json.dumps({key: log[key] for key in ("version", "status", "eval")}))
            archive.writestr("samples/7_epoch_1.json", json.dumps(log["samples"][0]))

    start, model, tool, span, score, end = imported(path, data_dir)

    assert start["name"] == "ctf 7"
    assert start["meta"]["scores"] == {"match": "I"}
    assert model["payload"]["prompt"][0]["content"] == "a very long text"
    assert (model["duration_ms"], model["payload"]["temperature"]) == (2000, 0.5)
    assert tool["payload"]["error"] == {
        "error_type": "timeout",
        "message": "took too long",
        "stack": None,
        "details": None,
    }
    assert (tool["parent_id"], tool["duration_ms"]) == (model["event_id"], 1500)
    assert model["parent_id"] == span["event_id"]
    assert span["duration_ms"] == 5000
    assert score["event_type"] == "SCORE"
    assert end["payload"]["summary"]["total_tokens"] == 10


def test_an_inspect_log_without_events_is_read_from_its_messages(tmp_path: Path, data_dir: Path) -> None:
    """Older logs have nothing else."""
    log = _inspect()
    del log["samples"][0]["events"]
    log["samples"][0]["messages"] = [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "x", "function": "bash", "arguments": {"cmd": "ls"}}],
        },
        {
            "role": "tool",
            "tool_call_id": "x",
            "function": "bash",
            "content": "",
            "error": {"type": "t", "message": "m"},
        },
    ]

    events = imported(write(tmp_path / "old.json", log), data_dir)

    assert kinds(events) == ["RUN_START", "LLM_CALL", "TOOL_CALL", "RUN_END"]
    assert (events[2]["name"], events[2]["payload"]["args"]) == ("bash", {"cmd": "ls"})
    assert events[2]["payload"]["error"]["message"] == "m"


# OpenHands


def test_openhands_actions_and_observations_meet(tmp_path: Path, data_dir: Path) -> None:
    """An observation whose action is missing from the file is a tool call all the same."""
    stats = {
        "default": {"model_name": "minimax", "accumulated_token_usage": {"prompt_tokens": 100, "completion_tokens": 5}}
    }
    lines: list[dict[str, Any]] = [
        {"id": "1", "kind": "MessageEvent", "source": "user", "timestamp": "2026-06-16T05:39:00",
         "llm_message": {"role": "user", "content": [{"type": "text", "text": "Fix it"}]}},
        {"id": "2", "kind": "ConversationStateUpdateEvent", "key": "stats", "value": {"usage_to_metrics": stats},
         "timestamp": "2026-06-16T05:39:01"},
        {"id": "3", "kind": "ActionEvent", "timestamp": "2026-06-16T05:39:02", "tool_name": "terminal",
         "tool_call_id": "t1", "llm_response_id": "r1", "thought": [{"type": "text", "text": "Look"}],
         "tool_call": {"name": "terminal", "arguments": '{"command": "ls"}'}},
        {"id": "4", "kind": "ObservationEvent", "timestamp": "2026-06-16T05:39:02.500", "tool_name": "terminal",
         "tool_call_id": "t1", "observation": {"content": [{"type": "text", "text": "a.py"}], "is_error": False}},
        {"id": "5", "kind": "ObservationEvent", "timestamp": "2026-06-16T05:39:03", "tool_name": "terminal",
         "tool_call_id": "gone", "observation": {"content": [{"type": "text", "text": "no"}], "is_error": True}},
    ]  # fmt: skip
    text = "\n".join(json.dumps(line) for line in lines)

    events = imported(write(tmp_path / "events.jsonl", text), data_dir)

    assert kinds(events) == ["RUN_START", "MESSAGE", "LLM_CALL", "TOOL_CALL", "TOOL_CALL", "RUN_END"]
    model, tool, lost = events[2:5]
    assert (model["name"], model["payload"]["usage"]["prompt_tokens"]) == ("minimax", 100)
    assert model["payload"]["prompt"] == [{"role": "user", "content": "Fix it"}]
    assert (tool["parent_id"], tool["duration_ms"]) == (model["event_id"], 500)
    assert (tool["payload"]["args"], tool["payload"]["result"]) == ({"command": "ls"}, "a.py")
    assert lost["payload"]["status"] == "error"
