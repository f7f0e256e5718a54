"""
The messages and tools of a model span, put together from its attributes.

Conventions differ: `llm.input_messages.0.message.role` (OpenInference), `gen_ai.input.messages` as one JSON text
(GenAI), `gen_ai.prompt.0.role` (OpenLLMetry). All become chat messages as OpenAI has them.
"""

from __future__ import annotations

from typing import Any, Literal

from agentdbg.interop.drafts import read_arguments
from agentdbg.interop.shapes import as_list

__all__ = ["messages_in", "tools_in"]


def messages_in(attributes: dict[str, Any], side: Literal["input", "output"]) -> list[Any] | None:
    """The messages of one side; None when the span has none."""
    nested = _nested(attributes, f"llm.{side}_messages.")
    if nested:
        return [_from_openinference(item.get("message", item)) for item in nested if isinstance(item, dict)]
    told = read_arguments(attributes.get(f"gen_ai.{side}.messages"))
    if isinstance(told, list) and told:
        first = read_arguments(attributes.get("gen_ai.system_instructions")) if side == "input" else None
        messages = [_from_parts(item) for item in told]
        return [{"role": "system", "content": _text_of_parts(first)}, *messages] if first else messages
    numbered = _nested(attributes, "gen_ai.prompt." if side == "input" else "gen_ai.completion.")
    return [_from_openllmetry(item) for item in numbered if isinstance(item, dict)] or None


def tools_in(attributes: dict[str, Any]) -> list[Any] | None:
    """The tools the model was offered, with the schemas of their arguments."""
    offered = []
    for item in _nested(attributes, "llm.tools."):
        tool = item.get("tool", item) if isinstance(item, dict) else item
        offered.append(read_arguments(tool.get("json_schema", tool)) if isinstance(tool, dict) else tool)
    if not offered:
        offered = as_list(read_arguments(attributes.get("gen_ai.tool.definitions")))
    if not offered:
        offered = [
            {"type": "function", "function": {**item, "parameters": read_arguments(item.get("parameters"))}}
            for item in _nested(attributes, "llm.request.functions.")
            if isinstance(item, dict)
        ]
    return offered or None


def _from_openinference(message: Any) -> dict[str, Any]:
    if not isinstance(message, dict):
        return {"role": "user", "content": message}
    content = message.get("content")
    if content is None and isinstance(message.get("contents"), list):
        blocks = [item.get("message_content", item) for item in message["contents"] if isinstance(item, dict)]
        texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
        content = "\n".join(texts) if len(texts) == len(blocks) else blocks
    made: dict[str, Any] = {"role": message.get("role", "user"), "content": content}
    calls = [item.get("tool_call", item) for item in as_list(message.get("tool_calls")) if isinstance(item, dict)]
    if calls:
        made["tool_calls"] = [
            {"id": call.get("id"), "type": "function", "function": call.get("function")} for call in calls
        ]
    for key in ("tool_call_id", "name"):
        if message.get(key):
            made[key] = message[key]
    return made


def _from_parts(message: Any) -> Any:
    """A message of the GenAI conventions: a role and parts."""
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        return message
    parts = [part for part in message["parts"] if isinstance(part, dict)]
    made: dict[str, Any] = {"role": message.get("role", "user"), "content": _text_of_parts(parts) or None}
    calls = [part for part in parts if part.get("type") == "tool_call"]
    if calls:
        made["tool_calls"] = [
            {
                "id": part.get("id"),
                "type": "function",
                "function": {"name": part.get("name"), "arguments": part.get("arguments")},
            }
            for part in calls
        ]
    answered = next((part for part in parts if part.get("type") == "tool_call_response"), None)
    if answered is not None:
        made = {"role": "tool", "tool_call_id": answered.get("id"), "content": answered.get("response")}
    return made


def _text_of_parts(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    texts = [part.get("content") for part in as_list(parts) if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _from_openllmetry(message: dict[str, Any]) -> dict[str, Any]:
    made = {"role": message.get("role", "user"), "content": message.get("content")}
    calls = [call for call in as_list(message.get("tool_calls")) if isinstance(call, dict)]
    if calls:
        made["tool_calls"] = [
            {
                "id": call.get("id"),
                "type": "function",
                "function": {"name": call.get("name"), "arguments": call.get("arguments")},
            }
            for call in calls
        ]
    if message.get("tool_call_id"):
        made["tool_call_id"] = message["tool_call_id"]
    return made


def _nested(attributes: dict[str, Any], prefix: str) -> list[Any]:
    """The list that attributes named `prefix0.…`, `prefix1.…` spell out."""
    whole = attributes.get(prefix.rstrip("."))
    if isinstance(whole, list):
        return whole
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        *path, last = key[len(prefix) :].split(".")
        at = tree
        for name in path:
            inner = at.setdefault(name, {})
            at = inner if isinstance(inner, dict) else {}
        at[last] = value
    return as_list(_with_lists(tree))


def _with_lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if tree and all(key.isdigit() for key in tree):
        return [_with_lists(tree[key]) for key in sorted(tree, key=int)]
    return {key: _with_lists(value) for key, value in tree.items()}
