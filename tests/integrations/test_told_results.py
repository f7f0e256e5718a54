"""Tools that nobody recorded are known by the results that a program sends its model; no package is needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from agentdbg import AgentDbgGuardrailExceeded, record_tool_call, traced_run
from agentdbg.integrations import http
from agentdbg.integrations._http_exchange import Request, begin_exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Recorded, RecordedRun

CHAT = "http://127.0.0.1:1/v1/chat/completions"
ASKED = [{"role": "user", "content": "Hello?"}]
CITIES = ("Oslo", "Lima")


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    http.enable()
    yield
    http.disable()


def _tell(url: str, body: dict[str, Any], answer: Any) -> None:
    asked = Request("POST", url, json.dumps(body).encode(), "application/json")
    address = urlsplit(url)
    exchange = begin_exchange("POST", address.hostname or "", address.path, lambda: asked)
    assert exchange is not None
    exchange.answered(200, {"content-type": "application/json"}.items())
    exchange.saw(json.dumps(answer).encode())
    exchange.end()


def _chat_calls() -> list[dict[str, Any]]:
    return [
        {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": json.dumps({"city": city})}}
        for n, city in enumerate(CITIES)
    ]


def _chat_message() -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": _chat_calls()}


def _chat_asking() -> dict[str, Any]:
    return {"choices": [{"message": _chat_message(), "finish_reason": "tool_calls"}]}


def _chat_results() -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": f"c{n}", "content": f"fine in {city}"} for n, city in enumerate(CITIES)]


def _chat_next() -> dict[str, Any]:
    return {"model": "m", "messages": [*ASKED, _chat_message(), *_chat_results()]}


def _anthropic_blocks() -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"c{n}", "name": "look", "input": {"city": c}} for n, c in enumerate(CITIES)]


def _bedrock_blocks() -> list[dict[str, Any]]:
    return [{"toolUse": {"toolUseId": f"c{n}", "name": "look", "input": {"city": c}}} for n, c in enumerate(CITIES)]


def _google_parts() -> list[dict[str, Any]]:
    return [{"functionCall": {"name": "look", "args": {"city": city}}} for city in CITIES]


def _ollama_calls() -> list[dict[str, Any]]:
    return [{"function": {"name": "look", "arguments": {"city": city}}} for city in CITIES]


def _cited(key: str) -> list[dict[str, Any]]:
    return [{key: f"c{n}", "city": city} for n, city in enumerate(CITIES)]


CONVERSATIONS: dict[str, tuple[str, dict[str, Any], Any, dict[str, Any]]] = {
    "chat": (CHAT, {"model": "m", "messages": ASKED}, _chat_asking(), _chat_next()),
    "anthropic": (
        "https://api.anthropic.com/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": ASKED},
        {"role": "assistant", "content": _anthropic_blocks(), "stop_reason": "tool_use"},
        {
            "model": "m",
            "max_tokens": 9,
            "messages": [
                *ASKED,
                {"role": "assistant", "content": _anthropic_blocks()},
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": f"c{n}",
                            "content": [{"type": "text", "text": f"fine in {c}"}],
                        }
                        for n, c in enumerate(CITIES)
                    ],
                },
            ],
        },
    ),
    "responses, which the server keeps": (
        "https://api.openai.com/v1/responses",
        {"model": "m", "input": "Hello?"},
        {
            "id": "r1",
            "output": [
                {"type": "function_call", "call_id": f"c{n}", "name": "look", "arguments": json.dumps({"city": c})}
                for n, c in enumerate(CITIES)
            ],
        },
        {
            "model": "m",
            "previous_response_id": "r1",
            "input": [
                {"type": "function_call_output", "call_id": f"c{n}", "output": f"fine in {c}"}
                for n, c in enumerate(CITIES)
            ],
        },
    ),
    "google, without ids": (
        "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]},
        {"candidates": [{"content": {"role": "model", "parts": _google_parts()}}]},
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Hello?"}]},
                {"role": "model", "parts": _google_parts()},
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "look", "response": f"fine in {c}"}} for c in CITIES],
                },
            ]
        },
    ),
    "bedrock": (
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse",
        {"messages": [{"role": "user", "content": [{"text": "Hello?"}]}]},
        {"output": {"message": {"role": "assistant", "content": _bedrock_blocks()}}, "stopReason": "tool_use"},
        {
            "messages": [
                {"role": "user", "content": [{"text": "Hello?"}]},
                {"role": "assistant", "content": _bedrock_blocks()},
                {
                    "role": "user",
                    "content": [
                        {"toolResult": {"toolUseId": f"c{n}", "content": [{"text": f"fine in {c}"}]}}
                        for n, c in enumerate(CITIES)
                    ],
                },
            ]
        },
    ),
    "ollama, without ids": (
        "http://127.0.0.1:11434/api/chat",
        {"model": "m", "messages": ASKED},
        {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": _ollama_calls()}},
        {
            "model": "m",
            "messages": [
                *ASKED,
                {"role": "assistant", "content": "", "tool_calls": _ollama_calls()},
                *({"role": "tool", "content": f"fine in {city}"} for city in CITIES),
            ],
        },
    ),
}


@pytest.mark.parametrize("conversation", list(CONVERSATIONS))
def test_a_tool_that_only_its_result_tells_of_is_one_call(recorded: Recorded, conversation: str) -> None:
    """Whoever calls tools in a loop of his own puts `@tool` on none of them at first."""
    url, first, asking, second = CONVERSATIONS[conversation]
    with traced_run("asked"):
        _tell(url, first, asking)
        _tell(url, second, {})
        _tell(url, second, {})

    run = recorded.only()
    tools = run.of_type("TOOL_CALL")
    assert [call["name"] for call in tools] == ["look", "look"]
    assert [call["payload"]["args"] for call in tools] == [{"city": city} for city in CITIES]
    assert [call["payload"]["result"] for call in tools] == [f"fine in {city}" for city in CITIES]
    assert {call["parent_id"] for call in tools} == {run.of_type("LLM_CALL")[0]["event_id"]}
    assert {(call["meta"]["told_by"], call["duration_ms"]) for call in tools} == {("conversation", None)}


def _asked_and_answered(*, tool_choice: Any = None, tools: Any = None, between: bool = False, **limits: Any) -> None:
    choice = {} if tool_choice is None else {"tool_choice": tool_choice, "tools": tools}
    with traced_run("asked", **limits):
        _tell(CHAT, {"model": "m", "messages": ASKED, **choice}, _chat_asking())
        if between:
            record_tool_call("look_up", {"city": "Oslo"}, "fine")
        _tell(CHAT, {**_chat_next(), **choice}, {"choices": [{"message": {"content": "Fine."}}]})


def _names(run: RecordedRun) -> list[str]:
    return [call["name"] for call in run.of_type("TOOL_CALL")]


def test_a_tool_that_was_recorded_is_not_recorded_again(recorded: Recorded) -> None:
    """Also where the program has another name for it: once too often is worse than once too few."""
    _asked_and_answered(between=True)

    assert _names(recorded.only()) == ["look_up"]


@pytest.mark.parametrize(
    "choice",
    [
        *("auto", {"type": "auto"}, {"type": "auto", "disable_parallel_tool_use": True}),
        *("required", "any", {"type": "any"}),
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]},
    ],
    ids=str,
)
def test_a_model_that_may_choose_among_tools_calls_tools(recorded: Recorded, choice: Any) -> None:
    """Loops of one's own often make the model call some tool, of which one ends the work."""
    _asked_and_answered(tool_choice=choice, tools=[{"function": {"name": name}} for name in ("look", "finish")])

    assert _names(recorded.only()) == ["look", "look"]


@pytest.mark.parametrize(
    "choice",
    [{"type": "function", "function": {"name": "look"}}, {"type": "tool", "name": "look"}, "required", {"type": "any"}],
    ids=str,
)
def test_the_form_of_an_answer_is_no_tool(recorded: Recorded, choice: Any) -> None:
    """Who wants an answer in a form makes the model call a tool, and tells it what was wrong with what it gave."""
    _asked_and_answered(tool_choice=choice)

    assert _names(recorded.only()) == []


def test_a_failed_tool_that_the_conversation_tells_of_failed(recorded: Recorded) -> None:
    """Anthropic's results say so themselves."""
    url, first, asking, second = CONVERSATIONS["anthropic"]
    second = json.loads(json.dumps(second))
    second["messages"][-1]["content"][0]["is_error"] = True
    with traced_run("asked"):
        _tell(url, first, asking)
        _tell(url, second, {})

    failed, fine = (call["payload"] for call in recorded.only().of_type("TOOL_CALL"))
    assert (failed["status"], failed["error"]["message"], fine["status"]) == ("error", "fine in Oslo", "ok")


def test_a_limit_counts_tools_that_the_conversation_tells_of(recorded: Recorded) -> None:
    """The request that would go on after them is not sent."""
    with pytest.raises(AgentDbgGuardrailExceeded):
        _asked_and_answered(max_tool_calls=1)

    assert len(recorded.only().of_type("LLM_CALL")) == 1


def test_an_earlier_run_is_not_told_again(recorded: Recorded) -> None:
    """A conversation that goes on in the next run has results of the one before."""
    _asked_and_answered()
    with traced_run("later"):
        _tell(CHAT, {**_chat_next()}, {})

    assert [len(run.of_type("TOOL_CALL")) for run in recorded.all()] in ([2, 0], [0, 2])
