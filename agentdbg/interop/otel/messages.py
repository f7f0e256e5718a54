"""
What was said to a model and what it answered, in the shape the GenAI conventions give messages: a role and parts.

Reads OpenAI chat messages, Anthropic content blocks, Responses items, Gemini parts, LangChain messages and plain text.
A block it does not know it passes on as it is, under its own type; it never raises.
"""

from __future__ import annotations

from typing import Any

from agentdbg.analysis.value_text import parse_embedded
from agentdbg.encoding import encode_json
from agentdbg.events.markers import is_gap
from agentdbg.interop.shapes import as_word

__all__ = ["input_messages", "output_messages", "tool_definitions"]

_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool", "developer": "system"}
_TEXTS = frozenset({"text", "input_text", "output_text", "refusal"})
_THOUGHTS = frozenset({"reasoning", "thinking", "redacted_thinking"})
_CALLS = frozenset({"tool_use", "tool_call", "function_call", "server_tool_use", "mcp_call", "custom_tool_call"})
_RESULTS = frozenset({"tool_result", "function_call_output", "custom_tool_call_output", "tool_response"})
_MEDIA = {"image": "image", "image_url": "image", "input_image": "image", "input_audio": "audio", "audio": "audio"}
_INSTRUCTIONS = ("system", "instructions", "system_instruction", "systemInstruction")
# Providers whose requests have a place of their own for instructions, outside of the conversation.
_TAKE_INSTRUCTIONS_APART = frozenset({"anthropic", "bedrock", "google", "gemini", "vertex_ai"})
_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "tool_calls": "tool_call",
    "tool_use": "tool_call",
    "function_call": "tool_call",
}


def input_messages(prompt: Any, provider: str = "") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The instructions as parts, where they were given apart, and the messages of the conversation."""
    instructions: list[dict[str, Any]] = []
    for _ in range(3):
        if not isinstance(prompt, dict) or "role" in prompt:
            break
        for key in _INSTRUCTIONS:
            instructions += _parts(prompt.get(key))
        inner = next((prompt[key] for key in ("messages", "input", "contents", "prompt") if prompt.get(key)), None)
        if inner is None:
            break
        prompt = inner
    if isinstance(prompt, list) and prompt and all(isinstance(item, list) and not _is_pair(item) for item in prompt):
        prompt = prompt[-1]  # LangChain hands over batches
    listed = prompt if isinstance(prompt, list) else [] if prompt is None else [prompt]
    messages = [made for item in listed if not is_gap(item) for made in _messages(item)]
    if provider in _TAKE_INSTRUCTIONS_APART:
        while messages and messages[0]["role"] == "system":
            instructions += messages.pop(0)["parts"]
    return instructions, messages


def output_messages(response: Any, reason: Any = None, *, failed: bool = False) -> list[dict[str, Any]]:
    """The answers, one for each choice, with the reason the model stopped in the words of the conventions."""
    made = []
    for message in _answers(response):
        asks = any(part["type"] == "tool_call" for part in message["parts"])
        guessed = "error" if failed else "tool_call" if asks else "stop"
        made.append({**message, "finish_reason": _REASONS.get(reason, reason) if isinstance(reason, str) else guessed})
    return made


def tool_definitions(tools: Any) -> list[dict[str, Any]]:
    """The tools a model was offered."""
    defined = []
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, str):
            defined.append({"type": "function", "name": tool})
        elif isinstance(tool, dict) and isinstance(tool.get("functionDeclarations"), list):
            defined += tool_definitions(tool["functionDeclarations"])
        elif isinstance(tool, dict):
            inner = tool.get("function")
            given = inner if isinstance(inner, dict) else tool
            one: dict[str, Any] = {"type": as_word(tool.get("type")) or "function"}
            one["name"] = str(given.get("name") or one["type"])
            if isinstance(given.get("description"), str):
                one["description"] = given["description"]
            schema = given.get("parameters", given.get("input_schema"))
            if isinstance(schema, dict):
                one["parameters"] = schema
            defined.append(one)
    return defined


def _answers(response: Any) -> list[dict[str, Any]]:
    if isinstance(response, dict):
        for key in ("choices", "candidates"):
            if isinstance(response.get(key), list) and response[key]:
                found = (choice.get("message", choice.get("content", choice)) for choice in _dicts(response[key]))
                return [made for choice in found for made in _answers(choice)]
        if isinstance(response.get("output"), list) and "role" not in response:
            response = response["output"]
    if isinstance(response, list) and response and all(isinstance(item, dict) and "role" in item for item in response):
        return [_merged(_messages(item)) for item in response]
    if response is None:
        return []
    items = response if isinstance(response, list) else [response]
    return [_merged([made for item in items for made in _messages(item, "assistant")])]


def _merged(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "assistant", "parts": [part for message in messages for part in message["parts"]]}


def _messages(item: Any, speaker: str = "user") -> list[dict[str, Any]]:
    """One message; several where a provider puts the results of several tools into one."""
    if _is_pair(item):
        return [{"role": _ROLES.get(item[0], item[0]), "parts": [_text(item[1])]}]
    if not isinstance(item, dict):
        parts = _parts(item)
        return [{"role": speaker, "parts": parts}] if parts else []
    kind, given = as_word(item.get("type")), as_word(item.get("role"))
    if not given:
        if kind in _CALLS or kind in _THOUGHTS:
            return [{"role": "assistant", "parts": [_block(item)]}]
        if kind in _RESULTS or kind in _TEXTS or kind in _MEDIA:
            return _split(speaker, [_block(item)], None)
        given = kind if kind and kind != "message" else speaker
    role = _ROLES.get(given, given)
    content = item.get("parts", item.get("content"))
    if role == "tool" and not _has_results(content):
        response = {"type": "tool_call_response", "response": content}
        return [{"role": "tool", "parts": [_with_id(response, item)]}]
    parts = _with_thought(item, _parts(content))
    if isinstance(item.get("refusal"), str):
        parts.append(_text(item["refusal"]))
    for key in ("tool_calls", "function_call"):
        calls = item.get(key)
        for call in _dicts([calls] if isinstance(calls, dict) else calls):
            asked = _call(call)
            # LangChain repeats a block's call beside it; the same call said twice is one call.
            if asked not in parts:
                parts.append(asked)
    if not parts and content is None and not {"role", "content", "parts"} & item.keys():
        parts = [_text(encode_json(item).decode())]
    name = item.get("name")
    return _split(role, parts, name if isinstance(name, str) else None)


def _with_thought(item: dict[str, Any], parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of a message, with what was thought where that stands beside its content."""
    thought = as_word(item.get("reasoning_content")) or as_word(item.get("reasoning"))
    if not thought or any(part["type"] == "reasoning" for part in parts):
        return parts
    return [{"type": "reasoning", "content": thought}, *parts]


def _is_pair(item: Any) -> bool:
    """A role and what it said."""
    return isinstance(item, list) and len(item) == 2 and all(isinstance(word, str) for word in item)


def _split(role: str, parts: list[dict[str, Any]], name: str | None) -> list[dict[str, Any]]:
    """Each result of a tool is a message of the tool, wherever it stood."""
    said = [part for part in parts if part["type"] != "tool_call_response"]
    results = [part for part in parts if part["type"] == "tool_call_response"]
    made: list[dict[str, Any]] = [{"role": "tool", "parts": [result]} for result in results]
    if said or not made:
        made.append({"role": role, "parts": said, **({"name": name} if name else {})})
    return made


def _has_results(content: Any) -> bool:
    return any(as_word(block.get("type")) in _RESULTS or "functionResponse" in block for block in _dicts(content))


def _parts(content: Any) -> list[dict[str, Any]]:
    if content is None or content == "":
        return []
    if isinstance(content, list):
        return [_block(block) for block in content if block is not None]
    return [_block(content)]


def _block(block: Any) -> dict[str, Any]:
    if not isinstance(block, dict):
        return _text(block if isinstance(block, str) else encode_json(block).decode())
    if isinstance(block.get("functionCall"), dict):
        return _call(block["functionCall"])
    if isinstance(block.get("functionResponse"), dict):
        block = {**block["functionResponse"], "type": "function_call_output"}
    elif "type" not in block and isinstance(block.get("text"), str):
        block = {"type": "text", **block}
    return _typed(as_word(block.get("type")), block)


def _typed(kind: str, block: dict[str, Any]) -> dict[str, Any]:
    if kind in _TEXTS:
        return _text(str(block.get("text", block.get("refusal", ""))))
    if kind in _THOUGHTS:
        return {"type": "reasoning", "content": _thought(block)}
    if kind in _CALLS:
        return _call(block)
    if kind in _RESULTS:
        given = next((block[key] for key in ("content", "response", "output") if block.get(key) is not None), None)
        return _with_id({"type": "tool_call_response", "response": given}, block)
    if kind in _MEDIA:
        return _medium(_MEDIA[kind], block)
    return {**block, "type": kind or "unknown"}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    given = next((inner[key] for key in ("arguments", "args", "input") if inner.get(key) is not None), None)
    part = {"type": "tool_call", "name": str(inner.get("name") or "tool"), "arguments": parse_embedded(given)}
    return _with_id(part, call)


def _with_id(part: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    found = next((item[key] for key in ("call_id", "tool_call_id", "tool_use_id", "id") if item.get(key)), None)
    return {**part, "id": found} if isinstance(found, str) else part


def _thought(block: dict[str, Any]) -> str:
    for key in ("thinking", "text", "content", "summary", "data"):
        given = block.get(key)
        if isinstance(given, str):
            return given
        if isinstance(given, list) and given:
            return "\n".join(str(piece.get("text", "")) for piece in _dicts(given))
    return ""


def _medium(modality: str, block: dict[str, Any]) -> dict[str, Any]:
    """A picture or a sound: by its address, or as the bytes that were sent."""
    for key in ("image_url", "source", "input_audio", "audio"):
        given = block.get(key)
        address = given if isinstance(given, str) else given.get("url") if isinstance(given, dict) else None
        if isinstance(address, str):
            head, comma, content = address.partition(",")
            if head.startswith("data:") and comma:
                mime_type = head.removeprefix("data:").partition(";")[0]
                return {"type": "blob", "modality": modality, "mime_type": mime_type, "content": content}
            return {"type": "uri", "modality": modality, "uri": address}
        if isinstance(given, dict) and isinstance(given.get("data"), str):
            mime_type = str(given.get("media_type") or given.get("format") or "")
            return {"type": "blob", "modality": modality, "mime_type": mime_type, "content": given["data"]}
    return {**block, "type": str(block["type"])}


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
