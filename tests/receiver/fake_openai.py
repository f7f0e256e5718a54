"""A model provider on loopback that answers as OpenAI does: two turns of an agent, one of them streamed on request."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MODEL = "gpt-4o-2024-08-06"
USAGE = {
    "prompt_tokens": 90,
    "completion_tokens": 20,
    "total_tokens": 110,
    "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 8},
}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "find_order", "arguments": '{"order_id": 8812}'},
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            vector = {"object": "embedding", "index": 0, "embedding": [0.25, 0.5, 0.125]}
            usage = {"prompt_tokens": 4, "total_tokens": 4}
            self._answer({"object": "list", "data": [vector], "model": body["model"], "usage": usage})
        elif body["model"] == "nobody":
            self._answer({"error": {"message": "no such model", "type": "invalid_request_error"}}, 404)
        elif body.get("stream"):
            self._stream(_answer_to(body))
        else:
            self._answer(_answer_to(body))

    def _answer(self, value: Any, status: int = 200) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, answer: dict[str, Any]) -> None:
        choice = answer["choices"][0]
        base = {"id": answer["id"], "object": "chat.completion.chunk", "created": 1, "model": MODEL}
        words = choice["message"]["content"].split(" ")
        deltas = [{"role": "assistant", "content": ""}, *({"content": f"{word} "} for word in words[:-1])]
        chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in [*deltas, {"content": words[-1]}]]
        chunks.append({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]})
        told = [{**base, "choices": [chunk]} for chunk in chunks] + [{**base, "choices": [], "usage": answer["usage"]}]
        content = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in told) + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def _answer_to(body: dict[str, Any]) -> dict[str, Any]:
    asked_tool = any(message["role"] == "tool" for message in body["messages"])
    message: dict[str, Any] = {"role": "assistant", "content": "It left on Monday."}
    if not asked_tool:
        message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    reason = "stop" if asked_tool else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [choice],
        "usage": USAGE,
    }


@contextmanager
def fake_openai() -> Iterator[str]:
    """Serves while it is open; gives the base address for the client."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
