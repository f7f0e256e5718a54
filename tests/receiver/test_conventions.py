"""One call in the words of every convention, and several spans that tell of one call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.config import load_config
from agentdbg.interop.imports import Importing
from agentdbg.interop.sources import Source
from agentdbg.receiver.bodies import JSON
from tests.receiver.running import calls
from tests.receiver.sdk import as_json, encode, tracing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.receiver.conftest import Receiving

QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where is it?"}]
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": {"id": 8812}}}
ANSWER = {"role": "assistant", "content": None, "tool_calls": [CALL]}
PARTS_IN = [{"role": item["role"], "parts": [{"type": "text", "content": item["content"]}]} for item in QUESTION]
PARTS_OUT = [
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "find", "arguments": {"id": 8812}}],
        "finish_reason": "tool_call",
    }
]
GENAI: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.provider.name": "openai",
    "gen_ai.usage.input_tokens": 90,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.usage.cache_read.input_tokens": 64,
    "gen_ai.response.finish_reasons": ["tool_calls"],
}
OLD = {
    "gen_ai.operation.name": "chat",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.usage.prompt_tokens": 90,
    "gen_ai.usage.completion_tokens": 20,
    "gen_ai.usage.cache_read_input_tokens": 64,
}
OPENLLMETRY = {
    **OLD,
    "llm.request.type": "chat",
    "llm.usage.total_tokens": 110,
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": '[{"type": "text", "text": "Where is it?"}]',
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.id": "c1",
    "gen_ai.completion.0.tool_calls.0.name": "find",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"id": 8812}',
}
OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.system": "openai",
    "llm.model_name": "gpt-4o",
    "llm.token_count.prompt": 90,
    "llm.token_count.completion": 20,
    "llm.token_count.total": 110,
    "llm.token_count.prompt_details.cache_read": 64,
    "llm.finish_reason": "tool_calls",
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "Be brief.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": "Where is it?",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"id": 8812}',
}
VERCEL = {
    **GENAI,
    "gen_ai.response.finish_reasons": ["tool-calls"],
    "ai.prompt.messages": json.dumps(
        [QUESTION[0], {"role": "user", "content": [{"type": "text", "text": "Where is it?"}]}]
    ),
    "ai.response.toolCalls": json.dumps([{"toolCallId": "c1", "toolName": "find", "input": '{"id": 8812}'}]),
}
MESSAGE_EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("gen_ai.system.message", {"content": "Be brief."}),
    ("gen_ai.user.message", {"gen_ai.event.content": '{"role": "user", "content": "Where is it?"}'}),
    (
        "gen_ai.choice",
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": json.dumps(
                {"tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": '{"id": 8812}'}}]}
            ),
        },
    ),
]
DETAILS_EVENT: list[tuple[str, dict[str, Any]]] = [
    (
        "gen_ai.client.inference.operation.details",
        {"gen_ai.input.messages": json.dumps(PARTS_IN), "gen_ai.output.messages": json.dumps(PARTS_OUT)},
    )
]
WHOLE = {"gen_ai.input.messages": json.dumps(PARTS_IN), "gen_ai.output.messages": json.dumps(PARTS_OUT)}
APART = {
    "gen_ai.system_instructions": json.dumps(PARTS_IN[0]["parts"]),
    "gen_ai.input.messages": json.dumps(PARTS_IN[1:]),
    "gen_ai.output.messages": json.dumps(PARTS_OUT),
}


@pytest.mark.parametrize(
    ("attributes", "events"),
    [
        pytest.param({**GENAI, **WHOLE}, [], id="GenAI v1.37 and later"),
        pytest.param({**GENAI, **APART}, [], id="GenAI with instructions apart"),
        pytest.param(GENAI, DETAILS_EVENT, id="GenAI with one event of details"),
        pytest.param(OLD, MESSAGE_EVENTS, id="GenAI before v1.37, an event a message"),
        pytest.param(OPENLLMETRY, [], id="OpenLLMetry"),
        pytest.param(OPENINFERENCE, [], id="OpenInference"),
        pytest.param(VERCEL, [], id="Vercel AI SDK"),
    ],
)
def test_every_convention_tells_the_same_call(
    receiving: Receiving, attributes: dict[str, Any], events: list[tuple[str, dict[str, Any]]]
) -> None:
    """One model of events: prompt, answer and tokens mean the same whoever told them."""
    provider, exporter = tracing()
    with provider.get_tracer("tests").start_as_current_span("chat gpt-4o", attributes=attributes) as span:
        for name, said in events:
            span.add_event(name, said)
    receiving.take(exporter.encoded())
    receiving.wait(2)

    (call,) = calls(receiving.only())
    payload = call["payload"]
    assert payload["prompt"] == QUESTION
    assert payload["response"] == ANSWER
    assert (payload["model"], payload["provider"], payload["stop_reason"]) == ("gpt-4o", "openai", "tool_calls")
    assert payload["usage"] == {
        "prompt_tokens": 90,
        "completion_tokens": 20,
        "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    assert payload["cost_usd"] == pytest.approx((26 * 2.5 + 64 * 1.25 + 20 * 10) / 1e6)


def test_json_says_what_protobuf_says(receiving: Receiving) -> None:
    """SDKs of other languages send JSON; numbers and bytes are written differently there."""
    provider, exporter = tracing()
    with provider.get_tracer("tests").start_as_current_span("chat gpt-4o", attributes={**GENAI, **WHOLE}):
        pass
    body = exporter.encoded()
    receiving.take(as_json(body), JSON)
    receiving.wait(2)
    first = receiving.only()
    receiving.take(body)
    receiving.wait(2)

    assert receiving.only() == first
    assert calls(first)[0]["payload"]["usage"]["prompt_tokens"] == 90


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        ({"gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read.input_tokens": 80}, 100),
        ({"gen_ai.usage.input_tokens": 20, "gen_ai.usage.cache_read_input_tokens": 80}, 100),
        (
            {
                "gen_ai.usage.input_tokens": 10,
                "gen_ai.usage.cache_read_input_tokens": 60,
                "gen_ai.usage.cache_creation_input_tokens": 30,
            },
            100,
        ),
        ({"gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read.input_tokens": 100}, 100),
    ],
)
def test_cached_tokens_are_part_of_the_input(receiving: Receiving, told: dict[str, int], tokens: int) -> None:
    """Counted beside the input, as one provider does, or inside it: the sum is what the model read."""
    provider, exporter = tracing()
    says: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.usage.output_tokens": 5,
        **told,
    }
    with provider.get_tracer("tests").start_as_current_span("chat m", attributes=says):
        pass
    receiving.take(exporter.encoded())
    receiving.wait(2)

    usage = calls(receiving.only())[0]["payload"]["usage"]
    assert (usage["prompt_tokens"], usage["total_tokens"]) == (tokens, tokens + 5)


def nest(*spans: tuple[str, str, dict[str, Any]]) -> Any:
    """Spans inside each other, the outermost first: the instrumentation, the name, what it says."""
    provider, exporter = tracing()
    open_spans = []
    for scope, name, attributes in spans:
        context = provider.get_tracer(scope).start_as_current_span(name, attributes=attributes)
        context.__enter__()
        open_spans.append(context)
    for context in reversed(open_spans):
        context.__exit__(None, None, None)
    return exporter


CHAIN = {"openinference.span.kind": "CHAIN"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
TOOL_OF_OTHERS = {"openinference.span.kind": "TOOL", "tool.name": "find"}
AGENT = ("app", "agent", {"gen_ai.operation.name": "invoke_agent"})


@pytest.mark.parametrize("at_once", [True, False], ids=["one request", "span by span"])
@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([AGENT, ("a", "outer", OPENINFERENCE), ("b", "inner", OPENLLMETRY)], (1, 0)),
        ([AGENT, ("a", "outer", OPENINFERENCE), ("c", "between", CHAIN), ("b", "inner", OPENLLMETRY)], (1, 0)),
        ([("a", "1", OPENINFERENCE), ("b", "2", OPENLLMETRY), ("c", "3", GENAI)], (1, 0)),
        ([("a", "outer", OPENINFERENCE), ("b", "tool", TOOL), ("a", "inner", OPENINFERENCE)], (2, 1)),
        ([AGENT, ("a", "find", TOOL), ("b", "find", TOOL_OF_OTHERS)], (0, 1)),
        ([AGENT, ("a", "find", TOOL), ("a", "find", TOOL)], (0, 2)),
        ([AGENT, ("a", "find", TOOL), ("b", "other", {**TOOL_OF_OTHERS, "tool.name": "other"})], (0, 2)),
    ],
    ids=["two", "a chain between", "three", "a model inside a tool", "a tool told twice", "recursion", "other tools"],
)
def test_spans_inside_each_other_that_tell_of_one_call_are_one_call(
    receiving: Receiving, spans: list[Any], expected: tuple[int, int], at_once: bool
) -> None:
    """Tokens and calls are counted once, however many libraries tell of them, and however they are sent."""
    exporter = nest(*spans)
    for body in [exporter.encoded()] if at_once else [encode([span]) for span in exporter.spans]:
        receiving.take(body)
    receiving.wait(2)

    events = receiving.only()
    summary = events[-1]["payload"]["summary"]
    assert (summary["llm_calls"], summary["tool_calls"]) == expected
    assert len(events) == len(spans) + 2
    by_id = {event["event_id"]: event for event in events}
    assert all(event["parent_id"] in by_id for event in events[1:])


def test_an_inner_span_that_comes_late_is_no_second_call(receiving: Receiving) -> None:
    """Two exporters have two schedules: the outer span may be here first."""
    exporter = nest(AGENT, ("a", "outer", OPENINFERENCE), ("b", "inner", OPENLLMETRY))
    inner, outer, agent = exporter.spans
    receiving.take(encode([outer]))
    receiving.take(encode([inner]))
    receiving.take(encode([agent]))
    receiving.wait(2)

    events = receiving.only()
    assert events[-1]["payload"]["summary"]["total_tokens"] == 110
    assert events[2]["meta"]["same_call"] is True


def test_the_call_gets_what_only_the_span_around_it_says(receiving: Receiving) -> None:
    """Clients' instrumentations often leave the messages out; the framework's around them has them."""
    exporter = nest(AGENT, ("framework", "outer", {**OPENINFERENCE, "llm.token_count.prompt": 1}), ("client", "x", OLD))
    receiving.take(exporter.encoded())
    receiving.wait(2)

    (call,) = calls(receiving.only())
    assert call["payload"]["prompt"] == QUESTION
    assert call["payload"]["response"] == ANSWER
    assert call["payload"]["usage"]["prompt_tokens"] == 90


def test_a_file_of_spans_is_read_like_spans_that_arrive(receiving: Receiving, tmp_path: Path) -> None:
    """One mapping: what was exported to a file and imported counts as many calls as what was sent."""
    path = tmp_path / "spans.json"
    path.write_bytes(as_json(nest(AGENT, ("a", "outer", OPENINFERENCE), ("b", "inner", OPENLLMETRY)).encoded()))
    list(Importing(load_config()).take(Source(path))[1])

    events = receiving.only()
    assert [event["event_type"] for event in events[1:-1]] == ["LLM_CALL", "STATE_UPDATE", "STATE_UPDATE"]
    assert events[-1]["payload"]["summary"]["total_tokens"] == 110


@pytest.mark.parametrize(
    ("given", "came"),
    [
        ({"input.value": "{'id': 8812, 'deep': [True, None]}"}, {}),
        (
            {"input.value": '{"id": 8812, "deep": [true, null]}'},
            {"output.value": "content='In Oslo.' name='find' tool_call_id='c1'"},
        ),
        (
            {
                "traceloop.entity.input": json.dumps(
                    {"input_str": "{}", "tags": [], "inputs": {"id": 8812, "deep": [True, None]}}
                )
            },
            {
                "traceloop.entity.output": json.dumps(
                    {
                        "output": {
                            "lc": 1,
                            "type": "constructor",
                            "id": ["ToolMessage"],
                            "kwargs": {"content": "In Oslo.", "tool_call_id": "c1"},
                        },
                        "kwargs": {},
                    }
                )
            },
        ),
        (
            {"input.value": '{"id": 8812, "deep": [true, null]}'},
            {
                "output.value": json.dumps(
                    {"content": "In Oslo.", "type": "tool", "tool_call_id": "c1", "status": "success"}
                )
            },
        ),
    ],
)
def test_the_arguments_and_the_result_of_langchains_tools_are_unwrapped(
    receiving: Receiving, given: dict[str, str], came: dict[str, str]
) -> None:
    """What the tool was given and gave, not the classes of a framework around it."""
    provider, exporter = tracing()
    attributes = {
        "openinference.span.kind": "TOOL",
        "tool.name": "find",
        **given,
        **(came or {"output.value": "In Oslo."}),
    }
    with provider.get_tracer("t").start_as_current_span("find", attributes=attributes):
        pass

    receiving.take(encode(exporter.spans))

    (call,) = calls(receiving.only())
    assert call["payload"]["args"] == {"id": 8812, "deep": [True, None]}
    assert call["payload"]["result"] == "In Oslo."


def test_a_tool_message_that_says_it_failed_is_a_failed_call(receiving: Receiving) -> None:
    """LangGraph gives the error to the model as a message, and its span ends well."""
    provider, exporter = tracing()
    told = json.dumps({"content": "no such id", "type": "tool", "tool_call_id": "c1", "status": "error"})
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "find", "input.value": "{}", "output.value": told}
    with provider.get_tracer("t").start_as_current_span("find", attributes=attributes):
        pass

    receiving.take(encode(exporter.spans))

    (call,) = calls(receiving.only())
    assert (call["payload"]["status"], call["payload"]["error"]["message"]) == ("error", "no such id")
