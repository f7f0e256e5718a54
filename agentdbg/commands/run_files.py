"""A run in a file of its own: what `agentdbg export` wrote, or the events.jsonl of a run copied from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.exceptions import UsageError
from agentdbg.storage.dialects import DamagedLine, parse_event

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.events import Event

__all__ = ["read_run_file"]


def read_run_file(path: Path) -> tuple[str, str, list[Event]]:
    """The run's id, its name and its events; damaged lines of a log are left out."""
    if path.suffix == ".jsonl":
        events = _events(path.read_bytes().splitlines())
        meta: dict[str, Any] = {}
    else:
        document = _document(path)
        meta = document["run"] if isinstance(document.get("run"), dict) else {}
        events = _events(encode_json(event) for event in document["events"])
    if not events:
        raise UsageError(f"{path} holds no events")
    first = events[0]
    name = meta.get("run_name") or (first["name"] if first["event_type"] == "RUN_START" else path.name)
    return str(meta.get("run_id") or first["run_id"] or path.stem), str(name), events


def _document(path: Path) -> dict[str, Any]:
    try:
        document = decode_json(path.read_bytes())
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("events"), list):
        raise UsageError(f"{path} is no exported run; `agentdbg export RUN --out {path.name}` writes one")
    return document


def _events(lines: Any) -> list[Event]:
    events: list[Event] = []
    for number, text in enumerate(lines):
        if text.strip():
            try:
                events.append(parse_event(text, "", number))
            except DamagedLine:
                continue
    return events
