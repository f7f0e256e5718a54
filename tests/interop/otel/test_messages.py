"""Whatever shape a provider gives its messages, the conventions get a role and parts."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.interop.otel.messages import input_messages, output_messages, tool_definitions


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


@pytest.mark.parametrize(
    ("prompt", "messages"),
    [
        ("Hello", [{"role": "user", "parts": [_text("Hello")]}]),
        ([["human", "Hello"]], [{"role": "user", "parts": [_text("Hello")]}]),
        ([{"role": "developer", "content": "Be brief"}], [{"role": "system", "parts": [_text("Be brief")]}]),
        (
            [
                {
                    "role": "user",
                    "name": "ann",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                }
            ],
            [{"role": "user", "parts": [_text("a"), _text("b")], "name": "ann"}],
        ),
        (
            [{"role": "assistant", "reasoning_content": "hm", "content": "a"}],
            [{"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, _text("a")]}],
        ),
        (
            [{"role": "tool", "tool_call_id": "c1", "content": "12"}],
            [{"role": "tool", "parts": [{"type": "tool_call_response", "response": "12", "id": "c1"}]}],
        ),
        (
            # Anthropic answers several tools in one message of the user.
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
                        {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "two"}]},
                        {"type": "text", "text": "Go on"},
                    ],
                }
            ],
            [
                {"role": "tool", "parts": [{"type": "tool_call_response", "response": "one", "id": "t1"}]},
                {
                    "role": "tool",
                    "parts": [
                        {"type": "tool_call_response", "response": [{"type": "text", "text": "two"}], "id": "t2"}
                    ],
                },
                {"role": "user", "parts": [_text("Go on")]},
            ],
        ),
        (
            # Items of the Responses API.
            [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
                {"type": "function_call", "call_id": "f1", "id": "item_1", "name": "add", "arguments": '{"a": 1}'},
                {"type": "function_call_output", "call_id": "f1", "output": "2"},
            ],
            [
                {"role": "user", "parts": [_text("Hi")]},
                {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}]},
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "name": "add", "arguments": {"a": 1}, "id": "f1"}],
                },
                {"role": "tool", "parts": [{"type": "tool_call_response", "response": "2", "id": "f1"}]},
            ],
        ),
        (
            # Gemini.
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "Weather?"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"c": 4}}}]},
                ]
            },
            [
                {"role": "user", "parts": [_text("Weather?")]},
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "name": "weather", "arguments": {"city": "Oslo"}}],
                },
                {"role": "tool", "parts": [{"type": "tool_call_response", "response": {"c": 4}}]},
            ],
        ),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]}],
            [{"role": "user", "parts": [{"type": "uri", "modality": "image", "uri": "https://example.com/a.png"}]}],
        ),
        (
            [{"role": "user", "content": [{"type": "image", "source": {"media_type": "image/png", "data": "aGk="}}]}],
            [
                {
                    "role": "user",
                    "parts": [{"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aGk="}],
                }
            ],
        ),
        (
            [{"role": "user", "content": [{"type": "document", "title": "a.pdf"}]}],
            [{"role": "user", "parts": [{"type": "document", "title": "a.pdf"}]}],
        ),
    ],
    ids=[
        "text",
        "pair",
        "developer",
        "parts",
        "thought",
        "tool",
        "anthropic",
        "responses",
        "gemini",
        "uri",
        "blob",
        "unknown",
    ],
)
def test_a_prompt_becomes_messages(prompt: Any, messages: list[dict[str, Any]]) -> None:
    """One broken message and a strict backend shows none of them."""
    assert input_messages(prompt) == ([], messages)


def test_instructions_stand_apart_where_the_provider_takes_them_apart() -> None:
    """The conventions want to know what was part of the conversation and what was not."""
    asked = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hi"}]

    assert input_messages(asked, "openai")[0] == []
    assert input_messages(asked, "anthropic") == ([_text("Be brief")], [{"role": "user", "parts": [_text("Hi")]}])
    assert input_messages({"system": "Be brief", "messages": asked[1:]})[0] == [_text("Be brief")]


@pytest.mark.parametrize(
    ("response", "reason", "message"),
    [
        ("Hello", "end_turn", {"parts": [_text("Hello")], "finish_reason": "stop"}),
        ("Hello", None, {"parts": [_text("Hello")], "finish_reason": "stop"}),
        ("Hel", "max_tokens", {"parts": [_text("Hel")], "finish_reason": "length"}),
        ({"answer": 42}, "odd", {"parts": [_text('{"answer":42}')], "finish_reason": "odd"}),
        (
            [{"type": "thinking", "thinking": "Hm"}, {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}}],
            "tool_use",
            {
                "parts": [
                    {"type": "reasoning", "content": "Hm"},
                    {"type": "tool_call", "name": "add", "arguments": {"a": 1}, "id": "t"},
                ],
                "finish_reason": "tool_call",
            },
        ),
        (
            {"choices": [{"message": {"role": "assistant", "content": "Yes", "refusal": "No"}}]},
            "stop",
            {"parts": [_text("Yes"), _text("No")], "finish_reason": "stop"},
        ),
    ],
    ids=["text", "no reason", "cut", "object", "blocks", "choices"],
)
def test_a_response_becomes_an_answer(response: Any, reason: str | None, message: dict[str, Any]) -> None:
    """The words and the reason to stop, in the conventions' vocabulary."""
    assert output_messages(response, reason) == [{"role": "assistant", **message}]


def test_several_choices_are_several_answers_and_none_is_none() -> None:
    """Asking for three candidates gives three."""
    three = [{"role": "assistant", "content": word} for word in "abc"]

    assert [answer["parts"] for answer in output_messages(three)] == [[_text("a")], [_text("b")], [_text("c")]]
    assert output_messages(None) == []


def test_tools_are_defined_the_same_whoever_offers_them() -> None:
    """Each provider wraps the same four facts differently."""
    schema = {"type": "object"}
    wanted = {"type": "function", "name": "add", "description": "Adds.", "parameters": schema}

    assert tool_definitions([{"type": "function", "function": {k: wanted[k] for k in wanted if k != "type"}}]) == [
        wanted
    ]
    assert tool_definitions([{"name": "add", "description": "Adds.", "input_schema": schema}]) == [wanted]
    assert tool_definitions([wanted]) == [wanted]
    assert tool_definitions(["add", {"type": "web_search"}, 3]) == [
        {"type": "function", "name": "add"},
        {"type": "web_search", "name": "web_search"},
    ]
