"""Runs written by hand, as a file would lie on disk, so that readers are tested without the writer."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

START = "2026-04-12T10:30:00.000Z"


def timestamp(milliseconds: int) -> str:
    """The moment so many milliseconds after START."""
    seconds, millis = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"2026-04-12T{10 + hours:02d}:{30 + minutes:02d}:{seconds:02d}.{millis:03d}Z"


def event(run_id: str, event_type: str, at_ms: int = 0, **fields: Any) -> dict[str, Any]:
    """One event in the strict form."""
    return {
        "spec_version": "0.1",
        "event_id": fields.pop("event_id", None) or str(uuid.uuid4()),
        "run_id": run_id,
        "parent_id": fields.pop("parent_id", None),
        "event_type": event_type,
        "ts": timestamp(at_ms),
        "duration_ms": fields.pop("duration_ms", None),
        "name": fields.pop("name", event_type.lower()),
        "payload": fields.pop("payload", {}),
        "meta": fields.pop("meta", {}),
        **fields,
    }


def tool_call(run_id: str, at_ms: int = 0, name: str = "search", **fields: Any) -> dict[str, Any]:
    """A TOOL_CALL that went well unless told otherwise."""
    payload = {"tool_name": name, "args": {"q": 1}, "result": "found", "status": "ok", "error": None}
    payload.update(fields.pop("payload", {}))
    return event(
        run_id, "TOOL_CALL", at_ms, name=name, payload=payload, duration_ms=fields.pop("duration_ms", 5), **fields
    )


def llm_call(run_id: str, at_ms: int = 0, **fields: Any) -> dict[str, Any]:
    """An LLM_CALL of 30 tokens that went well unless told otherwise."""
    payload = {
        "model": "gpt-4",
        "prompt": "hello",
        "response": "hi there",
        "usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30},
        "provider": "openai",
        "temperature": 0.5,
        "stop_reason": "stop",
        "status": "ok",
        "error": None,
    }
    payload.update(fields.pop("payload", {}))
    return event(
        run_id, "LLM_CALL", at_ms, name="gpt-4", payload=payload, duration_ms=fields.pop("duration_ms", 40), **fields
    )


def run_start(run_id: str, name: str = "agent", **fields: Any) -> dict[str, Any]:
    """The first event of a run."""
    payload = {"run_name": name, "python_version": "3.11.7", "platform": "linux", "cwd": "/home/me", "argv": ["a.py"]}
    return event(run_id, "RUN_START", 0, name=name, payload=payload, **fields)


def run_end(run_id: str, at_ms: int = 100, status: str = "ok") -> dict[str, Any]:
    """The last event of a run."""
    summary = {"llm_calls": 1, "tool_calls": 1, "errors": 0, "duration_ms": at_ms}
    return event(
        run_id, "RUN_END", at_ms, name="run_end", duration_ms=at_ms, payload={"status": status, "summary": summary}
    )


def run_json(run_id: str, name: str | None = "agent", status: str = "ok", **fields: Any) -> dict[str, Any]:
    """The run.json of a run of 100 milliseconds."""
    is_over = status != "running"
    return {
        "spec_version": "0.1",
        "run_id": run_id,
        "run_name": name,
        "started_at": START,
        "ended_at": timestamp(100) if is_over else None,
        "duration_ms": 100 if is_over else None,
        "status": status,
        "counts": {"llm_calls": 1, "tool_calls": 1, "errors": 0, "loop_warnings": 0},
        "last_event_ts": timestamp(100) if is_over else None,
        **fields,
    }


def usual_events(run_id: str) -> list[dict[str, Any]]:
    """A healthy little run: start, model, tool, end."""
    start = run_start(run_id)
    model = llm_call(run_id, 50, parent_id=start["event_id"])
    return [start, model, tool_call(run_id, 80, parent_id=model["event_id"]), run_end(run_id)]


def as_line(value: Any) -> bytes:
    """One line of events.jsonl."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def write_run(
    data_dir: Path,
    run_id: str | None = None,
    *,
    meta: Any = ...,
    events: list[dict[str, Any]] | None = None,
    raw: bytes | None = None,
) -> str:
    """Put a run on disk: `meta` is run.json (None for none, bytes as they are), `raw` the whole of events.jsonl."""
    run_id = run_id or str(uuid.uuid4())
    folder = data_dir / "runs" / run_id
    folder.mkdir(parents=True, exist_ok=True)
    if meta is ...:
        meta = run_json(run_id)
    if isinstance(meta, bytes):
        (folder / "run.json").write_bytes(meta)
    elif meta is not None:
        (folder / "run.json").write_text(json.dumps(meta))
    if raw is None:
        raw = b"".join(map(as_line, usual_events(run_id) if events is None else events))
    (folder / "events.jsonl").write_bytes(raw)
    return run_id


def age(path: Path, seconds: float = 3600) -> None:
    """Make a file look as if it was last written so long ago."""
    import os
    import time

    moment = time.time() - seconds
    os.utime(path, (moment, moment))
