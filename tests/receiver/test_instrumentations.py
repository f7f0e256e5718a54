"""
The same agent under the real instrumentations of several vendors is the same run.

Needs them installed: `make test-instrumentations`. The model is a server on loopback.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.receiver.fake_openai import MODEL, fake_openai
from tests.receiver.instrumented_agent import QUESTION, TOOLS
from tests.receiver.running import calls, receiver

pytestmark = pytest.mark.frameworks
AGENT = Path(__file__).with_name("instrumented_agent.py")
EVERYBODY = ("openinference", "openllmetry", "genai", "both")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The run each instrumentation gives."""
    found = {}
    with fake_openai() as provider:
        for how in EVERYBODY:
            with receiver(tmp_path_factory.mktemp(how)) as receiving:
                done = subprocess.run(
                    [sys.executable, str(AGENT), how, receiving.url, provider],
                    capture_output=True,
                    text=True,
                    timeout=120,
                    check=False,
                )
                assert done.returncode == 0, done.stderr
                found[how] = receiving.events()
    return found


def _told(call: dict[str, Any]) -> dict[str, Any]:
    """What every instrumentation tells of a call."""
    payload = call["payload"]
    if call["event_type"] == "TOOL_CALL":
        return {key: payload[key] for key in ("tool_name", "args", "result", "status")}
    usage = payload["usage"]
    if usage is not None:
        cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        usage = (usage["prompt_tokens"], usage["completion_tokens"] or 0, usage["total_tokens"], cached)
    names = ("model", "response", "provider", "temperature", "stop_reason", "status", "tools")
    error = payload["error"] and payload["error"]["error_type"]
    return {**{key: payload.get(key) for key in names}, "usage": usage, "error": error}


@pytest.mark.parametrize("how", EVERYBODY)
def test_every_instrumentation_gives_the_same_calls(runs: dict[str, list[dict[str, Any]]], how: str) -> None:
    """Who debugs an agent must not have to know which library told of it, nor pay twice for two of them."""
    asked, tool, answered, embedded, failed = calls(runs[how])

    function = {"name": "find_order", "arguments": {"order_id": 8812}}
    wanted = {"id": "call_1", "type": "function", "function": function}
    wish = {"role": "assistant", "content": None, "tool_calls": [wanted]}
    common = {"provider": "openai", "tools": None, "error": None, "temperature": None, "stop_reason": None}
    assert _told(asked) == {
        **common,
        "model": MODEL,
        "response": wish,
        "temperature": 0.2,
        "stop_reason": "tool_calls",
        "status": "ok",
        "tools": TOOLS,
        "usage": (90, 20, 110, 64),
    }
    order = {"order_id": 8812, "left": "Monday"}
    assert _told(tool) == {"tool_name": "find_order", "args": {"order_id": 8812}, "result": order, "status": "ok"}
    answer = {"role": "assistant", "content": "It left on Monday."}
    said = {"model": MODEL, "response": answer, "stop_reason": "stop", "status": "ok", "usage": (90, 20, 110, 64)}
    assert _told(answered) == {**common, **said}
    assert (embedded["name"], _told(embedded)["usage"]) == ("text-embedding-3-small", (4, 0, 4, 0))
    no_model = {"model": "nobody", "response": None, "status": "error", "usage": None, "error": "NotFoundError"}
    assert _told(failed) == {**common, **no_model}


@pytest.mark.parametrize("how", EVERYBODY)
def test_every_instrumentation_gives_the_same_prompts(runs: dict[str, list[dict[str, Any]]], how: str) -> None:
    """The prompt is what one looks at first, and every convention spells it in another way."""
    asked, _, answered, _, failed = calls(runs[how])

    assert asked["payload"]["prompt"] == failed["payload"]["prompt"] == QUESTION
    *question, wish, result = answered["payload"]["prompt"]
    assert question == QUESTION
    assert wish == asked["payload"]["response"]
    assert (result["role"], result["tool_call_id"]) == ("tool", "call_1")
    content = result["content"]
    assert content in ('{"order_id": 8812, "left": "Monday"}', {"order_id": 8812, "left": "Monday"})


@pytest.mark.parametrize("how", EVERYBODY)
def test_every_instrumentation_gives_the_same_run_around_them(runs: dict[str, list[dict[str, Any]]], how: str) -> None:
    """Name, totals and the tree: all calls lie in the agent's span, and that in the run."""
    events = runs[how]
    by_id = {event["event_id"]: event for event in events}

    assert events[0]["payload"]["run_name"] == "shop"
    summary = events[-1]["payload"]["summary"]
    counted = [summary[key] for key in ("llm_calls", "tool_calls", "errors", "total_tokens")]
    assert counted == [4, 1, 1, 224]
    (agent,) = [event for event in events if event["parent_id"] == events[0]["event_id"] and event["name"] != "run_end"]
    for call in calls(events):
        around = by_id[call["parent_id"]]
        while around["meta"].get("same_call"):
            around = by_id[around["parent_id"]]
        assert around is agent


def test_two_instrumentations_of_one_client_are_not_two_calls(runs: dict[str, list[dict[str, Any]]]) -> None:
    """What the second one says stays in the tree, as a span around the call."""
    doubles = [event for event in runs["both"] if event["meta"].get("same_call")]

    assert len(doubles) == 4
    assert {event["event_type"] for event in doubles} == {"STATE_UPDATE"}
