"""Every attribute of every span, as a collector gets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.analysis.story import BEGAN_MS, Story
from tests.commands.stored import store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.stored import Ran
    from tests.interop.otel.collector import Collector, Received

ASKED = [
    {"role": "system", "content": "You book flights."},
    {"role": "user", "content": "Oslo to Lisbon, please."},
]
ANSWERED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"to": "LIS"}'}},
    ],
}
OFFERED = [
    {
        "type": "function",
        "function": {"name": "search", "description": "Find flights.", "parameters": {"type": "object"}},
    }
]
STACK = "Traceback (most recent call last):\n  File \"app.py\", line 7, in book\nKeyError: 'due'\n"
OWN = "agentdbg."


def _said(span: Received) -> dict[str, Any]:
    """What a span says in the words of the conventions; our own words are checked by themselves."""
    return {key: value for key, value in span.attributes.items() if not key.startswith(OWN)}


@pytest.fixture
def story() -> Story:
    """An agent that asks a model, uses a tool, remembers something, goes in circles and fails."""
    story = Story()
    story.events[0]["payload"] |= {"argv": ["agents/booking.py", "--fast"], "args": {"task": "book"}, "kwargs": {}}
    story.events[0]["meta"] = {"session_id": "s-1", "user_id": "u-1"}
    story.write(
        "LLM_CALL",
        "gpt-4o",
        {
            "model": "gpt-4o",
            "prompt": ASKED,
            "response": ANSWERED,
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            "provider": "azure",
            "temperature": 0.5,
            "stop_reason": "tool_calls",
            "status": "ok",
            "error": None,
            "tools": OFFERED,
            "cost_usd": 0.0025,
            "parameters": {"max_tokens": 500, "top_p": 0.9, "stop": ["END"]},
            "source": "agents/booking.py:42",
        },
        duration_ms=1200,
    )
    story.tool("search", {"to": "LIS"}, [{"flight": "DM204"}], parent=2, duration_ms=40)
    story.write("STATE_UPDATE", "state", {"state": {"found": 1}, "diff": None})
    story.tool(
        "book",
        {"flight": "DM204"},
        error={"error_type": "KeyError", "message": "'due'", "stack": STACK, "details": None},
        duration_ms=5,
    )
    story.loop("error_retry", "critical", "TOOL_CALL:book", [5], "book fails the same way.")
    story.error("KeyError", "'due'", stack=STACK)
    story.end("error", error={"error_type": "KeyError", "message": "'due'", "stack": STACK, "details": None})
    return story


@pytest.fixture
def arrived(story: Story, data_dir: Path, push: Callable[..., Ran], collector: Collector) -> Collector:
    run_id = store(data_dir, story, "error", "booking", metadata={"session_id": "s-1", "user_id": "u-1"})
    assert push(run_id).code == 0
    return collector


def test_a_model_call_says_everything_the_conventions_have_a_name_for(arrived: Collector) -> None:
    """Dashboards and evaluations of other tools are built on exactly these."""
    span = arrived.only("chat gpt-4o")

    assert (span.kind, span.status, span.message) == ("CLIENT", "OK", "")
    said = _said(span)
    asked, answered = json.loads(said.pop("gen_ai.input.messages")), json.loads(said.pop("gen_ai.output.messages"))
    assert json.loads(said.pop("gen_ai.tool.definitions")) == [
        {"type": "function", "name": "search", "description": "Find flights.", "parameters": {"type": "object"}}
    ]
    assert asked == [
        {"role": "system", "parts": [{"type": "text", "content": "You book flights."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Oslo to Lisbon, please."}]},
    ]
    assert answered == [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "call_1", "name": "search", "arguments": {"to": "LIS"}}],
            "finish_reason": "tool_call",
        }
    ]
    assert said == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "azure.ai.openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 500,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.stop_sequences": ["END"],
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 64,
        "gen_ai.usage.reasoning.output_tokens": 5,
        "code.file.path": "agents/booking.py",
        "code.line.number": 42,
    }


def test_a_tool_call_says_what_went_in_and_what_came_out(arrived: Collector) -> None:
    """The name, the arguments and the result are what one looks for when an agent went wrong."""
    assert _said(arrived.only("execute_tool search")) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": '{"to":"LIS"}',
        "gen_ai.tool.call.result": '[{"flight":"DM204"}]',
    }


def test_a_failed_call_is_an_error_with_its_type_message_and_stack(arrived: Collector) -> None:
    """Backends count errors by status, group them by type and show the stack of the exception event."""
    span = arrived.only("execute_tool book")

    assert (span.status, span.message) == ("ERROR", "'due'")
    assert span.attributes["error.type"] == "KeyError"
    [(name, at_ns, facts)] = span.events
    assert (name, at_ns) == ("exception", span.end_ns)
    assert facts == {"exception.type": "KeyError", "exception.message": "'due'", "exception.stacktrace": STACK}


def test_the_run_is_the_root_and_tells_findings_states_and_errors(arrived: Collector, story: Story) -> None:
    """A loop is found by us and by nobody else, so it has to travel with the trace."""
    root = arrived.only("invoke_agent booking")

    assert (root.parent_id, root.kind, root.status, root.message) == ("", "INTERNAL", "ERROR", "'due'")
    said = _said(root)
    assert json.loads(said.pop("gen_ai.input.messages"))[0]["parts"][0]["content"] == '{"task":"book"}'
    assert said == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "booking",
        "gen_ai.conversation.id": "s-1",
        "session.id": "s-1",
        "user.id": "u-1",
        "error.type": "KeyError",
        "input.value": "Oslo to Lisbon, please.",
    }
    assert [name for name, _, _ in root.events] == ["agentdbg.state_update", "agentdbg.loop_warning", "exception"]
    loop = root.events[1][2]
    assert {key: loop[key] for key in loop if ".loop." in key} == {
        "agentdbg.loop.kind": "error_retry",
        "agentdbg.loop.severity": "critical",
        "agentdbg.loop.pattern": "TOOL_CALL:book",
        "agentdbg.loop.repetitions": 3,
        "agentdbg.loop.explanation": "book fails the same way.",
    }
    assert root.events[2][2]["exception.stacktrace"] == STACK
    assert root.resource == {
        "service.name": "booking",
        "telemetry.sdk.name": "agentdbg",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": root.resource["telemetry.sdk.version"],
    }


def test_parents_and_times_are_those_of_the_run(arrived: Collector) -> None:
    """A waterfall drawn from other times or other parents tells another story."""
    root, model = arrived.only("invoke_agent booking"), arrived.only("chat gpt-4o")
    search, book = arrived.only("execute_tool search"), arrived.only("execute_tool book")

    assert (model.parent_id, search.parent_id, book.parent_id) == (root.span_id, model.span_id, root.span_id)
    assert len({span.trace_id for span in arrived.spans}) == 1
    began = BEGAN_MS * 1_000_000
    assert (model.start_ns - began, model.end_ns - began) == (0, 1_200_000_000)
    assert (search.start_ns - began, search.end_ns - began) == (1_200_000_000, 1_240_000_000)
    assert (root.start_ns - began, root.end_ns - began) == (0, 1_245_000_000)


def test_every_event_travels_whole(arrived: Collector, story: Story) -> None:
    """What was pushed can be received again, byte for byte, whatever the conventions have no name for."""
    carried: dict[int, dict[str, Any]] = {}
    for span in arrived.spans:
        for said in (span.attributes, *(facts for _, _, facts in span.events)):
            if "agentdbg.event.id" in said:
                carried[said["agentdbg.event.sequence"]] = said
    root = arrived.only("invoke_agent booking").attributes

    for number, event in enumerate(story.events[:-1], 1):
        said = carried.pop(number)
        assert said["agentdbg.event.id"] == event["event_id"]
        assert said["agentdbg.event.type"] == event["event_type"]
        assert said["agentdbg.event.name"] == event["name"]
        assert said.get("agentdbg.event.parent_id") == event["parent_id"]
        assert said.get("agentdbg.event.duration_ms") == event["duration_ms"]
        assert {"run_name": "story", **json.loads(said["agentdbg.event.payload"])} == {
            "run_name": "story",
            **event["payload"],
        }
        assert json.loads(said.get("agentdbg.event.meta", "{}")) == event["meta"]
    assert carried == {}
    assert json.loads(root["agentdbg.run.end"]) == story.events[-1]["payload"]
    assert root["agentdbg.run.end_sequence"] == len(story.events)
    assert root["agentdbg.run.status"] == "error"


def test_openinference_names_say_the_same(
    story: Story, data_dir: Path, push: Callable[..., Ran], collector: Collector
) -> None:
    """Phoenix and its relatives speak these."""
    assert push(store(data_dir, story, "error", "booking"), "--openinference").code == 0
    said = _said(collector.only("chat gpt-4o"))

    assert json.loads(said.pop("llm.tools.0.tool.json_schema")) == OFFERED[0]
    assert json.loads(said.pop("input.value")) == ASKED
    assert json.loads(said.pop("output.value")) == ANSWERED
    assert said == {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-4o",
        "llm.provider": "azure",
        "llm.invocation_parameters": '{"temperature":0.5,"max_tokens":500,"top_p":0.9,"stop":["END"]}',
        "llm.finish_reason": "tool_calls",
        "llm.token_count.prompt": 100,
        "llm.token_count.completion": 20,
        "llm.token_count.total": 120,
        "llm.token_count.prompt_details.cache_read": 64,
        "llm.token_count.completion_details.reasoning": 5,
        "llm.cost.total": 0.0025,
        "input.mime_type": "application/json",
        "output.mime_type": "application/json",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "You book flights.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "Oslo to Lisbon, please.",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "call_1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"to":"LIS"}',
        "code.file.path": "agents/booking.py",
        "code.line.number": 42,
    }
    assert _said(collector.only("execute_tool search")) == {
        "openinference.span.kind": "TOOL",
        "tool.name": "search",
        "tool.parameters": '{"to":"LIS"}',
        "input.value": '{"to":"LIS"}',
        "input.mime_type": "application/json",
        "output.value": '[{"flight":"DM204"}]',
        "output.mime_type": "application/json",
    }
    root = _said(collector.only("invoke_agent booking"))
    assert (root["openinference.span.kind"], root["agent.name"]) == ("AGENT", "booking")


def test_embeddings_are_no_chat(data_dir: Path, push: Callable[..., Ran], collector: Collector) -> None:
    """A vector request among the chats would spoil every latency and every cost per chat."""
    story = Story()
    story.llm(["a", "b"], {"embeddings": 2, "dimensions": 8}, model="embed-3", tokens=(4, 0))
    story.end()
    push(store(data_dir, story))

    assert collector.only("embeddings embed-3").operation == "embeddings"
    assert "gen_ai.output.messages" not in collector.only("embeddings embed-3").attributes


def test_a_traced_function_is_an_agent_within_the_run(
    data_dir: Path, push: Callable[..., Ran], collector: Collector
) -> None:
    """Sub-agents are how large agents are built; their calls belong under them."""
    story = Story()
    inner = "11111111-1111-4111-8111-111111111111"
    story.llm("hi", "hello", parent=inner)
    story.write(
        "STATE_UPDATE",
        "plan",
        {"state": None, "diff": None, "error": None},
        duration_ms=9,
        meta={"span": "plan"},
        event_id=inner,
    )
    story.end()
    push(store(data_dir, story))
    span = collector.only("invoke_agent plan")

    assert span.operation == "invoke_agent"
    assert collector.only("chat gpt-4o").parent_id == span.span_id
    assert span.parent_id == collector.only("invoke_agent story").span_id


def test_a_run_whose_process_died_arrives_with_the_call_it_died_in(
    data_dir: Path, push: Callable[..., Ran], collector: Collector
) -> None:
    """The call that never came back is the one to look at."""
    story = Story()
    story.llm("hi", "hello")
    story.call_start("crawl", given={"url": "x"})
    call_id = story.events[-1]["payload"]["call_id"]
    story.llm("inside", "of the call", model="small", parent=call_id)
    story.end()
    del story.events[-1]  # never written
    push(store(data_dir, story, "running"))
    crawl, root = collector.only("execute_tool crawl"), collector.only("invoke_agent story")

    assert (crawl.status, root.status) == ("ERROR", "ERROR")
    assert crawl.attributes["gen_ai.tool.call.arguments"] == '{"url":"x"}'
    assert crawl.attributes["agentdbg.event.type"] == "CALL_START"
    assert collector.only("chat small").parent_id == crawl.span_id
    assert "agentdbg.run.end" not in root.attributes
    assert root.end_ns == max(span.end_ns for span in collector.spans)


def test_the_answer_of_a_provider_is_told_by_its_id_and_its_model(
    push: Callable[..., Ran], data_dir: Path, collector: Collector
) -> None:
    """`gpt-4o` was asked and `gpt-4o-2024-11-20` answered; the id is what the provider's own log is searched by."""
    story = Story()
    answered = {"id": "chatcmpl-7", "model": "gpt-4o-2024-11-20", "choices": [{"message": {"content": "Hello."}}]}
    story.llm("Say hello.", answered)
    story.llm("Say hello.", {"id": 7, "model": ["x"], "content": "Hello."})
    story.end()
    push(store(data_dir, story))
    first, second = (span.attributes for span in collector.spans if span.operation == "chat")

    assert (first["gen_ai.response.id"], first["gen_ai.response.model"]) == ("chatcmpl-7", "gpt-4o-2024-11-20")
    assert not any(key in second for key in ("gen_ai.response.id", "gen_ai.response.model"))
