"""What the Claude Agent SDK tells of models, tools, sub-agents, usage and cost is recorded. The CLI is a stand-in."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import traced_run
from agentdbg.integrations import claude_agent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Recorded

sdk = pytest.importorskip("claude_agent_sdk")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("default")]

CLI = """
import json, sys
if "-v" in sys.argv:
    sys.exit(print("9.9.9 (Claude Code)"))
cost = 0
def tell(kind, **more):
    print(json.dumps({"type": kind, "session_id": "s1", "parent_tool_use_id": None, **more}), flush=True)
def answer(name, tokens, block, **more):
    usage = {"input_tokens": tokens, "output_tokens": tokens + 1}
    message = {"id": name, "role": "assistant", "model": "some-model", "content": [block], "usage": usage}
    tell("assistant", message=message, **more)
def use(name, tool, given):
    return {"type": "tool_use", "id": name, "name": tool, "input": given}
def result(name, content, is_error=False, **more):
    block = {"type": "tool_result", "tool_use_id": name, "content": content, "is_error": is_error}
    tell("user", message={"role": "user", "content": [block]}, **more)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "control_request":
        told = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
        print(json.dumps({"type": "control_response", "response": told}), flush=True)
    if asked["type"] != "user":
        continue
    if asked["message"]["content"] == "work":
        answer("a1", 10, {"type": "text", "text": "I look."})
        answer("a1", 10, use("t1", "Read", {"path": "a.py"}))
        answer("a1", 10, use("t2", "Bash", {"command": "false"}))
        result("t1", "print(1)")
        result("t2", [{"type": "text", "text": "exit 1"}], True)
        answer("a2", 20, use("t3", "Task", {"prompt": "Find x."}))
        answer("b1", 30, use("t4", "Grep", {"pattern": "x"}), parent_tool_use_id="t3")
        result("t4", "none", parent_tool_use_id="t3")
        answer("b2", 40, {"type": "text", "text": "No x."}, parent_tool_use_id="t3")
        result("t3", "No x.")
    if asked["message"]["content"] == "at once":
        answer("a1", 10, use("t1", "Task", {"prompt": "Find x."}))
        answer("a1", 10, use("t2", "Task", {"prompt": "Find y."}))
        answer("b1", 20, {"type": "text", "text": "I look for x."}, parent_tool_use_id="t1")
        answer("c1", 30, {"type": "text", "text": "I look for y."}, parent_tool_use_id="t2")
        answer("b1", 20, use("t3", "Grep", {"pattern": "x"}), parent_tool_use_id="t1")
        answer("c1", 30, use("t4", "Grep", {"pattern": "y"}), parent_tool_use_id="t2")
        result("t4", "y.py", parent_tool_use_id="t2")
        result("t3", "x.py", parent_tool_use_id="t1")
        answer("b1", 20, use("t5", "Read", {"path": "x.py"}), parent_tool_use_id="t1")
        result("t5", "x = 1", parent_tool_use_id="t1")
        answer("c2", 40, {"type": "text", "text": "In y.py."}, parent_tool_use_id="t2")
        answer("b2", 50, {"type": "text", "text": "In x.py."}, parent_tool_use_id="t1")
        result("t1", "In x.py.")
        result("t2", "In y.py.")
    cost += 0.5
    answer(f"c{cost}", 50, {"type": "text", "text": "Done."})
    tell("result", subtype="success", duration_ms=1, duration_api_ms=1, is_error=False, num_turns=1,
         total_cost_usd=cost, result="Done.")
"""


@pytest.fixture
def options(tmp_path: Path) -> Iterator[Any]:
    cli = tmp_path / "claude"
    cli.write_text(f"#!{sys.executable}\n" + textwrap.dedent(CLI))
    cli.chmod(0o755)
    claude_agent.enable()
    yield sdk.ClaudeAgentOptions(cli_path=str(cli))
    claude_agent.disable()


def test_a_query_is_recorded_as_a_person_would_draw_it(options: Any, recorded: Recorded) -> None:
    """The work is done by another program; its messages are all that there is to see, and they tell everything."""

    async def ask() -> list[str]:
        return [type(message).__name__ async for message in sdk.query(prompt="work", options=options)]

    with traced_run("asked"):
        assert asyncio.run(ask())[-1] == "ResultMessage"

    run = recorded.only()
    names = {event["event_id"]: event["name"] for event in run.events}
    calls, tools = run.of_type("LLM_CALL"), {tool["name"]: tool for tool in run.of_type("TOOL_CALL")}
    usages = [call["payload"]["usage"] for call in calls]
    span = run.one("STATE_UPDATE")
    assert [(usage["prompt_tokens"], usage["completion_tokens"]) for usage in usages] == [
        (10, 11),
        (20, 21),
        (30, 31),
        (40, 41),
        (50, 51),
    ]
    assert [names[call["parent_id"]] for call in calls] == ["claude", "claude", "Task", "Task", "claude"]
    assert tools["Read"]["payload"]["result"] == "print(1)"
    assert tools["Bash"]["payload"]["error"]["message"] == "exit 1"
    assert [tools[name]["parent_id"] for name in ("Read", "Bash", "Task", "Grep")] == [
        calls[place]["event_id"] for place in (0, 0, 1, 2)
    ]
    assert calls[2]["payload"]["prompt"] == [{"role": "user", "content": "Find x."}]
    assert (span["payload"]["output"], span["meta"]["session_id"]) == ("Done.", "s1")
    assert run.meta["cost_usd"] == 0.5


BRIEF = """
import json, sys
def tell(kind, **more):
    print(json.dumps({"type": kind, "session_id": "s1", "parent_tool_use_id": None, **more}), flush=True)
def answer(name, tokens, block, parent=None):
    usage = {"input_tokens": tokens, "cache_read_input_tokens": 100, "output_tokens": 1}
    message = {"id": name, "role": "assistant", "model": "some-model", "content": [block], "usage": usage}
    tell("assistant", message=message, parent_tool_use_id=parent)
    if "--include-partial-messages" in sys.argv:
        event = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": tokens}}
        tell("stream_event", uuid="u", event=event, parent_tool_use_id=parent)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["type"] == "control_request":
        told = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
        print(json.dumps({"type": "control_response", "response": told}), flush=True)
    if asked["type"] != "user":
        continue
    answer("a", 10, {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Find x."}})
    answer("b", 20, {"type": "text", "text": "None."}, "t1")
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "None."}
    tell("user", message={"role": "user", "content": [block]})
    answer("c", 30, {"type": "text", "text": "Done."})
    whole = {"input_tokens": 60, "cache_read_input_tokens": 300, "output_tokens": 60}
    alone = {"input_tokens": 40, "cache_read_input_tokens": 200, "output_tokens": 40}
    odd = {"input_tokens": 41, "output_tokens": 999}
    usage = {"whole": whole, "alone": alone, "odd": odd}[asked["message"]["content"]]
    tell("result", subtype="success", duration_ms=1, duration_api_ms=1, is_error=False, num_turns=1,
         total_cost_usd=1, result="Done.", usage=usage)
"""


@pytest.mark.parametrize(
    ("told", "partial", "written"),
    [
        ("whole", False, [1, 1, 58]),
        ("alone", False, [1, 1, 39]),
        ("odd", False, [1, 1, 1]),
        ("whole", True, [10, 20, 30]),
    ],
)
def test_the_tokens_of_all_answers_are_those_that_the_result_tells(
    told: str, partial: bool, written: list[int], options: Any, recorded: Recorded, tmp_path: Path
) -> None:
    """An answer is told before it is known how long it is; the sum is told at the end, or each with the pieces."""
    (tmp_path / "claude").write_text(f"#!{sys.executable}\n" + textwrap.dedent(BRIEF))
    options.include_partial_messages = partial

    async def ask() -> None:
        async for _ in sdk.query(prompt=told, options=options):
            pass

    with traced_run("asked"):
        asyncio.run(ask())

    calls = recorded.only().of_type("LLM_CALL")
    assert [call["payload"]["usage"]["completion_tokens"] for call in calls] == written


def test_sub_agents_at_work_at_once_are_told_apart(options: Any, recorded: Recorded) -> None:
    """Blocks of one answer come between those of another, and one more after a tool of it has ended: it is one call."""

    async def ask() -> None:
        async for _ in sdk.query(prompt="at once", options=options):
            pass

    with traced_run("asked"):
        asyncio.run(ask())

    run = recorded.only()
    tools = {tool["meta"]["tool_call_id"]: tool for tool in run.of_type("TOOL_CALL")}
    calls = {call["meta"]["generation_id"]: call for call in run.of_type("LLM_CALL")}
    assert len(run.of_type("LLM_CALL")) == 6
    assert {name: calls[name]["payload"]["usage"]["prompt_tokens"] for name in ("a1", "b1", "c1", "c2", "b2")} == {
        "a1": 10,
        "b1": 20,
        "c1": 30,
        "c2": 40,
        "b2": 50,
    }
    under = {"t1": "a1", "t2": "a1", "t3": "b1", "t5": "b1", "t4": "c1"}
    assert {name: tools[name]["parent_id"] for name in under} == {
        name: calls[call]["event_id"] for name, call in under.items()
    }
    sub_agents = {"b1": "t1", "b2": "t1", "c1": "t2", "c2": "t2"}
    assert {name: calls[name]["parent_id"] for name in sub_agents} == {
        name: tools[tool]["event_id"] for name, tool in sub_agents.items()
    }
    assert [tools[name]["payload"]["result"] for name in ("t3", "t4", "t5")] == ["x.py", "y.py", "x = 1"]


def test_each_turn_of_a_client_is_a_step_with_its_own_share_of_the_cost(options: Any, recorded: Recorded) -> None:
    """The SDK tells what the whole session cost so far; a sum of sums would be too much."""

    async def talk() -> None:
        async with sdk.ClaudeSDKClient(options) as client:
            for question in ("Hello?", "And now?"):
                await client.query(question)
                async for _ in client.receive_response():
                    pass

    with traced_run("asked"):
        asyncio.run(talk())

    run = recorded.only()
    start = run.one("RUN_START")["event_id"]
    assert [(turn["parent_id"], turn["payload"]["input"]) for turn in run.of_type("STATE_UPDATE")] == [
        (start, "Hello?"),
        (start, "And now?"),
    ]
    assert [call["payload"]["cost_usd"] for call in run.of_type("LLM_CALL")] == [0.5, 0.5]
    assert len(run.of_type("LLM_CALL")[1]["payload"]["prompt"]) == 3


def test_a_query_that_is_left_stands_beside_the_next(options: Any, recorded: Recorded) -> None:
    """A generator that is left is closed whenever it likes; what follows is no part of it."""

    async def leave() -> None:
        for _ in range(2):
            async for message in sdk.query(prompt="Hello?", options=options):
                if type(message).__name__ == "AssistantMessage":
                    break

    with traced_run("asked"):
        asyncio.run(leave())

    run = recorded.only()
    assert {turn["parent_id"] for turn in run.of_type("STATE_UPDATE")} == {run.one("RUN_START")["event_id"]}
    assert [call["payload"]["response"] for call in run.of_type("LLM_CALL")] == ["Done.", "Done."]
