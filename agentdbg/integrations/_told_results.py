"""
Tools that nobody records, as the conversation tells of them.

A program that calls its tools itself sends their results with its next request. What a recorded answer asked for, and
what no TOOL_CALL was recorded of since, is one then: with its arguments and its result, without a duration. Where an
integration, `@tool` or a framework recorded a tool in between, that is taken for it: a tool that is missing is better
than one that is there twice. What a model was made to answer in the form of a tool is no tool.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg import record_tool_call
from agentdbg.around import at_place, pass_on, text_of
from agentdbg.integrations._client_recording import request_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentdbg.around import Pairing

__all__ = ["tell_results"]

_MOST_MESSAGES = 200
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "function_result", "function.result"})
_ASSISTANTS = frozenset({"assistant", "model", "ai"})
_FORCED = frozenset({"required", "any", "ANY"})


class _Result(NamedTuple):
    """What the conversation says of one tool call; it is known by an id, or only by its place among the others."""

    asked_by: str | None
    content: Any
    is_error: bool = False


def tell_results(pairing: Pairing, prompt: Any, request: Mapping[str, Any], framework: str) -> None:
    """Record what the results in a prompt tell of tools that nobody recorded."""
    if not isinstance(prompt, list) or _is_form(request) or _is_at_work():
        return
    found = [(name, asked, told) for name, told in _results(prompt) if (asked := pairing.asked(name)) is not None]
    for name, (place, beside), result in found:
        tool, _, given = (beside if result.asked_by else name).partition(" ")
        failed = {"error_type": "ToolError", "message": _words(result.content)} if result.is_error else None
        with at_place(place):
            record_tool_call(
                tool,
                _data(given),
                None if failed else _words(result.content),
                error=failed,
                meta={"framework": framework, "told_by": "conversation"},
            )


def _is_form(request: Mapping[str, Any]) -> bool:
    """Whether the model is made to call one tool: it gives the answer its form, and is tried again."""
    if "instructor" in sys.modules:
        return True
    choice, tools = request.get("tool_choice"), request.get("tools")
    if isinstance(choice, dict):
        if "name" in choice or "function" in choice:
            return True
        choice = choice.get("mode", choice.get("type"))
    return choice in _FORCED and not (isinstance(tools, list) and len(tools) > 1)


def _is_at_work() -> bool:
    """Whether a framework runs agents here whose tools are recorded where it runs them."""
    seams: Any = sys.modules.get("agentdbg.integrations._framework_seams")
    return seams is not None and bool(seams.agents_at_work())


def _results(prompt: list[Any]) -> list[tuple[str, _Result]]:
    """The results since the model spoke last, each by what it was asked for with."""
    found: list[_Result] = []
    calls: list[str] = []
    for message in reversed(prompt[-_MOST_MESSAGES:]):
        if not isinstance(message, dict):
            break
        told = list(_told(message))
        found[:0] = told
        if not told and message.get("role") in _ASSISTANTS:
            calls = list(_calls(message))
            break
    names = [result.asked_by or (calls[place] if place < len(calls) else "") for place, result in enumerate(found)]
    return list(zip(names, found, strict=True))


def _told(message: dict[str, Any]) -> Iterator[_Result]:
    """The results in one message, whichever API it belongs to."""
    identity = message.get("tool_call_id") or message.get("call_id")
    if message.get("type") in _RESULTS:
        yield _Result(identity, message.get("output", message.get("result")), bool(message.get("is_error")))
        return
    parts = message.get("parts", message.get("content"))
    blocks = [block for block in parts if isinstance(block, dict)] if isinstance(parts, list) else []
    are_blocks = "parts" in message or any(block.get("type") == "tool_result" for block in blocks)
    if message.get("role") in ("tool", "function") and not are_blocks:
        yield _Result(identity, message.get("content"))
        return
    for block in blocks:
        response = block.get("functionResponse") or block.get("function_response")
        if block.get("type") == "tool_result":
            yield _Result(block.get("tool_use_id"), block.get("content"), bool(block.get("is_error")))
        elif isinstance(response, dict):
            said = response.get("response")
            is_error = isinstance(said, dict) and set(said) == {"error"}
            yield _Result(response.get("id"), said, is_error)


def _calls(message: dict[str, Any]) -> Iterator[str]:
    """What the model asked for in one message, by tool and arguments."""
    for call in message.get("tool_calls") or []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield request_name(function.get("name"), function.get("arguments"))
    for part in message.get("parts") or []:
        call = (part.get("functionCall") or part.get("function_call")) if isinstance(part, dict) else None
        if isinstance(call, dict):
            yield request_name(call.get("name"), call.get("args"))


def _words(content: Any) -> Any:
    """A result as words, where it is nothing else."""
    if isinstance(content, list) and content and all(isinstance(one, dict) and "text" in one for one in content):
        return text_of(content)
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) and set(content[0]) == {"json"}:
        return content[0]["json"]  # Bedrock's, for what is no text
    return content


def _data(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError as error:
        pass_on(error)
        return text
