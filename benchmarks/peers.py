"""The peers: the floor under everything, and two well-known libraries doing the nearest thing they do."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import orjson
import structlog
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

import agentdbg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan

__all__ = ["Peer", "ours", "peers"]

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
    return Peer(
        "floor: orjson + os.write",
        lambda work: os.write(descriptor, orjson.dumps(work, option=orjson.OPT_APPEND_NEWLINE)),
        lambda: os.close(descriptor),
    )


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


def _opentelemetry(folder: Path) -> Peer:
    provider = TracerProvider(resource=Resource.create({"service.name": "benchmark"}))
    provider.add_span_processor(SimpleSpanProcessor(_FileExporter(folder / "otel.jsonl")))
    tracer = provider.get_tracer("benchmark")

    def record(work: dict[str, Any]) -> object:
        with tracer.start_as_current_span(work["name"]) as span:
            span.set_attribute("gen_ai.operation.name", work["kind"])
            span.set_attribute("input", _attribute(work["input"]))
            span.set_attribute("output", _attribute(work["output"]))
            for name, value in work.get("usage", {}).items():
                span.set_attribute(f"gen_ai.usage.{name}", value)
        return None

    return Peer("OpenTelemetry, simple, to a file", record, provider.shutdown)


def _attribute(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
