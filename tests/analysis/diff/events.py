"""Small runs written by hand: each helper gives one event, `run` the whole list of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from agentdbg.events import Event

_ids = itertools.count(1)


def event(event_type: str, name: str, payload: dict[str, Any], parent: Event | None = None, **more: Any) -> Event:
    """One event with an id and a time that no other event has, as between two real runs."""
    number = next(_ids)
    return {
        "spec_version": "0.1",
        "event_id": str(UUID(int=number, version=4)),
        "run_id": str(UUID(int=0, version=4)),
        "parent_id": parent["event_id"] if parent else None,
        "event_type": event_type,
        "ts": f"2026-11-15T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
        "duration_ms": more.get("duration_ms", number % 7),
        "name": name,
        "payload": payload,
        "meta": more.get("meta", {}),
    }


def tool(name: str, args: Any = None, result: Any = None, parent: Event | None = None, **more: Any) -> Event:
    error = more.pop("error", None)
    payload = {
        "tool_name": name,
        "args": args,
        "result": result,
        "status": "error" if error else "ok",
        "error": {"error_type": "Error", "message": error, "stack": None, "details": None} if error else None,
    }
    return event("TOOL_CALL", name, payload, parent, **more)


def llm(prompt: Any = None, response: Any = None, parent: Event | None = None, **more: Any) -> Event:
    payload = {
        "model": more.pop("model", "gpt-4o"),
        "prompt": prompt,
        "response": response,
        "usage": more.pop("usage", None),
        "provider": "openai",
        "temperature": more.pop("temperature", None),
        "stop_reason": "stop",
        "status": "ok",
        "error": None,
    }
    if "tools" in more:
        payload["tools"] = more.pop("tools")
    return event("LLM_CALL", payload["model"], payload, parent, **more)


def start(name: str = "agent") -> Event:
    return event("RUN_START", name, {"run_name": name, "python_version": "3.11.1", "platform": "linux", "argv": []})


def end(parent: Event, status: str = "ok") -> Event:
    return event("RUN_END", "run_end", {"status": status, "summary": {"llm_calls": 1}}, parent)


def call_start(call: Event) -> Event:
    """The start of a call that is given whole."""
    kind = "llm" if call["event_type"] == "LLM_CALL" else "tool"
    given = call["payload"]["prompt" if kind == "llm" else "args"]
    payload = {"call_id": call["event_id"], "kind": kind, "name": call["name"], "input": given}
    began = event("CALL_START", call["name"], payload, meta=call["meta"])
    began["parent_id"] = call["parent_id"]
    return began


def run(*steps: Event, status: str = "ok") -> list[Event]:
    """A whole run: what has no parent hangs under its RUN_START."""
    first = start()
    for step in steps:
        step["parent_id"] = step["parent_id"] or first["event_id"]
    return [first, *steps, end(first, status)]
