"""What the recorders of the raw clients make of addresses and of streams cut off anywhere; no package is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.integrations import _model_addresses, anthropic, openai

if TYPE_CHECKING:
    from agentdbg.integrations._client_recording import Api


@pytest.mark.parametrize(
    ("address", "provider"),
    [
        ("https://api.openai.com/v1/", "openai"),
        ("https://my-team.openai.azure.com/openai/", "azure"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("http://localhost:11434/v1", "ollama"),
        ("https://api.openai.com.evil.example/v1", None),
        ("http://[broken", None),
        (None, None),
    ],
)
def test_who_answers_is_known_by_the_address(address: Any, provider: str | None) -> None:
    """Half the world speaks OpenAI's language; a trace that calls them all openai misleads about cost and fault."""
    assert _model_addresses.provider_at(address) == provider


CHAT = [
    {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Let "}}]},
    {"choices": [{"index": 0, "delta": {"content": "me see."}}]},
    {
        "choices": [
            {
                "index": 0,
                "delta": {"tool_calls": [{"index": 0, "id": "t1", "function": {"name": "f", "arguments": ""}}]},
            }
        ]
    },
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"a": '}}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
]
RESPONSE = [
    {"type": "response.created", "response": {"id": "r1", "model": "m", "output": []}},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "Let "},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "me see."},
    {
        "type": "response.output_item.done",
        "output_index": 1,
        "item": {"type": "function_call", "call_id": "t1", "name": "f", "arguments": '{"a": 1}'},
    },
]
MESSAGE = [
    {"type": "message_start", "message": {"id": "m1", "model": "m", "usage": {"input_tokens": 5}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "me see."}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a": '}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
]
STREAMS: dict[str, tuple[Api, list[Any]]] = {
    "chat": (openai._requests._apis["/chat/completions"], CHAT),
    "responses": (openai._requests._apis["/responses"], RESPONSE),
    "messages": (anthropic._requests._apis["/v1/messages"], MESSAGE),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_cut_off_anywhere_is_read_as_far_as_it_came(name: str) -> None:
    """Connections break where they like; whatever came must be readable, and nothing may raise."""
    api, events = STREAMS[name]
    assert api.fold is not None
    for length in range(len(events) + 1):
        fold = api.fold()
        for event in events[:length]:
            fold.add(event)
        outcome = api.read(fold.response())

        if length == len(events):
            assert outcome["asks_for"] == ["t1", 'f {"a": 1}']  # by its id, and by what it is
            assert "me see." in str(outcome["result"])
        elif length == 3 and name != "chat":
            assert "Let" in str(outcome["result"])


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("odd", [{}, {"type": "brand_new"}, {"choices": None}, {"delta": None, "index": 3}])
def test_an_event_of_a_kind_nobody_knows_is_passed_over(name: str, odd: dict[str, Any]) -> None:
    """Providers add kinds of events every month."""
    api, events = STREAMS[name]
    assert api.fold is not None
    fold, plain = api.fold(), api.fold()
    for event in events:
        plain.add(event)
        fold.add(event)
        fold.add(odd)

    assert fold.response() == plain.response()


def test_groq_tells_the_usage_of_a_stream_in_a_place_of_its_own() -> None:
    """It comes with the last piece whether it was asked for or not."""
    api, events = STREAMS["chat"]
    assert api.fold is not None
    fold = api.fold()
    for event in [*events[:-1], {"choices": [], "x_groq": {"id": "r", "usage": {"prompt_tokens": 4}}}]:
        fold.add(event)

    assert api.read(fold.response())["usage"] == {"prompt_tokens": 4}
