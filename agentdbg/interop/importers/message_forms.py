"""
Messages in the forms that frameworks and tools store them, as chat messages.

LangChain writes a message as a constructor with keyword arguments, as `{"type": "human", "data": …}` or flat; the
Responses API writes calls and results as items of their own; an answer may stand in `generations` or `choices`.
"""

from __future__ import annotations

from typing import Any

from agentdbg.interop.drafts import read_arguments
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.transcripts import words_of

__all__ = ["answer_in", "as_message", "messages_in_value", "request_in", "stop_reason_in", "usage_in"]

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "ChatMessage": "user",
}
_ASKED = (
    "input",
    "question",
    "query",
    "prompt",
    "message",
    "text",
    "user_input",
    "request",
    "task",
    "topic",
    "content",
)
_LISTED = ("messages", "input", "prompt", "prompts", "contents", "kwargs", "request")
_KEPT = ("name", "tool_call_id", "reasoning_content", "refusal", "id")
_DEEPEST = 6


def messages_in_value(value: Any) -> Any:
    """The prompt that a recorded input holds: chat messages where it has any, else the input as it is."""
    value = read_arguments(value)
    for key in _LISTED:
        inside = as_dict(value).get(key)
        if isinstance(inside, list) and inside and not all(isinstance(item, (int, float)) for item in inside):
            return _prompt(value, inside)
    return _messages(value) if isinstance(value, list) else value


def _prompt(value: dict[str, Any], inside: list[Any]) -> list[Any]:
    found = _messages(inside)
    system = value.get("system") or value.get("instructions")
    return [{"role": "system", "content": system}, *found] if system and isinstance(found, list) else found


def _messages(items: list[Any]) -> list[Any]:
    if len(items) == 1 and isinstance(items[0], list):  # LangChain asks for several prompts at once
        items = items[0]
    if len(items) == 2 and isinstance(items[0], str) and items[0] in _ROLES:
        return [as_message(items)]
    return [as_message(item) for item in items]


def as_message(item: Any) -> Any:
    """One message in whatever form it stands; what is none stays as it is."""
    if isinstance(item, list) and len(item) == 2 and all(isinstance(part, str) for part in item):
        return {"role": _ROLES.get(item[0], item[0]), "content": item[1]}
    if not isinstance(item, dict):
        return item
    told, role = _unwrapped(item)
    if not role:
        return item
    made: dict[str, Any] = {"role": role, "content": told.get("content")}
    calls = as_list(told.get("tool_calls")) or as_list(as_dict(told.get("additional_kwargs")).get("tool_calls"))
    if calls:
        made["tool_calls"] = [_call(call) for call in calls]
    made.update({key: told[key] for key in _KEPT if told.get(key)})
    return made


def _unwrapped(item: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """A message's own fields, and the role it has."""
    if item.get("type") == "constructor" and isinstance(item.get("kwargs"), dict):
        name = as_word(next(iter(reversed(as_list(item.get("id")))), ""))
        told = item["kwargs"]
        return told, as_word(told.get("role")) or _ROLES.get(name) or _ROLES.get(as_word(told.get("type")), "")
    if isinstance(item.get("data"), dict) and as_word(item.get("type")) in (*_ROLES, "system", "tool"):
        return item["data"], _ROLES.get(item["type"], item["type"])
    kind = as_word(item.get("type"))
    role = as_word(item.get("role")) or (kind if "content" in item and kind in (*_ROLES, "system", "tool") else "")
    if role:
        return item, _ROLES.get(role, role)
    if kind in ("function_call_output", "custom_tool_call_output"):
        return {**item, "content": item.get("output"), "tool_call_id": item.get("call_id")}, "tool"
    if kind in ("function_call", "custom_tool_call"):
        call = {"id": item.get("call_id"), "name": item.get("name"), "args": item.get("arguments", item.get("input"))}
        return {"content": None, "tool_calls": [call]}, "assistant"
    return item, ""


def _call(call: Any) -> Any:
    told = as_dict(call)
    function = as_dict(told.get("function"))
    name = function.get("name") or told.get("name") or told.get("toolName")
    args = function.get("arguments") if function else told.get("args", told.get("arguments", told.get("input")))
    identity = told.get("id") or told.get("call_id") or told.get("toolCallId")
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": read_arguments(args)}}


def answer_in(value: Any) -> Any:
    """The answer that a recorded output holds: one message, several where there are several, else as it is."""
    value = read_arguments(value)
    told = as_dict(value)
    listed = as_list(told.get("generations")) or as_list(told.get("choices")) or as_list(told.get("messages"))
    listed = listed or as_list(told.get("output")) or (value if isinstance(value, list) else [])
    while len(listed) == 1 and isinstance(listed[0], list):
        listed = listed[0]
    if listed:
        found = [_answer(item) for item in listed]
        return _joined(found)
    if isinstance(told.get("message"), dict):
        return as_message(told["message"])
    return as_message(value) if isinstance(value, dict) else value


def _answer(item: Any) -> Any:
    told = as_dict(item)
    if isinstance(told.get("message"), dict):
        return as_message(told["message"])
    if "text" in told and "role" not in told and told.get("type") in (None, "Generation", "ChatGeneration"):
        return {"role": "assistant", "content": told["text"]}
    return as_message(item)


def _joined(found: list[Any]) -> Any:
    """Items of one answer as one message, where they are words and calls of the same."""
    if len(found) == 1:
        return found[0]
    found = [item for item in found if as_dict(item).get("type") != "reasoning" or as_dict(item).get("summary")]
    if len(found) == 1:
        return found[0]
    if all(as_dict(item).get("role") == "assistant" for item in found):
        calls = [call for item in found for call in as_list(item.get("tool_calls"))]
        contents = [item["content"] for item in found if item.get("content")]
        if calls and len(contents) <= 1:
            return {"role": "assistant", "content": contents[0] if contents else None, "tool_calls": calls}
    return found


def usage_in(value: Any, depth: int = 0) -> dict[str, Any] | None:
    """The usage that an output tells of, wherever its framework puts it."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return next((used for item in value[:4] if (used := usage_in(item, depth + 1))), None)
    told = as_dict(value)
    if not told:
        return None
    for key in ("usage_metadata", "token_usage", "usage", "usageMetadata"):
        if isinstance(told.get(key), dict) and any(isinstance(count, int) for count in told[key].values()):
            found: dict[str, Any] = told[key]
            return found
    for key in ("llm_output", "generations", "message", "kwargs", "response_metadata", "choices", "messages"):
        used = usage_in(told.get(key), depth + 1)
        if used:
            return used
    return None


def stop_reason_in(value: Any, depth: int = 0) -> str | None:
    """How an answer ended, wherever its framework says so."""
    if depth > _DEEPEST:
        return None
    value = read_arguments(value)
    if isinstance(value, list):
        return stop_reason_in(value[0], depth + 1) if value else None
    told = as_dict(value)
    if not told:
        return None
    reason = told.get("finish_reason") or told.get("stop_reason") or told.get("finishReason")
    if isinstance(reason, str):
        return reason
    inner = ("choices", "generations", "generation_info", "message", "kwargs", "response_metadata", "llm_output")
    return next((found for key in inner if (found := stop_reason_in(told.get(key), depth + 1))), None)


def request_in(value: Any, depth: int = 0) -> str:
    """What was asked for, in words: the newest thing a person said."""
    value = read_arguments(value)
    if isinstance(value, str):
        return value.strip()
    if depth > _DEEPEST:
        return ""
    if isinstance(value, list):
        messages = [
            as_message(item) for item in (value[0] if len(value) == 1 and isinstance(value[0], list) else value)
        ]
        said = [words_of(as_dict(item).get("content")) for item in messages if as_dict(item).get("role") == "user"]
        return next((words.strip() for words in said if words.strip()), "")
    for key in ("messages", *_ASKED, "inputs", "kwargs", "args"):
        inside = as_dict(value).get(key)
        if inside and (words := request_in(inside, depth + 1)):
            return words
    values = list(as_dict(value).values())
    return values[0].strip() if len(values) == 1 and isinstance(values[0], str) else ""
