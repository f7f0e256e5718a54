"""
A model's answer written as its provider sends it: OpenAI's chat completions and responses, Anthropic's messages,
Google's generateContent; whole, or as the events of a stream.

What was recorded is the form: ids, model and usage stay, the answer is another. A text takes the place of all that the
model said and asked for. `{"content": …, "tool_calls": [{"name", "arguments"}]}` gives tool calls too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.control.value_paths import with_value
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["answer_in_form"]


class _Said(NamedTuple):
    """What the model is to have said."""

    text: str
    calls: list[dict[str, Any]]


def answer_in_form(
    request: dict[str, Any], outcome: dict[str, Any], path: Sequence[str | int], value: Any
) -> dict[str, Any]:
    """
    The outcome of an HTTP exchange in which the model gave another answer.

    With a path below `response` the provider's own JSON is edited there. Raises UsageError where that cannot be.
    """
    body = b"".join(outcome.get("chunks") or []).decode("utf-8", "replace")
    is_stream = body.lstrip().startswith(("event:", "data:"))
    if path:
        if is_stream:
            raise UsageError('a streamed answer can only be set as a whole: response="…"')
        return _whole(outcome, with_value(_json(body), path, value))
    said = _said(value)
    form = _form_of(str(request.get("url") or ""))
    events = _events(body) if is_stream else []
    if is_stream:
        return _streamed(outcome, form.stream(events, said), named=form.names_events, done=form.says_done)
    return _whole(outcome, form.whole(_json(body), said))


def _said(value: Any) -> _Said:
    if isinstance(value, dict) and ("content" in value or "tool_calls" in value):
        calls = value.get("tool_calls") or []
        return _Said(str(value.get("content") or ""), [call for call in calls if isinstance(call, dict)])
    return _Said(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), [])


class _Form(NamedTuple):
    whole: Callable[[Any, _Said], Any]
    stream: Callable[[list[Any], _Said], list[Any]]
    names_events: bool = False
    says_done: bool = False


def _form_of(url: str) -> _Form:
    path = url.partition("?")[0]
    if path.endswith("/responses"):
        return _Form(_whole_responses, _stream_responses, names_events=True)
    if path.endswith("/messages"):
        return _Form(_whole_messages, _stream_messages, names_events=True)
    if "generateContent" in path or "GenerateContent" in path:
        return _Form(_whole_gemini, lambda events, said: [_whole_gemini(events[-1] if events else {}, said)])
    return _Form(_whole_chat, _stream_chat, says_done=True)


# OpenAI's chat completions, and all that speak them.


def _whole_chat(body: Any, said: _Said) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.calls:
        message["tool_calls"] = [_chat_call(call, at) for at, call in enumerate(said.calls)]
    reason = "tool_calls" if said.calls else "stop"
    return {**body, "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}]}


def _stream_chat(events: list[Any], said: _Said) -> list[Any]:
    form = {key: value for key, value in (events[0] if events else {}).items() if key not in ("choices", "usage")}
    delta: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.calls:
        delta["tool_calls"] = [{"index": at, **_chat_call(call, at)} for at, call in enumerate(said.calls)]
    reason = "tool_calls" if said.calls else "stop"
    pieces = [
        {**form, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**form, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
    ]
    return [*pieces, *(event for event in events if event.get("usage") and not event.get("choices"))]


def _chat_call(call: dict[str, Any], at: int) -> dict[str, Any]:
    return {
        "id": str(call.get("id") or f"call_edited_{at}"),
        "type": "function",
        "function": {"name": str(call.get("name")), "arguments": _arguments_text(call)},
    }


def _arguments_text(call: dict[str, Any]) -> str:
    arguments = call.get("arguments", {})
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


# OpenAI's responses.


def _whole_responses(body: Any, said: _Said) -> Any:
    return {**body, "output": _response_items(said), "status": "completed"}


def _response_items(said: _Said) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.text or not said.calls:
        part = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        items.append(
            {"id": "msg_edited", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        )
    for at, call in enumerate(said.calls):
        items.append(
            {
                "id": f"fc_edited_{at}",
                "type": "function_call",
                "call_id": str(call.get("id") or f"call_edited_{at}"),
                "name": str(call.get("name")),
                "arguments": _arguments_text(call),
                "status": "completed",
            }
        )
    return items


def _stream_responses(events: list[Any], said: _Said) -> list[Any]:
    created, completed = _event_of(events, "response.created"), _event_of(events, "response.completed")
    response = completed.get("response") or created.get("response") or {}
    found: list[dict[str, Any]] = [{"type": "response.created", "response": created.get("response", response)}]
    for at, item in enumerate(_response_items(said)):
        empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        begun = {**item, "status": "in_progress", **empty}
        found.append({"type": "response.output_item.added", "output_index": at, "item": begun})
        where = {"item_id": item["id"], "output_index": at}
        if item["type"] == "message":
            part = item["content"][0]
            place = {**where, "content_index": 0}
            found += [
                {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
                {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []},
                {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []},
                {"type": "response.content_part.done", **place, "part": part},
            ]
        else:
            arguments = item["arguments"]
            found += [
                {"type": "response.function_call_arguments.delta", **where, "delta": arguments},
                {
                    "type": "response.function_call_arguments.done",
                    **where,
                    "arguments": arguments,
                    "name": item["name"],
                },
            ]
        found.append({"type": "response.output_item.done", "output_index": at, "item": item})
    found.append({"type": "response.completed", "response": _whole_responses(response, said)})
    return [{**event, "sequence_number": at} for at, event in enumerate(found)]


# Anthropic's messages.


def _whole_messages(body: Any, said: _Said) -> Any:
    return {**body, "content": _blocks(said), "stop_reason": "tool_use" if said.calls else "end_turn"}


def _blocks(said: _Said) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text or not said.calls else []
    for at, call in enumerate(said.calls):
        arguments = call.get("arguments", {})
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
        block = {"type": "tool_use", "id": str(call.get("id") or f"toolu_edited_{at}"), "name": str(call.get("name"))}
        blocks.append({**block, "input": given})
    return blocks


def _stream_messages(events: list[Any], said: _Said) -> list[Any]:
    start, told = _event_of(events, "message_start"), _event_of(events, "message_delta")
    found: list[dict[str, Any]] = [{**start, "type": "message_start"}]
    for at, block in enumerate(_blocks(said)):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            text = json.dumps(block["input"], ensure_ascii=False)
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": text}
        found += [
            {"type": "content_block_start", "index": at, "content_block": empty},
            {"type": "content_block_delta", "index": at, "delta": delta},
            {"type": "content_block_stop", "index": at},
        ]
    ended = {"stop_reason": "tool_use" if said.calls else "end_turn", "stop_sequence": None}
    usage = told.get("usage") or {"output_tokens": 0}
    return [*found, {"type": "message_delta", "delta": ended, "usage": usage}, {"type": "message_stop"}]


# Google's generateContent.


def _whole_gemini(body: Any, said: _Said) -> Any:
    parts: list[dict[str, Any]] = [{"text": said.text}] if said.text or not said.calls else []
    for call in said.calls:
        arguments = call.get("arguments", {})
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
        parts.append({"functionCall": {"name": str(call.get("name")), "args": given}})
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {**body, "candidates": [candidate]}


# Bytes.


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError("what was recorded is no JSON, so no other answer can be written in its form") from None


def _events(text: str) -> list[Any]:
    """The JSON of each event of a stream."""
    found = []
    for line in text.splitlines():
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data.startswith("{"):
            found.append(_json(data))
    return found


def _event_of(events: list[Any], kind: str) -> dict[str, Any]:
    return next((event for event in events if event.get("type") == kind), {})


def _whole(outcome: dict[str, Any], body: Any) -> dict[str, Any]:
    return _with_chunks(outcome, [json.dumps(body, ensure_ascii=False).encode()])


def _streamed(outcome: dict[str, Any], events: list[Any], *, named: bool, done: bool) -> dict[str, Any]:
    chunks = []
    for event in events:
        head = f"event: {event['type']}\n" if named and "type" in event else ""
        chunks.append(f"{head}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode())
    return _with_chunks(outcome, [*chunks, b"data: [DONE]\n\n"] if done else chunks)


def _with_chunks(outcome: dict[str, Any], chunks: list[bytes]) -> dict[str, Any]:
    """The outcome with another body; what described the old one's length and packing goes."""
    drop = ("content-length", "content-encoding", "transfer-encoding")
    headers = [pair for pair in outcome.get("headers") or [] if str(pair[0]).lower() not in drop]
    return {**outcome, "status": 200, "headers": headers, "chunks": chunks, "at": [0] * len(chunks), "cut": None}
