"""Small files of other tools' making, and the command that imports them, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentdbg.config import load_config
from agentdbg.events import schema_problems
from agentdbg.interop.imports import Importing, Outcome
from agentdbg.interop.sources import Source

DATA = Path(os.environ.get("AGENTDBG_TRAJECTORIES", Path(__file__).parents[3] / "shared" / "data"))


@dataclass
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def agentdbg(*arguments: str | Path, **variables: str) -> Ran:
    """Run the command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "agentdbg", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
        env={**os.environ, **variables},
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def take(path: Path, wanted: str = "auto") -> list[Outcome]:
    """Import one file in this process."""
    return list(Importing(load_config()).take(Source(path), wanted)[1])


def events_of(data_dir: Path, run_id: str) -> list[dict[str, Any]]:
    """The stored events, each held against the schema."""
    lines = (data_dir / "runs" / run_id / "events.jsonl").read_bytes().splitlines()
    events = [json.loads(line) for line in lines]
    for event in events:
        assert schema_problems(event) == [], event
    return events


def imported(path: Path, data_dir: Path, wanted: str = "auto") -> list[dict[str, Any]]:
    """The events of the one run a file holds."""
    (outcome,) = take(path, wanted)
    assert outcome.problem == "", outcome
    assert outcome.run is not None
    assert outcome.run.is_new
    return events_of(data_dir, outcome.run.run_id)


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["event_type"] for event in events]


def asks(name: str, arguments: dict[str, Any], call_id: str = "c1") -> dict[str, Any]:
    """An answer that asks for a tool."""
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


CHAT = [
    {"role": "system", "content": "Help with flights."},
    {"role": "user", "content": "Book me a flight."},
    asks("search", {"to": "SEA"}),
    {"role": "tool", "tool_call_id": "c1", "name": "search", "content": "HAT069"},
    {"role": "assistant", "content": "Booked HAT069."},
]
