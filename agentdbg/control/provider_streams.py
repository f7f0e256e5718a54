"""
A model's streamed answer and the whole one, each made of the other, for OpenAI's chat completions and responses,
Anthropic's messages and Google's generateContent.

A stream is gathered into the body that the provider would have sent at once; that is edited; and it is sent as a stream
again, each text and each tool call in one piece. What was recorded says how: ids, and where the usage stands.
"""

from __future__ import annotations

import json
from typing import Any

from agentdbg.faults import pass_on

__all__ = [
    "chat_events",
    "chat_whole",
    "gemini_events",
    "gemini_whole",
    "messages_events",
    "messages_whole",
    "responses_events",
    "responses_whole",
]

_ENDS = {"incomplete": "response.incomplete", "failed": "response.failed"}
_DELTAS = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}


# OpenAI's chat completions, and all that speak them.


def chat_whole(events: list[Any]) -> dict[str, Any]:
    """The completion that these chunks make."""
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for event in events:
        whole |= {key: value for key, value in event.items() if key != "choices" and value is not None}
        for choice in event.get("choices") or ():
            found = choices.setdefault(choice.get("index", 0), {"index": choice.get("index", 0), "message": {}})
            found["message"] = _merged(found["message"], choice.get("delta") or {})
            found |= {key: choice[key] for key in ("finish_reason", "logprobs") if choice.get(key) is not None}
    for choice in choices.values():
        for call in choice["message"].get("tool_calls") or ():
            call.pop("index", None)
    ordered = [{"finish_reason": "stop", **choices[index]} for index in sorted(choices)]
    return {**whole, "object": "chat.completion", "choices": ordered}


def _merged(known: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """A message with one more piece: texts grow, tool calls are found by their index."""
    message = dict(known)
    for key, piece in delta.items():
        before = message.get(key)
        if key == "tool_calls" and isinstance(piece, list):
            calls = {call.get("index", at): call for at, call in enumerate(before or [])}
            for at, call in enumerate(piece):
                index = call.get("index", at)
                calls[index] = _merged(calls.get(index, {}), call)
            message[key] = list(calls.values())
        elif isinstance(before, str) and isinstance(piece, str) and key not in ("role", "id", "type"):
            message[key] = before + piece
        elif isinstance(before, dict) and isinstance(piece, dict):
            message[key] = _merged(before, piece)
        elif piece is not None or key not in message:
            message[key] = piece
    return message


def chat_events(whole: dict[str, Any], recorded: list[Any]) -> list[Any]:
    """The chunks of a completion. The usage stands where it stood: with the last choice, alone, or nowhere."""
    form = {key: value for key, value in whole.items() if key not in ("choices", "usage")}
    form["object"] = "chat.completion.chunk"
    pieces: list[Any] = []
    for choice in whole.get("choices") or ():
        index, message = choice.get("index", 0), dict(choice.get("message") or {})
        if message.get("tool_calls"):
            message["tool_calls"] = [{"index": at, **call} for at, call in enumerate(message["tool_calls"])]
        first = {"index": index, "delta": message, "finish_reason": None, "logprobs": choice.get("logprobs")}
        last = {"index": index, "delta": {}, "finish_reason": choice.get("finish_reason"), "logprobs": None}
        pieces += [{**form, "choices": [first]}, {**form, "choices": [last]}]
    told = [event for event in recorded if event.get("usage")]
    if told and told[-1].get("choices") and pieces:
        pieces[-1]["usage"] = whole.get("usage")
    elif told:
        pieces.append({**form, "choices": [], "usage": whole.get("usage")})
    return pieces


# OpenAI's responses.


def responses_whole(events: list[Any]) -> dict[str, Any]:
    """The response that these events make."""
    known = [event["response"] for event in events if isinstance(event.get("response"), dict)]
    whole = dict(known[-1]) if known else {}
    if not whole.get("output"):
        whole["output"] = [event["item"] for event in events if event.get("type") == "response.output_item.done"]
    return whole


def responses_events(whole: dict[str, Any], recorded: list[Any]) -> list[Any]:
    """The events of a response."""
    begun = _first(recorded, "response.created").get("response") or {
        **whole,
        "status": "in_progress",
        "output": [],
        "usage": None,
    }
    found: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for at, item in enumerate(whole.get("output") or ()):
        empty = {key: [] if key != "arguments" else "" for key in ("content", "summary", "arguments") if item.get(key)}
        begun_item = {**item, **empty, **({"status": "in_progress"} if "status" in item else {})}
        found.append({"type": "response.output_item.added", "output_index": at, "item": begun_item})
        found += _item_events(item, {"item_id": item.get("id"), "output_index": at})
        found.append({"type": "response.output_item.done", "output_index": at, "item": item})
    ended = _ENDS.get(str(whole.get("status")), "response.completed")
    found.append({"type": ended, "response": whole})
    return [{**event, "sequence_number": at} for at, event in enumerate(found)]


def _item_events(item: dict[str, Any], where: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if item.get("type") == "function_call":
        arguments = str(item.get("arguments") or "")
        done = {"arguments": arguments, "name": item.get("name")}
        found.append({"type": "response.function_call_arguments.delta", **where, "delta": arguments})
        found.append({"type": "response.function_call_arguments.done", **where, **done})
    for at, part in enumerate(item.get("content") or () if item.get("type") == "message" else ()):
        key = "refusal" if part.get("type") == "refusal" else "text"
        name = "response.refusal" if key == "refusal" else "response.output_text"
        place, text = {**where, "content_index": at}, str(part.get(key) or "")
        more: dict[str, Any] = {} if key == "refusal" else {"logprobs": []}
        found += [
            {"type": "response.content_part.added", **place, "part": {**part, key: ""}},
            {"type": f"{name}.delta", **place, "delta": text, **more},
            {"type": f"{name}.done", **place, key: text, **more},
            {"type": "response.content_part.done", **place, "part": part},
        ]
    for at, part in enumerate(item.get("summary") or ()):
        place, text = {**where, "summary_index": at}, str(part.get("text") or "")
        found += [
            {"type": "response.reasoning_summary_part.added", **place, "part": {**part, "text": ""}},
            {"type": "response.reasoning_summary_text.delta", **place, "delta": text},
            {"type": "response.reasoning_summary_text.done", **place, "text": text},
            {"type": "response.reasoning_summary_part.done", **place, "part": part},
        ]
    return found


# Anthropic's messages.


def messages_whole(events: list[Any]) -> dict[str, Any]:
    """The message that these events make."""
    whole = dict(_first(events, "message_start").get("message") or {})
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        if event.get("type") == "content_block_start":
            blocks[event.get("index", len(blocks))] = dict(event.get("content_block") or {})
        elif event.get("type") == "content_block_delta":
            _add_delta(blocks.setdefault(event.get("index", 0), {}), event.get("delta") or {})
        elif event.get("type") == "message_delta":
            whole |= event.get("delta") or {}
            whole["usage"] = {**(whole.get("usage") or {}), **(event.get("usage") or {})}
    for block in blocks.values():
        if (text := block.pop("partial_json", None)) is not None:
            block["input"] = _json_or(text, block.get("input"))
    return {**whole, "content": [blocks[index] for index in sorted(blocks)]}


def _add_delta(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if delta.get("type") == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
        return
    for key in ("text", "thinking", "signature", "partial_json"):
        if isinstance(delta.get(key), str):
            block[key] = (block.get(key) or "") + delta[key]


def _json_or(text: str, default: Any) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError as error:
        pass_on(error)
        return default


def messages_events(whole: dict[str, Any], recorded: list[Any]) -> list[Any]:
    """The events of a message."""
    began = _first(recorded, "message_start").get("message") or {}
    told = _first(recorded, "message_delta")
    usage = whole.get("usage") or {}
    at_start = {key: usage.get(key, value) for key, value in (began.get("usage") or usage).items()}
    at_start["output_tokens"] = (began.get("usage") or {}).get("output_tokens", 0)
    begun = {**whole, "content": [], "stop_reason": None, "stop_sequence": None, "usage": at_start}
    found: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for at, block in enumerate(whole.get("content") or ()):
        found += _block_events(block, at)
    ended = {**(told.get("delta") or {}), **{key: whole.get(key) for key in ("stop_reason", "stop_sequence")}}
    at_end = {key: usage.get(key, value) for key, value in (told.get("usage") or {}).items()}
    at_end["output_tokens"] = usage.get("output_tokens", 0)
    return [*found, {"type": "message_delta", "delta": ended, "usage": at_end}, {"type": "message_stop"}]


def _block_events(block: dict[str, Any], at: int) -> list[dict[str, Any]]:
    kind = str(block.get("type"))
    empty, deltas = dict(block), []
    if kind in _DELTAS:
        name, key = _DELTAS[kind]
        deltas.append({"type": name, key: str(block.get(key) or "")})
        empty[key] = ""
        deltas += [{"type": "citations_delta", "citation": one} for one in block.get("citations") or ()]
        if empty.pop("signature", None) is not None:
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            empty["signature"] = ""
    elif "input" in block:
        deltas.append({"type": "input_json_delta", "partial_json": json.dumps(block["input"], ensure_ascii=False)})
        empty["input"] = {}
    return [
        {"type": "content_block_start", "index": at, "content_block": empty},
        *({"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": at},
    ]


# Google's generateContent.


def gemini_whole(events: list[Any]) -> dict[str, Any]:
    """The response that these make, each a response with the next parts."""
    whole: dict[str, Any] = {}
    candidates: dict[int, dict[str, Any]] = {}
    for event in events:
        whole |= {key: value for key, value in event.items() if key != "candidates"}
        for candidate in event.get("candidates") or ():
            known = candidates.setdefault(candidate.get("index", 0), {})
            parts = [*((known.get("content") or {}).get("parts") or [])]
            for part in (candidate.get("content") or {}).get("parts") or ():
                _add_part(parts, part)
            known |= candidate
            known["content"] = {"role": "model", **(candidate.get("content") or {}), "parts": parts}
    return {**whole, "candidates": [candidates[index] for index in sorted(candidates)]}


def _add_part(parts: list[Any], part: dict[str, Any]) -> None:
    last = parts[-1] if parts else {}
    if "text" in part and "text" in last and part.get("thought") == last.get("thought"):
        parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
    else:
        parts.append(part)


def gemini_events(whole: dict[str, Any], _: list[Any]) -> list[Any]:
    """The whole response is a stream of one."""
    return [whole]


def _first(events: list[Any], kind: str) -> dict[str, Any]:
    return next((event for event in events if event.get("type") == kind), {})
