"""A collector in this process: takes OTLP over HTTP, keeps every span, and answers as a test tells it to."""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


@dataclass
class Answer:
    """What to say to one request instead of 200."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    keeps: bool = False
    """Whether the spans are kept although the answer sounds otherwise."""


@dataclass
class Received:
    """One span as it arrived, in plain values."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    status: str
    message: str
    events: list[tuple[str, int, dict[str, Any]]]
    resource: dict[str, Any]

    @property
    def operation(self) -> str:
        return str(self.attributes.get("gen_ai.operation.name", ""))


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A push that was killed leaves half a request behind; that is the test's intention."""


class Collector:
    """Listens on loopback until it is closed. `spans` are all that were kept, in the order they came."""

    def __init__(self) -> None:
        self.spans: list[Received] = []
        self.requests: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: list[Answer] = []
        self.most_spans: int | None = None
        """What a request may hold before it is answered with 413."""
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def by_name(self) -> dict[str, Received]:
        return {span.name: span for span in self.spans}

    def only(self, name: str) -> Received:
        found = [span for span in self.spans if span.name == name]
        assert len(found) == 1, f"{len(found)} spans are called {name!r}: {[span.name for span in self.spans]}"
        return found[0]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        request = ExportTraceServiceRequest()
        request.ParseFromString(gzip.decompress(body))
        with self._lock:
            self.paths.append(path)
            self.requests.append(headers)
            found = read_request(request)
            if self.most_spans is not None and len(found) > self.most_spans:
                return Answer(413)
            answer = self.answers.pop(0) if self.answers else Answer(200, keeps=True)
            if answer.keeps:
                self.spans += found
            return answer

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = collector.take(self.path, {key.lower(): value for key, value in self.headers.items()}, body)
                self.send_response(answer.status)
                for key, value in answer.headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def partial_success(rejected: int, why: str) -> Answer:
    """200, with some spans not taken."""
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = rejected
    answer.partial_success.error_message = why
    return Answer(200, answer.SerializeToString(), keeps=True)


def read_request(request: Any) -> list[Received]:
    """Every span of a request."""
    return [
        _received(span, values_of(of_resource.resource.attributes))
        for of_resource in request.resource_spans
        for of_scope in of_resource.scope_spans
        for span in of_scope.spans
    ]


def _received(span: Any, resource: dict[str, Any]) -> Received:
    return Received(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        values_of(span.attributes),
        Status.StatusCode.Name(span.status.code).removeprefix("STATUS_CODE_"),
        span.status.message,
        [(event.name, event.time_unix_nano, values_of(event.attributes)) for event in span.events],
        resource,
    )


def values_of(attributes: Any) -> dict[str, Any]:
    """Attributes as a dict; one key twice would be lost here, so it is refused."""
    keys = [pair.key for pair in attributes]
    assert len(keys) == len(set(keys)), f"an attribute stands there twice: {sorted(keys)}"
    return {pair.key: _value(pair.value) for pair in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind)
