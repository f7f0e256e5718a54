"""
A model that lives on this machine: answers like OpenAI (Chat Completions, Responses, embeddings) and Anthropic.

    with FakeServer() as server:
        client = OpenAI(base_url=server.openai_url, api_key="none")

What it says is decided by a function from a `Request` to an `Answer`; `weather` is the one the examples use: it asks
for the weather in two cities at once, then sums up. Streaming works the way the real servers do it. Every request is
kept in `server.requests`, so that a test can count them. Only the standard library is used, only loopback is served.

    python examples/fake_openai_server.py      prints the addresses and serves until Ctrl-C
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Answer", "FakeServer", "Request", "weather"]

INPUT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS, REASONING_TOKENS = 20, 5, 7, 2


@dataclass(frozen=True)
class Request:
    """What a client asked, in the words all three APIs share."""

    path: str
    body: dict[str, Any]
    number: int
    """The how manieth request of this server it is, from 1."""

    @property
    def streaming(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def model(self) -> str:
        return str(self.body.get("model", "unknown"))

    @property
    def tool_results(self) -> list[str]:
        """What the tools called so far in this conversation gave back."""
        return list(_tool_results(self.body.get("messages") or self.body.get("input") or []))


@dataclass(frozen=True)
class Answer:
    """What the model says: words, tools it wants called, or an HTTP error."""

    text: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    thinking: str = ""
    status: int = 200
    delay_s: float = 0.0

    def pieces(self) -> list[str]:
        """The words as a stream brings them."""
        return [word + " " for word in self.text.split(" ")[:-1]] + [self.text.split(" ")[-1]] if self.text else []


def weather(request: Request) -> Answer:
    """Ask for the weather in Oslo and Lima at once; then say what the tools said."""
    if not request.tool_results:
        return Answer(calls=[("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lima"})])
    return Answer(text="It is 3 degrees in Oslo and 22 degrees in Lima.")


class FakeServer:
    """The server, on a free port of 127.0.0.1, for as long as the block lasts."""

    def __init__(self, brain: Callable[[Request], Answer] = weather) -> None:
        self.brain = brain
        self.requests: list[Request] = []
        self._numbers = count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def openai_url(self) -> str:
        """The `base_url` of an OpenAI client."""
        return f"{self.address}/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` of an Anthropic client."""
        return self.address

    def take(self, path: str, body: dict[str, Any]) -> tuple[Request, Answer]:
        """Count a request and decide on its answer."""
        request = Request(path, body, next(self._numbers))
        self.requests.append(request)
        return request, self.brain(request)

    def __enter__(self) -> FakeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(fake: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request, answer = fake.take(self.path.partition("?")[0], body)
            time.sleep(answer.delay_s)
            if answer.status != 200:
                self._send_json({"error": {"message": answer.text, "type": "fake_error"}}, answer.status)
            elif request.path.endswith("/embeddings"):
                self._send_json(_embeddings(request))
            else:
                whole, events = _FORMATS[request.path.removeprefix("/v1")]
                if request.streaming:
                    self._send_events(events(request, answer))
                else:
                    self._send_json(whole(request, answer))

        def _send_json(self, content: dict[str, Any], status: int = 200) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status >= 400:
                self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(data)

        def _send_events(self, events: Iterator[tuple[str | None, Any]]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                for name, content in events:
                    text = content if isinstance(content, str) else json.dumps(content)
                    prefix = f"event: {name}\n" if name else ""
                    self.wfile.write(f"{prefix}data: {text}\n\n".encode())
                    self.wfile.flush()
            except OSError:  # the client had enough
                pass

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _tool_results(messages: Any) -> Iterator[str]:
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict):
            continue
        if message.get("role") == "tool":
            yield str(message.get("content"))
        elif message.get("type") == "function_call_output":
            yield str(message.get("output"))
        elif isinstance(message.get("content"), list):
            for block in message["content"]:
                if block.get("type") == "tool_result":
                    yield str(block.get("content"))


# OpenAI, Chat Completions.


def _chat(request: Request, answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _chat_calls(request, answer)
    choice = {"index": 0, "message": message, "finish_reason": _chat_reason(answer), "logprobs": None}
    return {**_chat_frame(request, "chat.completion"), "choices": [choice], "usage": _chat_usage()}


def _chat_events(request: Request, answer: Answer) -> Iterator[tuple[str | None, Any]]:
    frame = _chat_frame(request, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], reason: str | None = None) -> tuple[str | None, Any]:
        return None, {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in answer.pieces():
        yield chunk({"content": piece})
    for index, call in enumerate(_chat_calls(request, answer)):
        arguments = call["function"]["arguments"]
        opening = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        yield chunk({"tool_calls": [opening]})
        for part in (arguments[:5], arguments[5:]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield chunk({}, _chat_reason(answer))
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield None, {**frame, "choices": [], "usage": _chat_usage()}
    yield None, "[DONE]"


def _chat_frame(request: Request, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{request.number}", "object": kind, "created": 1_700_000_000, "model": request.model}


def _chat_calls(request: Request, answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{request.number}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(answer.calls)
    ]


def _chat_reason(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _chat_usage() -> dict[str, Any]:
    return {
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "completion_tokens_details": {"reasoning_tokens": REASONING_TOKENS},
    }


def _completion(request: Request, answer: Answer) -> dict[str, Any]:
    choice = {"index": 0, "text": answer.text, "finish_reason": "stop", "logprobs": None}
    return {**_chat_frame(request, "text_completion"), "choices": [choice], "usage": _chat_usage()}


def _completion_events(request: Request, answer: Answer) -> Iterator[tuple[str | None, Any]]:
    for piece in answer.pieces():
        choice = {"index": 0, "text": piece, "finish_reason": None}
        yield None, {**_chat_frame(request, "text_completion"), "choices": [choice]}
    yield None, "[DONE]"


def _embeddings(request: Request) -> dict[str, Any]:
    given = request.body.get("input")
    texts = given if isinstance(given, list) else [given]
    vectors = [{"object": "embedding", "index": index, "embedding": [0.25, -0.5, 1.0]} for index in range(len(texts))]
    usage = {"prompt_tokens": INPUT_TOKENS, "total_tokens": INPUT_TOKENS}
    return {"object": "list", "model": request.model, "data": vectors, "usage": usage}


# OpenAI, Responses.


def _response(request: Request, answer: Answer, status: str = "completed") -> dict[str, Any]:
    done = status == "completed"
    return {
        "id": f"resp_{request.number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "model": request.model,
        "output": _response_items(request, answer) if done else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": _response_usage() if done else None,
    }


def _response_items(request: Request, answer: Answer) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        message = {"type": "message", "id": f"msg_{request.number}", "role": "assistant", "status": "completed"}
        items.append({**message, "content": content})
    for index, (name, arguments) in enumerate(answer.calls):
        identity = {"id": f"fc_{request.number}_{index}", "call_id": f"call_{request.number}_{index}"}
        call = {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "status": "completed"}
        items.append({**call, **identity})
    return items


def _response_events(request: Request, answer: Answer) -> Iterator[tuple[str | None, Any]]:
    numbers = count()

    def event(kind: str, **content: Any) -> tuple[str, Any]:
        return kind, {"type": kind, "sequence_number": next(numbers), **content}

    yield event("response.created", response=_response(request, answer, "in_progress"))
    for index, item in enumerate(_response_items(request, answer)):
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            empty = {"type": "output_text", "text": "", "annotations": []}
            yield event("response.output_item.added", output_index=index, item={**item, "content": []})
            yield event("response.content_part.added", **place, content_index=0, part=empty)
            for piece in answer.pieces():
                yield event("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
            text = {"content_index": 0, "text": answer.text, "logprobs": []}
            yield event("response.output_text.done", **place, **text)
            yield event("response.content_part.done", **place, content_index=0, part=item["content"][0])
        else:
            yield event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
            yield event("response.function_call_arguments.delta", **place, delta=item["arguments"])
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield event("response.function_call_arguments.done", **place, **done)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=_response(request, answer))


def _response_usage() -> dict[str, Any]:
    return {
        "input_tokens": INPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": CACHED_TOKENS, "cache_write_tokens": 0},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": REASONING_TOKENS},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }


# Anthropic, Messages.


def _message(request: Request, answer: Answer) -> dict[str, Any]:
    return {
        **_message_frame(request),
        "content": _message_blocks(request, answer),
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "usage": _message_usage(OUTPUT_TOKENS),
    }


def _message_frame(request: Request) -> dict[str, Any]:
    identity = {"id": f"msg_{request.number}", "type": "message", "role": "assistant", "model": request.model}
    return {**identity, "content": [], "stop_reason": None, "stop_sequence": None, "usage": _message_usage(1)}


def _message_blocks(request: Request, answer: Answer) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if answer.thinking:
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": "c2lnbmVk"})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for index, (name, arguments) in enumerate(answer.calls):
        identity = {"id": f"call_{request.number}_{index}", "name": name}
        blocks.append({"type": "tool_use", **identity, "input": arguments})
    return blocks


def _message_events(request: Request, answer: Answer) -> Iterator[tuple[str | None, Any]]:
    yield "message_start", {"type": "message_start", "message": _message_frame(request)}
    for index, block in enumerate(_message_blocks(request, answer)):
        empty, deltas = _block_stream(block, answer)
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    reason = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": reason, "usage": {"output_tokens": OUTPUT_TOKENS}}
    yield "message_stop", {"type": "message_stop"}


def _block_stream(block: dict[str, Any], answer: Answer) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in answer.pieces()]
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, "thinking": "", "signature": ""}, deltas
    arguments = json.dumps(block["input"])
    parts = [{"type": "input_json_delta", "partial_json": part} for part in (arguments[:5], arguments[5:])]
    return {**block, "input": {}}, parts


def _message_usage(output_tokens: int) -> dict[str, Any]:
    # This API counts what came from the cache beside the input, not inside it.
    cached = {"cache_read_input_tokens": CACHED_TOKENS, "cache_creation_input_tokens": 0}
    return {"input_tokens": INPUT_TOKENS - CACHED_TOKENS, **cached, "output_tokens": output_tokens}


_FORMATS: dict[str, tuple[Callable[..., dict[str, Any]], Callable[..., Iterator[tuple[str | None, Any]]]]] = {
    "/chat/completions": (_chat, _chat_events),
    "/completions": (_completion, _completion_events),
    "/responses": (_response, _response_events),
    "/messages": (_message, _message_events),
}


if __name__ == "__main__":
    with FakeServer() as running:
        print(f"OpenAI:    OPENAI_BASE_URL={running.openai_url} OPENAI_API_KEY=none")
        print(f"Anthropic: ANTHROPIC_BASE_URL={running.anthropic_url} ANTHROPIC_API_KEY=none")
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
