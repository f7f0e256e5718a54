"""
A model's answer written as its provider sends it: OpenAI's chat completions and responses, Anthropic's messages,
Google's generateContent; whole, or as the events of a stream.

What was recorded is the form: ids, model and usage stay, the answer is another. A text takes the place of all that the
model said and asked for. `{"content": …, "tool_calls": [{"name", "arguments"}]}` gives tool calls too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.control.provider_streams import (
    chat_events,
    chat_whole,
    gemini_events,
    gemini_whole,
    messages_events,
    messages_whole,
    responses_events,
    responses_whole,
)
from agentdbg.control.value_paths import with_value
from agentdbg.exceptions import UsageError
from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["STATUSES", "answer_in_form", "http_fault", "new_answer"]

STATUSES = {"500": "Internal Server Error", "429": "Too Many Requests"}
_TIMEOUT = "ReadTimeout|ReadTimeoutError|SocketTimeoutError|ServerTimeoutError: timed out"
"""The class that a transport raises: httpx's, urllib3's or aiohttp's."""
_CUT = "RemoteProtocolError|ProtocolError|ClientPayloadError: the peer closed the connection before the body was whole"


class _Said(NamedTuple):
    """What the model is to have said."""

    text: str
    calls: list[dict[str, Any]]


def answer_in_form(
    request: dict[str, Any], outcome: dict[str, Any], path: Sequence[str | int], value: Any, *, append: bool = False
) -> dict[str, Any]:
    """
    The outcome of an HTTP exchange in which the model gave another answer.

    A path below `response` leads into the provider's own JSON (`choices[0].message.content`), or into what a model said
    in the form that every provider's answer is shown in (`content`, `tool_calls[0].arguments.amount`); a stream is
    edited as the whole answer it makes. Raises UsageError where that cannot be.
    """
    body = b"".join(outcome.get("chunks") or []).decode("utf-8", "replace")
    form = _form_of(str(request.get("url") or ""))
    if form is not None and not path and not 200 <= (outcome.get("status") or 0) < 300:
        return new_answer(request, value)  # the recorded request had failed, so there is no answer to follow
    is_stream = body.lstrip().startswith(("event:", "data:", ":"))
    events = _events(body) if is_stream else []
    if not is_stream:
        return _whole(outcome, _edited_body(form, _json(body), path, value, append=append))
    if form is None:
        raise UsageError("a streamed answer of this provider cannot be changed: its form is not known here")
    new = _edited_body(form, form.gathered(events), path, value, append=append)
    try:
        return _streamed(outcome, form.events(new, events), form)
    except (AttributeError, TypeError, ValueError):
        raise UsageError(f"that is no answer in the form of its provider: {json.dumps(value)[:200]}") from None


def _edited_body(form: _Form | None, body: Any, path: Sequence[str | int], value: Any, *, append: bool) -> Any:
    if isinstance(body, list) and len(body) == 1 and form is not None:  # Google's stream as one JSON list
        return [_edited_body(form, body[0], path, value, append=append)]
    is_text = len(path) == 1 and path[0] == "content" and isinstance(value, str)  # Anthropic's is a list
    if path and isinstance(body, dict) and path[0] in body and not is_text:
        return with_value(body, path, value, append=append)
    if form is None:
        keys = ", ".join(map(str, body)) if isinstance(body, dict) else "none"
        raise UsageError(f"the form of this answer is not known here; set one of its own parts, response.…: {keys}")
    if not path and not append:
        return form.whole(body, _said(value))
    known = form.said(body)
    shown: dict[str, Any] = {"content": known.text, "tool_calls": known.calls}
    if not path:
        return form.whole(body, _said(with_value({**shown}, ("content",), value, append=True)))
    if path[0] == "text":
        path = ("content", *path[1:])
    if path[0] not in shown:
        raise UsageError(f"there is no {path[0]!r} in this answer; there are: {', '.join([*shown, *body])}")
    return form.whole(body, _said(with_value(shown, path, value, append=append)))


def new_answer(request: dict[str, Any], value: Any) -> dict[str, Any]:
    """The outcome of an HTTP exchange in which the model gives this answer, without a recording to follow."""
    url, body = str(request.get("url") or ""), request.get("body")
    asked = body if isinstance(body, dict) else {}
    form = _form_of(url)
    if form is None:
        raise UsageError("what this provider answers is not known here, so it cannot be mocked; --fault works")
    whole = form.whole(form.start(str(asked.get("model") or "")), _said(value))
    if not _is_streamed(url, asked):
        return _whole(_EMPTY, whole)
    wants_usage = form.says_done and (asked.get("stream_options") or {}).get("include_usage")
    return _streamed(_EMPTY, form.events(whole, [{"usage": whole["usage"]}] if wants_usage else []), form)


def http_fault(request: dict[str, Any], what: str) -> dict[str, Any]:
    """What an outage of this kind gives to an HTTP exchange."""
    url, body = str(request.get("url") or ""), request.get("body")
    is_stream = _is_streamed(url, body if isinstance(body, dict) else {})
    begun = b'data: {"id": "ans' if is_stream else b'{"id": "ans'
    kind = "text/event-stream" if is_stream else "application/json"
    outcome: dict[str, Any] = {**_EMPTY, "headers": {"content-type": kind}}
    if what in STATUSES:
        error = (_form_of(url) or _CHAT).error(int(what), STATUSES[what])
        headers = {"content-type": "application/json", **({"retry-after": "1"} if what == "429" else {})}
        outcome |= {"status": int(what), "headers": headers, "chunks": [json.dumps(error).encode()]}
    elif what == "timeout":
        outcome |= {"status": None, "headers": {}, "cut": _TIMEOUT}
    elif what == "garbage":
        outcome["chunks"] = [begun + b"\n\n"]
    elif what == "cut":
        outcome |= {"chunks": [begun], "cut": _CUT}
    return {**outcome, "at": [0] * len(outcome["chunks"])}


def _is_streamed(url: str, body: dict[str, Any]) -> bool:
    return bool(body.get("stream")) or "streamGenerateContent" in url


_EMPTY: dict[str, Any] = {"status": 200, "headers": {}, "chunks": [], "at": [], "cut": None}


def _said(value: Any) -> _Said:
    if isinstance(value, dict) and ("content" in value or "tool_calls" in value):
        calls = value.get("tool_calls") or []
        return _Said(str(value.get("content") or ""), [call for call in calls if isinstance(call, dict)])
    return _Said(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), [])


class _Form(NamedTuple):
    whole: Callable[[Any, _Said], Any]
    """A body in which the model said this."""
    said: Callable[[Any], _Said]
    """What the model said in a body."""
    gathered: Callable[[list[Any]], dict[str, Any]]
    events: Callable[[dict[str, Any], list[Any]], list[Any]]
    start: Callable[[str], dict[str, Any]]
    """What surrounds an answer of this model."""
    error: Callable[[int, str], dict[str, Any]]
    names_events: bool = False
    says_done: bool = False


def _form_of(url: str) -> _Form | None:
    path = url.partition("?")[0].rstrip("/")
    if path.endswith("/responses"):
        return _RESPONSES
    if path.endswith(("/messages", ":rawPredict", ":streamRawPredict")):
        return _MESSAGES
    if path.endswith(("eneratecontent", "enerateContent")):
        return _GEMINI
    return _CHAT if path.endswith("/chat/completions") else None


# OpenAI's chat completions, and all that speak them.


def _start_chat(model: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {"id": "chatcmpl-mock", "object": "chat.completion", "created": 0, "model": model, "usage": usage}


def _openai_error(status: int, message: str) -> dict[str, Any]:
    kind, code = ("server_error", None) if status >= 500 else ("requests", "rate_limit_exceeded")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _whole_chat(body: Any, said: _Said) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.calls:
        message["tool_calls"] = [_chat_call(call, at) for at, call in enumerate(said.calls)]
    reason = "tool_calls" if said.calls else "stop"
    return {**body, "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}]}


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


def _start_responses(model: str) -> dict[str, Any]:
    usage: dict[str, Any] = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    asked = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {"id": "resp_mock", "object": "response", "created_at": 0, "model": model, **asked, "usage": usage}


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


# Anthropic's messages.


def _start_messages(model: str) -> dict[str, Any]:
    usage = {"input_tokens": 0, "output_tokens": 0}
    about = {"id": "msg_mock", "type": "message", "role": "assistant", "model": model, "usage": usage}
    return {**about, "stop_sequence": None}


def _anthropic_error(status: int, message: str) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": "api_error" if status >= 500 else "rate_limit_error", "message": message},
    }


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


# Google's generateContent.


def _start_gemini(model: str) -> dict[str, Any]:
    usage = {"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0}
    return {"usageMetadata": usage, "modelVersion": model or "mock"}


def _gemini_error(status: int, message: str) -> dict[str, Any]:
    code = "INTERNAL" if status >= 500 else "RESOURCE_EXHAUSTED"
    return {"error": {"code": status, "message": message, "status": code}}


def _whole_gemini(body: Any, said: _Said) -> Any:
    parts: list[dict[str, Any]] = [{"text": said.text}] if said.text or not said.calls else []
    for call in said.calls:
        arguments = call.get("arguments", {})
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
        parts.append({"functionCall": {"name": str(call.get("name")), "args": given}})
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    return {**body, "candidates": [candidate]}


def _said_chat(body: Any) -> _Said:
    message = (_at(body, "choices", 0) or {}).get("message") or {}
    calls = [
        {"id": call.get("id"), **_named(call.get("function") or {}, "arguments")}
        for call in message.get("tool_calls") or ()
    ]
    return _Said(str(message.get("content") or ""), calls)


def _said_responses(body: Any) -> _Said:
    items = body.get("output") or []
    parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or ()]
    calls = [{"id": item.get("call_id"), **_named(item)} for item in items if item.get("type") == "function_call"]
    return _Said("".join(str(part.get("text") or "") for part in parts), calls)


def _said_messages(body: Any) -> _Said:
    blocks = body.get("content") or []
    calls = [{"id": one.get("id"), **_named(one, "input")} for one in blocks if one.get("type") == "tool_use"]
    return _Said("".join(str(one.get("text") or "") for one in blocks if one.get("type") == "text"), calls)


def _said_gemini(body: Any) -> _Said:
    parts = ((_at(body, "candidates", 0) or {}).get("content") or {}).get("parts") or []
    calls = [_named(part["functionCall"], "args") for part in parts if "functionCall" in part]
    return _Said("".join(str(part.get("text") or "") for part in parts if not part.get("thought")), calls)


def _at(body: Any, key: str, place: int) -> Any:
    found = body.get(key) or []
    return found[place] if len(found) > place else None


def _named(call: dict[str, Any], key: str = "arguments") -> dict[str, Any]:
    """A tool call as it is shown: its name, and its arguments as JSON where they are JSON."""
    given = call.get(key)
    try:
        given = json.loads(given) if isinstance(given, str) else given
    except ValueError as error:
        pass_on(error)
    return {"name": call.get("name"), "arguments": given}


_CHAT = _Form(_whole_chat, _said_chat, chat_whole, chat_events, _start_chat, _openai_error, says_done=True)
_RESPONSES = _Form(
    _whole_responses,
    _said_responses,
    responses_whole,
    responses_events,
    _start_responses,
    _openai_error,
    names_events=True,
)
_MESSAGES = _Form(
    _whole_messages,
    _said_messages,
    messages_whole,
    messages_events,
    _start_messages,
    _anthropic_error,
    names_events=True,
)
_GEMINI = _Form(_whole_gemini, _said_gemini, gemini_whole, gemini_events, _start_gemini, _gemini_error)


# Bytes.


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError("what was recorded is not JSON, so no other answer can be written in its form") from None


def _events(text: str) -> list[Any]:
    """The JSON of each event of a stream."""
    found = []
    for line in text.splitlines():
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data.startswith("{"):
            found.append(_json(data))
    return found


def _whole(outcome: dict[str, Any], body: Any) -> dict[str, Any]:
    return _with_chunks(outcome, [json.dumps(body, ensure_ascii=False).encode()], "application/json")


def _streamed(outcome: dict[str, Any], events: list[Any], form: _Form) -> dict[str, Any]:
    chunks = []
    for event in events:
        head = f"event: {event['type']}\n" if form.names_events and "type" in event else ""
        chunks.append(f"{head}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode())
    return _with_chunks(outcome, [*chunks, b"data: [DONE]\n\n"] if form.says_done else chunks, "text/event-stream")


def _with_chunks(outcome: dict[str, Any], chunks: list[bytes], content_type: str) -> dict[str, Any]:
    """The outcome with another body; what described the old one's length and packing goes."""
    drop = ("content-length", "content-encoding", "transfer-encoding", "content-type")
    headers = {name: value for name, value in (outcome.get("headers") or {}).items() if name.lower() not in drop}
    headers["content-type"] = content_type
    return {**outcome, "status": 200, "headers": headers, "chunks": chunks, "at": [0] * len(chunks), "cut": None}
