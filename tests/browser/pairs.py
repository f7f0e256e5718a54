"""Two runs of one task, of any length, written as files: recording a hundred thousand events takes too long."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

DIVERGES_AT = 0.7
"""How far into the run B takes a step that A does not."""


def write_pair(data_dir: Path, count: int) -> tuple[str, str]:
    """The ids of A and B: the same but for wording, one extra step in B, and what the last booking gets."""
    return _write(data_dir, count, "10:00", is_b=False), _write(data_dir, count, "11:00", is_b=True)


def _write(data_dir: Path, count: int, clock: str, *, is_b: bool) -> str:
    run_id, started = str(uuid.uuid4()), f"2026-04-12T{clock}:00.000Z"
    events = [("RUN_START", "booker", {"run_name": "booker"}), *_steps(count - 3, is_b=is_b)]
    flight = "HAT132" if is_b else "HAT172"
    arguments = {"reservation": "M05KNL", "flights": [{"number": "HAT110"}, {"number": flight}]}
    events.append(("TOOL_CALL", "book_flight", _tool("book_flight", arguments, "booked")))
    events.append(("RUN_END", "run_end", {"status": "ok", "summary": {}}))
    folder = data_dir / "runs" / run_id
    folder.mkdir(parents=True)
    parent = str(uuid.uuid4())
    with (folder / "events.jsonl").open("w", encoding="utf-8") as file:
        for number, (kind, name, payload) in enumerate(events):
            event = {
                "spec_version": "0.1",
                "event_id": parent if number == 0 else str(uuid.uuid4()),
                "run_id": run_id,
                "parent_id": None if number == 0 else parent,
                "event_type": kind,
                "ts": f"2026-04-12T{clock[:2]}:{number // 60_000:02d}:{number // 1000 % 60:02d}.{number % 1000:03d}Z",
                "duration_ms": 3 if kind in ("LLM_CALL", "TOOL_CALL") else None,
                "name": name,
                "payload": payload,
                "meta": {},
            }
            file.write(json.dumps(event) + "\n")
    calls = {"llm_calls": count // 2, "tool_calls": count // 2, "errors": 0, "loop_warnings": 0}
    times = {"started_at": started, "ended_at": started, "last_event_ts": started, "duration_ms": count}
    meta = {"spec_version": "0.1", "run_id": run_id, "run_name": "booker", "status": "ok", "counts": calls, **times}
    (folder / "run.json").write_text(json.dumps(meta))
    return run_id


def _steps(count: int, *, is_b: bool) -> list[tuple[str, str, dict[str, Any]]]:
    """Model and tool in turns; B words some answers differently and looks something up that A does not."""
    steps: list[tuple[str, str, dict[str, Any]]] = []
    extra = round(count * DIVERGES_AT)
    for number in range(count):
        if is_b and number == extra:
            steps.append(("TOOL_CALL", "find_price", _tool("find_price", {"number": number}, "204 dollars")))
        if number % 2:
            steps.append(("TOOL_CALL", "find_flight", _tool("find_flight", {"number": number}, f"flight {number}")))
            continue
        words = "Let me have a look at" if is_b and number % 10 == 0 else "I will look at"
        answer = f"{words} the connections of day {number} for you."
        payload = {
            "model": "gpt-4o",
            "prompt": f"Next, day {number}.",
            "response": answer,
            "status": "ok",
            "error": None,
        }
        steps.append(("LLM_CALL", "gpt-4o", {**payload, "usage": {"total_tokens": 120}}))
    return steps


def _tool(name: str, arguments: dict[str, Any], result: str) -> dict[str, Any]:
    return {"tool_name": name, "args": arguments, "result": result, "status": "ok", "error": None}
