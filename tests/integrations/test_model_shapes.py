"""What the APIs of many models are asked and answer, read from the bytes of an exchange; no package is needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from agentdbg import traced_run
from agentdbg.integrations import _http_exchange, http
from agentdbg.integrations._http_exchange import Request, begin_exchange
from agentdbg.integrations._model_addresses import unread_address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Recorded

BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/interactions"
MISTRAL = "https://api.mistral.ai/v1/conversations"
SAID = "Hello traveller."
ASKED = [{"role": "user", "content": [{"text": "Hello?"}]}]
COUNTED = {"x-amzn-bedrock-input-token-count": "11", "x-amzn-bedrock-output-token-count": "7"}
TURN = {"total_input_tokens": 11, "total_output_tokens": 7, "total_tokens": 18}
CALL = {"type": "function_call", "id": "c1", "name": "look", "arguments": {"city": "Oslo"}}


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    http.enable()
    yield
    http.disable()


def _told(url: str, body: dict[str, Any], answer: Any, headers: dict[str, str]) -> None:
    """Let one request be made and answered: by a document, or by the events of a stream."""
    asked = Request("POST", url, json.dumps(body).encode(), "application/json")
    address = urlsplit(url)
    with traced_run("asked"):
        exchange = begin_exchange("POST", address.hostname or "", address.path, lambda: asked)
        if exchange is None:
            return
        is_stream = isinstance(answer, tuple)
        kind = "text/event-stream" if is_stream else "application/json"
        exchange.answered(200, {"content-type": kind, **headers}.items())
        for part in answer if is_stream else [answer]:
            exchange.saw(f"data: {json.dumps(part)}\n\n".encode() if is_stream else json.dumps(part).encode())
        exchange.end()


@pytest.mark.parametrize(
    ("url", "body", "answer", "headers"),
    [
        (
            f"{BEDROCK}/amazon.titan-text-express-v1/invoke",
            {"inputText": "Hello?"},
            {"inputTextTokenCount": 11, "results": [{"tokenCount": 7, "outputText": SAID}]},
            {},
        ),
        (
            f"{BEDROCK}/amazon.nova-lite-v1%3A0/invoke",
            {"messages": ASKED, "inferenceConfig": {"temperature": 0.5}},
            {
                "output": {"message": {"role": "assistant", "content": [{"text": SAID}]}},
                "usage": {"inputTokens": 11, "outputTokens": 7},
            },
            {},
        ),
        (
            f"{BEDROCK}/amazon.nova-lite-v1%3A0/invoke-with-response-stream",
            {"messages": ASKED},
            (
                {"messageStart": {"role": "assistant"}},
                {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hello "}}},
                {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "traveller."}}},
                {"messageStop": {"stopReason": "end_turn"}},
                {"metadata": {"usage": {"inputTokens": 11, "outputTokens": 7}}},
            ),
            {},
        ),
        (
            f"{BEDROCK}/meta.llama3-8b-instruct-v1:0/invoke",
            {"prompt": "Hello?"},
            {"generation": SAID, "prompt_token_count": 11, "generation_token_count": 7, "stop_reason": "stop"},
            {},
        ),
        (
            f"{BEDROCK}/meta.llama3-8b-instruct-v1:0/invoke-with-response-stream",
            {"prompt": "Hello?"},
            (
                {"generation": "Hello ", "prompt_token_count": 11, "generation_token_count": 1},
                {"generation": "traveller.", "generation_token_count": 7, "stop_reason": "stop"},
            ),
            {},
        ),
        (
            f"{BEDROCK}/mistral.mistral-7b-instruct-v0:2/invoke",
            {"prompt": "Hello?"},
            {"outputs": [{"text": SAID, "stop_reason": "stop"}]},
            COUNTED,
        ),
        (f"{BEDROCK}/cohere.command-r-v1:0/invoke", {"message": "Hello?"}, {"text": SAID}, COUNTED),
        (
            f"{BEDROCK}/openai.gpt-oss-20b-1:0/invoke",
            {"messages": [{"role": "user", "content": "Hello?"}]},
            {
                "choices": [{"message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7},
            },
            {},
        ),
        (
            GOOGLE,
            {"model": "gemini-x", "input": "Hello?"},
            {"steps": [{"type": "model_output", "content": [{"type": "text", "text": SAID}]}], "usage": TURN},
            {},
        ),
        (
            GOOGLE,
            {"model": "gemini-x", "input": "Hello?", "stream": True},
            (
                {"event_type": "interaction.created", "interaction": {"id": "i1", "status": "in_progress"}},
                {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
                {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hello "}},
                {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "traveller."}},
                {"event_type": "interaction.completed", "interaction": {"id": "i1", "status": "done", "usage": TURN}},
            ),
            {},
        ),
        (
            f"{MISTRAL}/conv_1",
            {"inputs": "Hello?"},
            {
                "outputs": [{"type": "message.output", "content": SAID}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
            },
            {},
        ),
        (
            "https://workspace.example/serving-endpoints/chat/invocations",
            {"messages": [{"role": "user", "content": "Hello?"}]},
            {
                "choices": [{"message": {"content": SAID}}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7},
            },
            {},
        ),
    ],
)
def test_a_model_is_read_in_the_words_of_its_api(
    recorded: Recorded, url: str, body: dict[str, Any], answer: Any, headers: dict[str, str]
) -> None:
    """A provider's models do not all speak alike, and each of them is paid for."""
    _told(url, body, answer, headers)

    call = recorded.only().one("LLM_CALL")["payload"]
    assert (call["response"], call["status"]) == (SAID, "ok")
    assert (call["usage"]["prompt_tokens"], call["usage"]["completion_tokens"]) == (11, 7)
    assert "Hello?" in json.dumps(call["prompt"])


@pytest.mark.parametrize(
    "answer",
    [
        [{"generated_text": SAID}],
        {"generated_text": SAID, "details": {"finish_reason": "length"}},
        (
            {"token": {"text": "Hello ", "special": False}, "generated_text": None},
            {"token": {"text": "traveller.", "special": False}, "generated_text": SAID},
        ),
    ],
)
def test_text_that_a_model_goes_on_from_is_read(recorded: Recorded, answer: Any) -> None:
    """Hugging Face's servers have the model's name at the end of the address, and count nothing."""
    _told("https://router.huggingface.co/hf-inference/models/org/small", {"inputs": "Hello?"}, answer, {})

    assert recorded.only().one("LLM_CALL")["payload"]["response"] == SAID


def test_an_embedding_of_bedrock_is_read(recorded: Recorded) -> None:
    """Its numbers tell a reader nothing; how many there are, and what they cost, does."""
    answer = {"embedding": [0.5, 0.25, 1.0], "inputTextTokenCount": 11}
    _told(f"{BEDROCK}/amazon.titan-embed-text-v2:0/invoke", {"inputText": "Hello?"}, answer, {})

    call = recorded.only().one("LLM_CALL")["payload"]
    assert (call["model"], call["response"]) == ("amazon.titan-embed-text-v2:0", {"embeddings": 1, "dimensions": 3})
    assert call["usage"]["prompt_tokens"] == 11


def test_what_an_interaction_asks_a_tool_is_kept(recorded: Recorded) -> None:
    """A call of a tool is an answer that has no words."""
    _told(GOOGLE, {"model": "gemini-x", "input": "Hello?"}, {"steps": [CALL], "status": "requires_action"}, {})

    call = recorded.only().one("LLM_CALL")["payload"]
    assert (call["response"], call["stop_reason"]) == ([CALL], "requires_action")


@pytest.mark.parametrize(
    ("host", "path", "is_said"),
    [
        ("api.openai.com", "/v1/images/generations", True),
        ("api.openai.com", "/v1/audio/speech", True),
        ("127.0.0.1", "/v1/audio/transcriptions", True),
        ("api.replicate.com", "/v1/models/meta/llama/predictions", True),
        ("api.openai.com", "/v1/something/new", True),
        ("api.openai.com", "/v1/files", False),
        ("api.openai.com", "/v1/traces/ingest", False),
        ("api.anthropic.com", "/v1/messages/count_tokens", False),
        ("example.com", "/v1/something/new", False),
    ],
)
def test_what_nobody_can_read_of_a_model_is_known(host: str, path: str, is_said: bool) -> None:
    """It is said at the end; what asks no model anything is not."""
    assert unread_address(host, path) == (f"{host}{path}" if is_said else None)


def test_a_request_that_nobody_can_read_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for each address, without what follows a question mark."""
    monkeypatch.setattr(_http_exchange, "unread_addresses", set())
    for method in ("POST", "POST", "GET"):
        assert begin_exchange(method, "api.openai.com", "/v1/images/edits?key=x", _never) is None

    assert _http_exchange.unread_addresses == {"api.openai.com/v1/images/edits"}


def _never() -> Request:
    pytest.fail("asked for more")
