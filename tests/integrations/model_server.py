"""
A model on loopback that speaks every API: those of the examples' server, Google's, Bedrock's, Ollama's and Cohere's.

It tells the same story by the same `brain`, at any base path, counts its requests, and can compress its answers.
"""

from __future__ import annotations

import binascii
import gzip
import json
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING, Any

from examples.fake_openai_server import (
    _FORMATS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Answer,
    Request,
    _embeddings,
    weather,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ModelServer"]


_ENDINGS = {
    "generateContent",
    "streamGenerateContent",
    "converse",
    "converse-stream",
    "embedContent",
    "batchEmbedContents",
    "embed",
    "embeddings",
    "feature-extraction",
    "rerank",
    "chat",
    "completions",
    "responses",
    "messages",
}


class ModelServer:
    """The server, on a free port of 127.0.0.1, for as long as the block lasts."""

    def __init__(self, brain: Callable[[Request], Answer] = weather) -> None:
        self.brain = brain
        self.requests: list[Request] = []
        self.compresses = False
        self._numbers = count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def take(self, path: str, body: dict[str, Any]) -> tuple[Request, Answer]:
        request = _Request(path, body, next(self._numbers))
        self.requests.append(request)
        return request, self.brain(request)

    def __enter__(self) -> ModelServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Request(Request):
    @property
    def tool_results(self) -> list[str]:
        """What stands in the conversation for each tool that has answered."""
        told = json.dumps(self.body)
        marks = ('"functionResponse"', '"toolResult"', '"role": "tool"', '"tool_result"')
        return [mark for mark in marks for _ in range(told.count(mark))]


def _handler(server: ModelServer) -> type[_Handler]:
    return type("Handler", (_Handler,), {"fake": server})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        path = self.path.partition("?")[0]
        if path.rpartition("/")[2].rpartition(":")[2] not in _ENDINGS:
            self._send(b"{}", 404)
            return
        request, answer = self.fake.take(path, body)
        if answer.status != 200:
            told = {"error": {"message": answer.text, "code": answer.status}}
            self._send(json.dumps(told).encode(), answer.status)
            return
        kind, content = _answered(request, answer)
        if isinstance(content, bytes):
            self._send(content, kind=kind)
        else:
            self._stream(content, kind)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, data: bytes, status: int = 200, kind: str = "application/json") -> None:
        if self.fake.compresses:
            data = gzip.compress(data)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if self.fake.compresses:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, pieces: Iterator[bytes], kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for piece in pieces:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:  # the client had enough
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


def _answered(request: Request, answer: Answer) -> tuple[str, bytes | Iterator[bytes]]:
    """The content type, and the answer: whole, or in pieces."""
    ending = request.path.rpartition("/")[2].rpartition(":")[2]
    if ending in ("generateContent", "streamGenerateContent"):
        if ending == "generateContent":
            return "application/json", json.dumps(_google(answer, answer.text)).encode()
        return "text/event-stream", (f"data: {json.dumps(part)}\r\n\r\n".encode() for part in _google_parts(answer))
    if ending == "converse":
        return "application/json", json.dumps(_converse(request, answer)).encode()
    if ending == "converse-stream":
        return "application/vnd.amazon.eventstream", _converse_events(request, answer)
    if ending in ("embedContent", "batchEmbedContents", "embed", "feature-extraction", "rerank"):
        return "application/json", json.dumps(_numbers(ending, request)).encode()
    if request.path == "/api/chat":
        lines = [json.dumps(line).encode() + b"\n" for line in _ollama(request, answer)]
        return ("application/x-ndjson", iter(lines)) if request.body.get("stream") else ("application/json", lines[-1])
    if request.path == "/v2/chat":
        if request.body.get("stream"):
            return "text/event-stream", _cohere_events(request, answer)
        return "application/json", json.dumps(_cohere(request, answer)).encode()
    if request.path.endswith("/embeddings"):
        return "application/json", json.dumps({"id": "e", **_embeddings(request)}).encode()
    whole, events = _FORMATS[request.path[request.path.rindex("/v1") + 3 :]]
    if not request.streaming:
        return "application/json", json.dumps(whole(request, answer)).encode()
    return "text/event-stream", (_sse(name, content) for name, content in events(request, answer))


def _sse(name: str | None, content: Any) -> bytes:
    text = content if isinstance(content, str) else json.dumps(content)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


# Google.


def _google(answer: Answer, text: str, *, is_last: bool = True) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": text}] if text else []
    parts += [{"functionCall": {"name": name, "args": args}} for name, args in answer.calls]
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    response: dict[str, Any] = {"candidates": [candidate], "modelVersion": "gemini-x", "responseId": "r1"}
    if is_last:
        candidate["finishReason"] = "STOP"
        response["usageMetadata"] = {
            "promptTokenCount": INPUT_TOKENS,
            "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        }
    return response


def _google_parts(answer: Answer) -> Iterator[dict[str, Any]]:
    pieces = answer.pieces() or [""]
    for place, piece in enumerate(pieces):
        is_last = place == len(pieces) - 1
        yield _google(answer if is_last else Answer(), piece, is_last=is_last)


# Bedrock.


def _converse_usage() -> dict[str, int]:
    return {
        "inputTokens": INPUT_TOKENS,
        "outputTokens": OUTPUT_TOKENS,
        "totalTokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }


def _converse(request: Request, answer: Answer) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [{"text": answer.text}] if answer.text else []
    for place, (name, args) in enumerate(answer.calls):
        blocks.append({"toolUse": {"toolUseId": f"call_{request.number}_{place}", "name": name, "input": args}})
    return {
        "output": {"message": {"role": "assistant", "content": blocks}},
        "stopReason": "tool_use" if answer.calls else "end_turn",
        "usage": _converse_usage(),
        "metrics": {"latencyMs": 1},
    }


def _converse_events(request: Request, answer: Answer) -> Iterator[bytes]:
    yield _frame("messageStart", {"role": "assistant"})
    for piece in answer.pieces():
        yield _frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}})
    for place, (name, args) in enumerate(answer.calls, start=1):
        use = {"toolUseId": f"call_{request.number}_{place}", "name": name}
        yield _frame("contentBlockStart", {"contentBlockIndex": place, "start": {"toolUse": use}})
        text = json.dumps(args)
        for part in (text[:4], text[4:]):
            yield _frame("contentBlockDelta", {"contentBlockIndex": place, "delta": {"toolUse": {"input": part}}})
        yield _frame("contentBlockStop", {"contentBlockIndex": place})
    yield _frame("messageStop", {"stopReason": "tool_use" if answer.calls else "end_turn"})
    yield _frame("metadata", {"usage": _converse_usage(), "metrics": {"latencyMs": 1}})


def _frame(event_type: str, payload: dict[str, Any]) -> bytes:
    """One message of an AWS event stream."""
    pairs = ((":event-type", event_type), (":content-type", "application/json"), (":message-type", "event"))
    headers = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for name, value in pairs
    )
    data = json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(data), len(headers))
    prelude += struct.pack("!I", binascii.crc32(prelude))
    message = prelude + headers + data
    return message + struct.pack("!I", binascii.crc32(message))


# Ollama and Cohere.


def _ollama(request: Request, answer: Answer) -> Iterator[dict[str, Any]]:
    frame = {"model": request.model, "created_at": "2026-01-01T00:00:00Z"}
    calls = [{"function": {"name": name, "arguments": args}} for name, args in answer.calls]
    text = answer.text
    if request.body.get("stream"):
        for piece in answer.pieces():
            yield {**frame, "message": {"role": "assistant", "content": piece}, "done": False}
        text = ""
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    counts = {"prompt_eval_count": INPUT_TOKENS, "eval_count": OUTPUT_TOKENS, "total_duration": 1}
    yield {**frame, "message": message, "done": True, "done_reason": "stop", **counts}


def _cohere(request: Request, answer: Answer) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{request.number}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(args)},
        }
        for place, (name, args) in enumerate(answer.calls)
    ]
    message: dict[str, Any] = {"role": "assistant"}
    if answer.text:
        message["content"] = [{"type": "text", "text": answer.text}]
    if calls:
        message |= {"tool_calls": calls, "tool_plan": "I will look."}
    return {"id": "c1", "finish_reason": _cohere_reason(answer), "message": message, "usage": _cohere_usage()}


def _cohere_reason(answer: Answer) -> str:
    return "TOOL_CALL" if answer.calls else "COMPLETE"


def _cohere_usage() -> dict[str, Any]:
    return {
        "billed_units": {"input_tokens": 3, "output_tokens": 4},
        "tokens": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    }


def _cohere_events(request: Request, answer: Answer) -> Iterator[bytes]:
    def event(kind: str, **content: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **content})}\n\n".encode()

    yield event("message-start", id="c1", delta={"message": {"role": "assistant", "content": []}})
    yield event("content-start", index=0, delta={"message": {"content": {"type": "text", "text": ""}}})
    for piece in answer.pieces():
        yield event("content-delta", index=0, delta={"message": {"content": {"text": piece}}})
    yield event("content-end", index=0)
    yield event("message-end", delta={"finish_reason": _cohere_reason(answer), "usage": _cohere_usage()})


# Numbers.


def _numbers(ending: str, request: Request) -> Any:
    vector = [0.25, -0.5, 1.0]
    body = request.body
    if ending == "rerank":
        ranks = [{"index": place, "relevance_score": 0.5} for place in range(len(body["documents"]))]
        return {"id": "r", "results": ranks, "meta": {"billed_units": {"search_units": 1}}}
    if ending == "embedContent":
        return {"embedding": {"values": vector}}
    if ending == "batchEmbedContents":
        return {"embeddings": [{"values": vector} for _ in body["requests"]]}
    if ending == "feature-extraction":
        return [vector]
    if request.path.startswith("/api/"):
        return {"model": request.model, "embeddings": [vector], "prompt_eval_count": INPUT_TOKENS}
    return {
        "id": "e",
        "embeddings": {"float": [vector for _ in body["texts"]]},
        "texts": body["texts"],
        "meta": {"billed_units": {"input_tokens": INPUT_TOKENS}},
        "response_type": "embeddings_by_type",
    }
