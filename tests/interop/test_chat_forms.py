"""Chats as providers and frameworks write them: each call of a tool finds its result, however blocks are called."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.files import imported, write

if TYPE_CHECKING:
    from pathlib import Path

_ARGS = {"at": "weir"}
_CALL = {"name": "look", "args": _ARGS, "id": "c1"}
FORMS: dict[str, Any] = {
    "Bedrock": {
        "messages": [
            {"role": "user", "content": [{"text": "Mend it."}]},
            {
                "role": "assistant",
                "content": [
                    {"text": "I look."},
                    {"toolUse": {"toolUseId": "c1", "name": "look", "input": _ARGS}},
                ],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "gone"}], "status": "error"}}],
            },
            {"role": "assistant", "content": [{"text": "Done."}]},
        ]
    },
    "Gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "Mend it."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "look", "args": _ARGS}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "gone"}}}]},
            {"role": "model", "parts": [{"text": "Done."}]},
        ]
    },
    "Vercel AI SDK, model messages": [
        {"role": "user", "content": "Mend it."},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": _ARGS}],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "look",
                    "output": {"type": "error-text", "value": "gone"},
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ],
    "Vercel AI SDK, messages of a page": {
        "messages": [
            {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Mend it."}]},
            {
                "id": "m2",
                "role": "assistant",
                "parts": [
                    {"type": "step-start"},
                    {
                        "type": "tool-look",
                        "toolCallId": "c1",
                        "state": "output-error",
                        "input": _ARGS,
                        "errorText": "gone",
                    },
                ],
            },
            {"id": "m3", "role": "assistant", "parts": [{"type": "text", "text": "Done."}]},
        ]
    },
    "Responses API": {
        "input": [
            {"role": "user", "content": "Mend it."},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "weir"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "gone"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        ]
    },
    "LangChain": [
        {"type": "human", "data": {"content": "Mend it."}},
        {"type": "ai", "data": {"content": "", "tool_calls": [_CALL], "usage_metadata": {"input_tokens": 5}}},
        {"type": "tool", "data": {"content": "gone", "tool_call_id": "c1", "name": "look"}},
        {"type": "ai", "data": {"content": "Done."}},
    ],
    "pydantic-ai": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Mend it."}]},
        {
            "kind": "response",
            "model_name": "gpt-4o",
            "usage": {"input_tokens": 10, "output_tokens": 3},
            "parts": [{"part_kind": "tool-call", "tool_name": "look", "args": _ARGS, "tool_call_id": "c1"}],
        },
        {
            "kind": "request",
            "parts": [{"part_kind": "retry-prompt", "tool_name": "look", "content": "gone", "tool_call_id": "c1"}],
        },
        {"kind": "response", "model_name": "gpt-4o", "parts": [{"part_kind": "text", "content": "Done."}]},
    ],
}
_FAILED = ("Bedrock", "Vercel AI SDK, model messages", "Vercel AI SDK, messages of a page", "pydantic-ai")


@pytest.mark.parametrize("form", FORMS)
def test_calls_find_their_results_in_each_form(form: str, tmp_path: Path, data_dir: Path) -> None:
    """A call without a result, and a result without a call, are what is left of a form that is half understood."""
    events = imported(write(tmp_path / "chat.json", FORMS[form]), data_dir)
    answers = [event for event in events if event["event_type"] == "LLM_CALL"]
    (used,) = [event for event in events if event["event_type"] == "TOOL_CALL"]
    error = used["payload"]["error"]

    assert events[0]["name"] == "Mend it."
    assert len(answers) == 2
    assert "CALL_START" not in {event["event_type"] for event in events}
    assert used["name"] == "look"
    assert used["payload"]["args"] == _ARGS
    assert used["parent_id"] == answers[0]["event_id"]
    assert (used["payload"]["status"] == "error") == (form in _FAILED)
    assert "gone" in str(used["payload"]["result"] if error is None else error["message"])
    assert "Done." in str(answers[1]["payload"]["response"])


def test_pairs_that_call_functions_find_their_results(tmp_path: Path, data_dir: Path) -> None:
    """Calls stand in turns of their own there, with no ids: results come in the order of the calls."""
    said = [
        {"from": "human", "value": "Mend it."},
        {"from": "function_call", "value": '[{"name": "look", "arguments": {"at": "weir"}}, {"name": "ring"}]'},
        {"from": "observation", "value": "gone"},
        {"from": "observation", "value": "rung"},
        {"from": "gpt", "value": "Done."},
    ]
    events = imported(write(tmp_path / "calls.json", [{"conversations": said, "tools": "[]"}]), data_dir)
    calls = [event["payload"] for event in events if event["event_type"] == "TOOL_CALL"]

    assert [event["event_type"] for event in events].count("LLM_CALL") == 2
    assert [(call["tool_name"], call["args"], call["result"]) for call in calls] == [
        ("look", {"at": "weir"}, "gone"),
        ("ring", None, "rung"),
    ]


def test_calls_in_tags_find_their_results(tmp_path: Path, data_dir: Path) -> None:
    """Models that are trained to write calls as tagged text do so in the collections they are trained from."""
    calls = "".join(
        f'<tool_call>\n{{"name": "look", "arguments": {{"at": "{at}"}}}}\n</tool_call>\n' for at in ("<weir>", "dam")
    )
    results = '<tool_response>\n{"name": "look", "content": "gone"}\n</tool_response><tool_response>[1]</tool_response>'
    said = [
        {"from": "human", "value": "Mend it."},
        {"from": "gpt", "value": f"<think>First look.</think>\n{calls}"},
        {"from": "tool", "value": results},
        {"from": "gpt", "value": "Done."},
    ]
    events = imported(write(tmp_path / "tags.json", [{"conversations": said}]), data_dir)
    used = [event["payload"] for event in events if event["event_type"] == "TOOL_CALL"]
    (first, _) = [event["payload"]["response"] for event in events if event["event_type"] == "LLM_CALL"]

    assert [(call["tool_name"], call["args"], call["result"]) for call in used] == [
        ("look", {"at": "<weir>"}, "gone"),
        ("look", {"at": "dam"}, [1]),
    ]
    assert first["content"] == "<think>First look.</think>"


def test_tags_that_never_end_cost_no_time(tmp_path: Path, data_dir: Path) -> None:
    """A text may hold the beginning of a tag a hundred thousand times."""
    said = [{"from": "human", "value": "Go."}, {"from": "gpt", "value": "<tool_call>" * 100_000}]
    began = time.process_time()
    events = imported(write(tmp_path / "tags.json", [{"conversations": said}]), data_dir)

    assert [event["event_type"] for event in events] == ["RUN_START", "LLM_CALL", "RUN_END"]
    assert time.process_time() - began < 2


def test_pairs_of_from_and_value_are_a_chat(tmp_path: Path, data_dir: Path) -> None:
    """The form of most collections of chats for training."""
    said = [
        {"from": "system", "value": "Be short."},
        {"from": "human", "value": "Why?"},
        {"from": "gpt", "value": "So."},
    ]
    events = imported(write(tmp_path / "chats.json", [{"id": "s-1234567", "conversations": said}]), data_dir)

    assert [event["event_type"] for event in events] == ["RUN_START", "LLM_CALL", "RUN_END"]
    assert events[1]["payload"]["response"]["content"] == "So."
