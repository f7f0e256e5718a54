"""
How many spans a second the receiver takes: `python -m benchmarks.receive_speed`.

A receiver in a process of its own, on loopback, and one sender that posts as exporters do: agents of model calls and
tool calls around a root, with messages of a kilobyte or so. What is counted is what is on disk when it was
acknowledged. On a busy machine look at the receiver's own time for each span, which depends less on who else is at
work.

Where files are made counts too. For minutes after many files were deleted, ext4 takes ten times as long to make one
nearby, because it does not give a number out again so soon. So nothing is deleted before the end, and the folder is
made where that file system puts folders that have nothing to do with each other.
"""

from __future__ import annotations

import array
import base64
import contextlib
import gzip
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 512
"""What the SDKs send at a time, unless they are told otherwise."""
_PER_TRACE = 6
_ENDLESS = 10**9
_TEXT = "The customer asks where the order is; it left the warehouse on Monday and should arrive by Friday. " * 8


class Row(NamedTuple):
    """One way of sending."""

    title: str
    per_trace: int = _PER_TRACE
    batch: int = BATCH
    is_json: bool = False
    requests: int = 80


ROWS = (
    Row("six spans a trace"),
    Row("fifty spans a trace", per_trace=50),
    Row("one endless trace", per_trace=_ENDLESS),
    Row("six spans a trace, as JSON", is_json=True),
    Row("six spans a trace, each sent alone", batch=1, requests=4000),
)


def make_batch(number: int, per_trace: int = _PER_TRACE, batch: int = BATCH) -> ExportTraceServiceRequest:
    """The spans of a batch; `per_trace` decides how many runs they make."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "bench"
    spans = group.scope_spans.add()
    spans.scope.name = "benchmark"
    now = time.time_ns()
    for place in range(number * batch, (number + 1) * batch):
        trace, position = divmod(place, per_trace)
        span = spans.spans.add(
            trace_id=(trace + 1).to_bytes(16, "big"),
            span_id=(place + 1).to_bytes(8, "big"),
            start_time_unix_nano=now - 5_000_000,
            end_time_unix_nano=now + place % BATCH,
        )
        if position == per_trace - 1:
            _put(span, "invoke_agent shop", {"gen_ai.operation.name": "invoke_agent"})
            continue
        span.parent_span_id = ((trace + 1) * per_trace).to_bytes(8, "big")
        if position % 2:
            _put(span, "execute_tool find", _tool(place))
        else:
            _put(span, "chat gpt-4o", _model(place))
    return request


def measure(row: Row, folder: Path) -> dict[str, Any]:
    """Send all requests of a row; spans a second, and what the receiver needed for it."""
    bodies = [_body(make_batch(number, row.per_trace, row.batch), row) for number in range(row.requests)]
    with _receiver(folder) as process:
        assert process.stdout is not None
        port = int(json.loads(process.stdout.readline())["url"].rpartition(":")[2])
        os.set_blocking(process.stdout.fileno(), False)
        _send(bodies[:1], port, row, process.stdout)  # what is loaded and compiled with the first request
        before = _cpu_seconds(process.pid)
        took = _send(bodies[1:], port, row, process.stdout)
        spent = _cpu_seconds(process.pid) - before
        peak = Path(f"/proc/{process.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
    sent = (row.requests - 1) * row.batch
    stored = sum(path.read_bytes().count(b"\n") for path in folder.glob("runs/*/events.jsonl"))
    return {
        "spans": sent,
        "per_second": sent / took,
        "cpu_us": spent / sent * 1e6,
        "peak_mb": int(peak) / 1024,
        "events": stored,
    }


def _body(request: ExportTraceServiceRequest, row: Row) -> bytes:
    if not row.is_json:
        encoded: bytes = request.SerializeToString()
        return gzip.compress(encoded, 1)
    document = MessageToDict(request)
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        # OTLP has ids as hexadecimal digits, unlike any other bytes in JSON.
        for key in ("traceId", "spanId", "parentSpanId"):
            span[key] = _hexadecimal(span.get(key, ""))
    return gzip.compress(json.dumps(document).encode(), 1)


def _hexadecimal(text: str) -> str:
    return base64.b64decode(text).hex()


@contextlib.contextmanager
def _receiver(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "agentdbg", "receive", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "AGENTDBG_DATA_DIR": str(folder)},
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _send(bodies: list[bytes], port: int, row: Row, told: Any) -> float:
    """Seconds until everything was acknowledged."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    kind = "application/json" if row.is_json else "application/x-protobuf"
    headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
    begun = time.perf_counter()
    for body in bodies:
        connection.request("POST", "/v1/traces", body=body, headers=headers)
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status == 200, (answer.status, said[:200])
        while told.read(65_536):
            pass
    took = time.perf_counter() - begun
    connection.close()
    return took


@contextlib.contextmanager
def _fresh_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as above:
        _spread_folders_in(above)
        yield Path(tempfile.mkdtemp(dir=above))


def _spread_folders_in(folder: str) -> None:
    """What `chattr +T` does: say that the folders in this one are not related."""
    if sys.platform != "linux":
        return
    import fcntl

    get_flags, set_flags, top_of_a_tree = 0x80086601, 0x40086602, 0x00020000
    flags = array.array("l", [0])
    descriptor = os.open(folder, os.O_RDONLY)
    with contextlib.suppress(OSError):  # another file system
        fcntl.ioctl(descriptor, get_flags, flags, True)
        flags[0] |= top_of_a_tree
        fcntl.ioctl(descriptor, set_flags, flags, True)
    os.close(descriptor)


def _model(place: int) -> dict[str, Any]:
    # As the official instrumentation of the openai client sends it.
    asked = [{"role": "user", "parts": [{"type": "text", "content": f"{place} {_TEXT}"}]}]
    answered = [{"role": "assistant", "parts": [{"type": "text", "content": _TEXT[:200]}], "finish_reason": "stop"}]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.response.model": "gpt-4o-2024-08-06",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.id": f"chatcmpl-{place}",
        "server.address": "api.example",
        "gen_ai.usage.input_tokens": 200 + place,
        "gen_ai.usage.output_tokens": 40,
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(answered),
    }


def _tool(place: int) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "find",
        "gen_ai.tool.call.arguments": json.dumps({"order_id": place}),
        "gen_ai.tool.call.result": json.dumps({"order_id": place, "left": "Monday"}),
    }


def _put(span: Any, name: str, attributes: dict[str, Any]) -> None:
    span.name = name
    for key, value in attributes.items():
        pair = span.attributes.add(key=key)
        if isinstance(value, int):
            pair.value.int_value = value
        elif isinstance(value, list):
            pair.value.array_value.values.add(string_value=value[0])
        else:
            pair.value.string_value = value


if __name__ == "__main__":
    with _fresh_folder() as folder:
        for number, row in enumerate(ROWS):
            found = measure(row, folder / str(number))
            print(
                f"{row.title}: {found['per_second']:,.0f} spans/s; the receiver works {found['cpu_us']:.0f} µs for "
                f"each; {found['spans']:,} spans, {found['events']:,} events stored, peak {found['peak_mb']:.0f} MB",
                flush=True,
            )
