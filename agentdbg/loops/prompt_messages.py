"""
Read a prompt as messages: who says what to the model.

A prompt is one text, a list of messages in the shape of any provider, or a dict around either. Numbers, dates, ids and
what is not text (an image, a document) belong to what is said.
"""

from __future__ import annotations

from typing import Any

from agentdbg.events import TRUNCATED
from agentdbg.loops.step_contents import CALL_KEYS, encode
from agentdbg.loops.volatile import VOLATILE_KEYS

__all__ = ["MODEL", "PERSON", "SYSTEM", "TOOL", "Message", "read", "split", "whole_text"]

PERSON, SYSTEM, MODEL, TOOL = "person", "system", "model", "tool"

Message = tuple[str, str]
"""Who says it and what; what the model said is left out."""

_SPEAKERS = {
    **dict.fromkeys(("user", "human"), PERSON),
    **dict.fromkeys(("system", "developer"), SYSTEM),
    **dict.fromkeys(("assistant", "model", "ai", "reasoning", "function_call", "item_reference"), MODEL),
    **dict.fromkeys(("tool", "function", "tool_result", "toolresult", "function_response", "functionresponse"), TOOL),
}
_RESULTS = frozenset({"tool_result", "toolResult", "function_response", "functionResponse", "tool_response"})
_LISTS = ("messages", "input", "contents")
_NO_CONTENT = frozenset({"model", "tools", "functions", "tool_choice"})


def whole_text(prompt: Any) -> str | None:
    """The prompt as one text; None where it is a list of messages."""
    if type(prompt) is str:
        return prompt
    if type(prompt) is list:
        if all(type(item) is str for item in prompt):
            return "\n".join(prompt)
        return None
    if type(prompt) is dict:
        if _list_in(prompt):
            return None
        prompt = {key: prompt[key] for key in sorted(prompt, key=str) if key not in _NO_CONTENT}
    return _text(prompt)


def split(prompt: Any) -> tuple[str, list[Any]]:
    """The messages of a prompt that has some, still unread, and what is said beside them."""
    if type(prompt) is dict:
        key = _list_in(prompt)
        names = [name for name in sorted(prompt, key=str) if name != key and name not in _NO_CONTENT | VOLATILE_KEYS]
        beside = {name: prompt[name] for name in names}
        return _text(beside) if beside else "", prompt[key]
    if len(prompt) == 1 and type(prompt[0]) is list:
        return "", prompt[0]  # a batch of one
    return "", prompt


def read(items: list[Any]) -> list[Message]:
    """Who says what, in the order of the messages."""
    messages: list[Message] = []
    for item in items:
        if type(item) is dict:
            _read_message(item, messages)
        elif type(item) is list and len(item) == 2 and type(item[0]) is str:
            messages.append((_SPEAKERS.get(item[0].lower(), SYSTEM), _text(item[1])))
        elif item != TRUNCATED:
            messages.append((PERSON, _text(item)))
    return messages


def _list_in(prompt: dict[Any, Any]) -> str:
    return next((key for key in _LISTS if type(prompt.get(key)) is list), "")


def _read_message(message: dict[str, Any], messages: list[Message]) -> None:
    role = message.get("role") or message.get("type")
    speaker = _SPEAKERS.get(role) if type(role) is str else None
    if speaker is None:
        if TRUNCATED in message:
            return  # stands for messages that were not kept
        inside = message.get("kwargs")
        if role == "constructor" and type(inside) is dict:  # a message as LangChain writes it
            message, role = inside, _class_name(message.get("id"))
        speaker = _guess(role)
    if speaker == MODEL:
        messages.append((MODEL, ""))
        return
    content = message.get("content", message.get("parts"))
    if type(content) is list:
        _read_parts(speaker, content, messages)
        return
    if content is None:
        content = {key: value for key, value in message.items() if key not in ("role", "type", *CALL_KEYS)}
    messages.append((speaker, content if type(content) is str else _text(content)))


def _class_name(path: Any) -> str:
    return str(path[-1]).removesuffix("Chunk").removesuffix("Message") if type(path) is list and path else ""


def _guess(role: Any) -> str:
    role = role.lower() if type(role) is str else ""
    if role.endswith(("_output", "_result", "_response")):
        return TOOL
    return MODEL if role.endswith("_call") else _SPEAKERS.get(role, SYSTEM if role else PERSON)


def _read_parts(speaker: str, parts: list[Any], messages: list[Message]) -> None:
    """One message of several parts, in which a tool's results may be handed back."""
    said = []
    for part in parts:
        text = part.get("text") if type(part) is dict else part
        if type(part) is dict and (part.get("type") in _RESULTS or not _RESULTS.isdisjoint(part)):
            content = part.get("content", {key: part[key] for key in part if key not in CALL_KEYS})
            messages.append((TOOL, _text(content)))
        elif type(text) is str:
            said.append(text)
        else:
            said.append(_text(part))
    if said:
        messages.append((speaker, "\n".join(said)))


def _text(value: Any) -> str:
    return value if type(value) is str else encode(value).decode(errors="replace")
