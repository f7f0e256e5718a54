"""
Measure what it takes to push a long run to a collector: seconds, spans a second, and the most memory.

    python benchmarks/push_speed.py [--events N]

The push is a process of its own. The collector, on loopback, unpacks every request and counts its spans, so the figures
are those of the push and of the wire, not of a backend's database. Wanted: 100,000 events in under 60 s, with a peak
that does not grow with the run.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Figures", "measure", "push_table", "write_long_run"]

_WORDS = ("agent", "looked", "for", "a", "flight", "and", "found", "several", "that", "were", "too", "dear")
_PROGRAM = """
import resource, sys
from agentdbg.cli import _run
code = _run(sys.argv[1:])
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


class Figures(NamedTuple):
    """One push, measured."""

    events: int
    seconds: float
    spans: int
    peak_mb: float


def push_table(events: int = 100_000) -> str:
    """A tenth of the run and the whole of it, as Markdown."""
    lines = ["| events | spans | seconds | spans a second | peak memory |", "|---|---|---|---|---|"]
    for count in (events // 10, events):
        found = measure(count)
        rate = found.spans / found.seconds
        lines.append(f"| {count:,} | {found.spans:,} | {found.seconds:.1f} | {rate:,.0f} | {found.peak_mb:.0f} MB |")
    return "\n".join(lines) + "\n"


def measure(events: int) -> Figures:
    """Write a run, push it in a process of its own, and say what that took."""
    with tempfile.TemporaryDirectory() as scratch, _collector() as (url, counts):
        run_id = write_long_run(Path(scratch), events)
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, "push", run_id, "--otlp", url],
            env={**os.environ, "AGENTDBG_DATA_DIR": scratch},
            capture_output=True,
            text=True,
            check=True,
        )
        seconds = time.perf_counter() - began
    exit_code, peak = done.stdout.split()[-2:]
    assert exit_code == "0", done.stderr
    return Figures(events, seconds, sum(counts), int(peak) / 1024)


def write_long_run(data_dir: Path, events: int) -> str:
    """A finished run of chats of about a kilobyte, tool calls under them, and a state now and then; gives its id."""
    run_id, chance = str(uuid.uuid4()), random.Random(3)
    folder = data_dir / "runs" / run_id
    folder.mkdir(parents=True)
    start = asked = str(uuid.uuid4())
    with open(folder / "events.jsonl", "w", encoding="utf-8") as file:
        for number in range(events):
            parent: str | None = start
            event_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
            text = " ".join(chance.choices(_WORDS, k=120))
            length: int | None = 7
            if number == 0:
                kind, name, event_id, parent, length = "RUN_START", "bench", start, None, None
                payload: dict[str, object] = {"run_name": "bench", "argv": ["bench.py"]}
            elif number == events - 1:
                kind, name, payload = "RUN_END", "run_end", {"status": "ok", "summary": {}}
            elif number % 20 == 3:
                kind, name, length, payload = "STATE_UPDATE", "state", None, {"state": {"n": number}, "diff": None}
            elif number % 2:
                asked = event_id
                messages = [{"role": "system", "content": "You find flights."}, {"role": "user", "content": text}]
                usage = {"prompt_tokens": 200, "completion_tokens": 9, "total_tokens": 209}
                kind, name = "LLM_CALL", "gpt-4o"
                payload = {"model": name, "prompt": messages, "response": "done", "usage": usage, "status": "ok"}
            else:
                kind, name, parent = "TOOL_CALL", f"tool{number % 7}", asked
                payload = {"tool_name": name, "args": {"q": number}, "result": text, "status": "ok", "error": None}
            seconds, ms = divmod(number * 10, 1000)
            event = {
                "spec_version": "0.1",
                "event_id": event_id,
                "run_id": run_id,
                "parent_id": parent,
                "event_type": kind,
                "ts": f"2026-04-12T{10 + seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{ms:03d}Z",
                "duration_ms": length,
                "name": name,
                "payload": payload,
                "meta": {},
            }
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
    meta = {
        "spec_version": "0.1",
        "run_id": run_id,
        "run_name": "bench",
        "started_at": "2026-04-12T10:00:00.000Z",
        "ended_at": "2026-04-12T11:00:00.000Z",
        "duration_ms": 1,
        "status": "ok",
        "counts": {"llm_calls": events // 2, "tool_calls": events // 2, "errors": 0, "loop_warnings": 0},
        "last_event_ts": "2026-04-12T11:00:00.000Z",
        "event_counts": {"LLM_CALL": events},
    }
    (folder / "run.json").write_text(json.dumps(meta))
    return run_id


@contextlib.contextmanager
def _collector() -> Iterator[tuple[str, list[int]]]:
    """An address that takes OTLP, and the number of spans of each request it got."""
    counts: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = ExportTraceServiceRequest()
            request.ParseFromString(gzip.decompress(self.rfile.read(int(self.headers["Content-Length"]))))
            counts.append(sum(len(scope.spans) for of in request.resource_spans for scope in of.scope_spans))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", counts
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure what it takes to push a long run to a collector.")
    parser.add_argument("--events", type=int, default=100_000)
    print(push_table(parser.parse_args().events))


if __name__ == "__main__":
    main()
