"""
How many spans a second the receiver takes: `python -m benchmarks.receive_speed`.

A receiver in a process of its own, on loopback, and one sender that posts batches of 512 spans as an exporter does:
agents of two model calls and two tool calls around a root, with messages of a kilobyte or so. What is counted is what
is on disk when it was acknowledged. On a busy machine look at the receiver's own time for each span: it does not
depend on who else is at work.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

BATCH = 512
_PER_TRACE = 6
_TEXT = "The customer asks where the order is; it left the warehouse on Monday and should arrive by Friday. " * 8


def make_batch(number: int, per_trace: int = _PER_TRACE) -> bytes:
    """The spans of a batch, as protobuf; `per_trace` decides how many runs they make."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "bench"
    spans = group.scope_spans.add()
    spans.scope.name = "benchmark"
    now = time.time_ns()
    for place in range(BATCH):
        trace, position = divmod(number * BATCH + place, per_trace)
        span = spans.spans.add(
            trace_id=(trace + 1).to_bytes(16, "big"),
            span_id=(number * BATCH + place + 1).to_bytes(8, "big"),
            start_time_unix_nano=now - 5_000_000,
            end_time_unix_nano=now + place,
        )
        if position == per_trace - 1:
            _put(span, "invoke_agent shop", {"gen_ai.operation.name": "invoke_agent"})
            continue
        span.parent_span_id = ((trace + 1) * per_trace).to_bytes(8, "big")
        if position % 2:
            _put(span, "execute_tool find", _tool(place))
        else:
            _put(span, "chat gpt-4o", _model(place))
    encoded: bytes = request.SerializeToString()
    return encoded


def measure(seconds: float = 10.0, per_trace: int = _PER_TRACE) -> dict[str, Any]:
    """Send for so many seconds; spans a second, and what the receiver held in memory at most."""
    batches = [gzip.compress(make_batch(number, per_trace), 1) for number in range(40)]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "agentdbg", "receive", "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            env={**os.environ, "AGENTDBG_DATA_DIR": folder},
        )
        try:
            assert process.stdout is not None
            port = int(json.loads(process.stdout.readline())["url"].rpartition(":")[2])
            os.set_blocking(process.stdout.fileno(), False)
            before = _cpu_seconds(process.pid)
            sent, took = _send(batches, port, seconds, per_trace, process.stdout)
            cpu_us = (_cpu_seconds(process.pid) - before) / sent * 1e6
            peak = Path(f"/proc/{process.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
        finally:
            process.terminate()
            process.wait(30)
            if process.stdout is not None:
                process.stdout.close()
        stored = sum(path.read_bytes().count(b"\n") for path in Path(folder).glob("runs/*/events.jsonl"))
    return {
        "spans": sent,
        "seconds": took,
        "per_second": sent / took,
        "cpu_us": cpu_us,
        "peak_mb": int(peak) / 1024,
        "events": stored,
    }


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _send(batches: list[bytes], port: int, seconds: float, per_trace: int, told: Any) -> tuple[int, float]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
    sent, number, begun = 0, 0, time.perf_counter()
    made = 0.0
    while time.perf_counter() - begun - made < seconds:
        if number >= len(batches):  # what has been sent once would not be written again
            making = time.perf_counter()
            batches.append(gzip.compress(make_batch(number, per_trace), 1))
            made += time.perf_counter() - making
        connection.request("POST", "/v1/traces", body=batches[number], headers=headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        sent += BATCH
        number += 1
        while told.read(65_536):
            pass
    took = time.perf_counter() - begun - made
    connection.close()
    return sent, took


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
    for title, length in (("six spans a trace", 6), ("fifty spans a trace", 50), ("one endless trace", 10**9)):
        found = measure(6.0, length)
        print(
            f"{title}: {found['per_second']:,.0f} spans/s; the receiver works {found['cpu_us']:.0f} µs for each; "
            f"{found['spans']:,} spans, {found['events']:,} events stored, peak {found['peak_mb']:.0f} MB"
        )
