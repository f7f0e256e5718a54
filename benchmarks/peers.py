"""The peers: the floor under everything, and two well-known libraries doing the nearest thing they do."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import orjson
import structlog
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult

import agentdbg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan

__all__ = ["Peer", "batched_opentelemetry", "ours", "peers"]

Record = "Callable[[dict[str, Any]], object]"


class Peer:
    """A name, a way to record one thing, and a way to give everything back."""

    def __init__(self, name: str, record: Callable[[dict[str, Any]], object], close: Callable[[], object]) -> None:
        self.name = name
        self.record = record
        self.close = close


def ours(folder: Path) -> Peer:
    """AgentDbg with everything on: redaction of keys and values, loop detection, limits."""
    os.environ["AGENTDBG_DATA_DIR"] = str(folder / "agentdbg")
    block = agentdbg.traced_run("benchmark", max_llm_calls=10**9, max_tokens=10**15, max_events=10**9)
    block.__enter__()

    def record(work: dict[str, Any]) -> object:
        if work["kind"] == "llm":
            return agentdbg.record_llm_call(
                work["name"], prompt=work["input"], response=work["output"], usage=work["usage"]
            )
        if work["kind"] == "tool":
            return agentdbg.record_tool_call(work["name"], args=work["input"], result=work["output"])
        return agentdbg.record_state(work["output"])

    return Peer("AgentDbg", record, lambda: block.__exit__(None, None, None))


def peers(folder: Path) -> list[Peer]:
    """The floor, structlog and OpenTelemetry, each writing one JSON line per event to a file."""
    return [_floor(folder), _structlog(folder), _opentelemetry(folder)]


def _floor(folder: Path) -> Peer:
    descriptor = os.open(folder / "floor.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    events: dict[int, dict[str, Any]] = {}

    def record(work: dict[str, Any]) -> object:
        event = events.get(id(work)) or events.setdefault(id(work), _stored_event(work))
        return os.write(descriptor, orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))

    return Peer("floor: orjson + os.write", record, lambda: os.close(descriptor))


def _stored_event(work: dict[str, Any]) -> dict[str, Any]:
    """The event as it stands in the file, made once: the floor does nothing but encode and write it."""
    given, result = work["input"], work["output"]
    payload = {
        "llm": {"model": work["name"], "prompt": given, "response": result, "usage": work.get("usage")},
        "tool": {"tool_name": work["name"], "args": given, "result": result, "status": "ok", "error": None},
        "state": {"state": result, "diff": {}},
    }[work["kind"]]
    if work["kind"] == "llm":
        payload |= {"provider": "unknown", "temperature": None, "stop_reason": None, "status": "ok", "error": None}
        payload |= {"cost_usd": 0.00267}
    return {
        "spec_version": "0.1",
        "event_id": "6437449f-ba6b-4520-8a86-4457c5348fa7",
        "run_id": "0d1c7a52-91b3-4c7e-a3f4-0b8a1d2c3e4f",
        "parent_id": "b2a1c3d4-1e2f-4a5b-8c6d-7e8f90a1b2c3",
        "event_type": {"llm": "LLM_CALL", "tool": "TOOL_CALL", "state": "STATE_UPDATE"}[work["kind"]],
        "ts": "2026-01-01T00:00:00.000Z",
        "duration_ms": None,
        "name": work["name"],
        "payload": {**payload, "source": "benchmarks/peers.py:50"},
        "meta": {},
    }


def _structlog(folder: Path) -> Peer:
    file = open(folder / "structlog.jsonl", "w", encoding="utf-8")  # noqa: SIM115 -- open as long as the benchmark
    logger = structlog.wrap_logger(
        structlog.WriteLogger(file),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.JSONRenderer(),
        ],
    )
    return Peer("structlog to a file", lambda work: logger.info("event", **work), file.close)


class _FileExporter(SpanExporter):
    """Writes each span as one JSON line as it ends."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115 -- see above

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            self._file.write(span.to_json(indent=None) + "\n")
        self._file.flush()
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self._file.close()


def _opentelemetry(folder: Path, *, is_batched: bool = False) -> Peer:
    provider = TracerProvider(resource=Resource.create({"service.name": "benchmark"}))
    exporter = _FileExporter(folder / ("batched.jsonl" if is_batched else "otel.jsonl"))
    provider.add_span_processor(BatchSpanProcessor(exporter) if is_batched else SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("benchmark")

    def record(work: dict[str, Any]) -> object:
        with tracer.start_as_current_span(work["name"]) as span:
            span.set_attribute("gen_ai.operation.name", work["kind"])
            span.set_attribute("input", _attribute(work["input"]))
            span.set_attribute("output", _attribute(work["output"]))
            for name, value in work.get("usage", {}).items():
                span.set_attribute(f"gen_ai.usage.{name}", value)
        return None

    way = "in batches" if is_batched else "simple"
    return Peer(f"OpenTelemetry, {way}, to a file", record, provider.shutdown)


def batched_opentelemetry(folder: Path) -> Peer:
    """OpenTelemetry with spans handed to a thread that writes them later."""
    return _opentelemetry(folder, is_batched=True)


def _attribute(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
