"""Stored runs of any length, written as our writer would have written them, and a viewer over them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["held", "process_of", "viewer", "write_run"]

_WORDS = ("agent", "looked", "for", "a", "flight", "and", "found", "several", "that", "were", "too", "dear")
_ENVELOPE = '{{"spec_version":"0.1","event_id":"{}","run_id":"{}","parent_id":{},"event_type":"{}","ts":"{}",'
_REST = '"duration_ms":{},"name":"{}","payload":{},"meta":{{}}}}\n'
_LONGEST_MS = 36_000_000
_FAILS_EACH = 1_000


def write_run(
    root: Path,
    count: int,
    started: str = "2026-04-12T10:30:00.000Z",
    *,
    is_running: bool = False,
    words: int = 130,
) -> str:
    """A run of `count` events, of about a kilobyte each unless they have fewer words; gives its id."""
    run_id, chance = str(uuid.uuid4()), random.Random(1)
    folder = root / "runs" / run_id
    folder.mkdir(parents=True)
    texts = [" ".join(chance.choices(_WORDS, k=words)) for _ in range(50)]
    start, day, step = str(uuid.uuid4()), started[:11], min(100, _LONGEST_MS // count)
    with open(folder / "events.jsonl", "w", encoding="utf-8") as file:
        for number in range(count):
            seconds, ms = divmod(number * step, 1000)
            moment = f"{day}{10 + seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{ms:03d}Z"
            parent, event_id = f'"{start}"', str(uuid.UUID(int=chance.getrandbits(128), version=4))
            if number == 0:
                kind, name, payload, parent, event_id = "RUN_START", "bench", '{"run_name":"bench"}', "null", start
            elif number == count - 1 and not is_running:
                kind, name, payload = "RUN_END", "run_end", '{"status":"ok","summary":{}}'
            else:
                kind, name, payload = _call(number, texts[number % 50])
            file.write(_ENVELOPE.format(event_id, run_id, parent, kind, moment) + _REST.format(7, name, payload))
    counts = {"llm_calls": count // 2, "tool_calls": count // 2, "errors": 0, "loop_warnings": 0}
    meta = {"spec_version": "0.1", "run_id": run_id, "run_name": "bench", "started_at": started, "counts": counts}
    end: dict[str, object] = {"ended_at": started, "duration_ms": 1, "status": "ok", "last_event_ts": started}
    if is_running:
        end = {"ended_at": None, "duration_ms": None, "status": "running", "last_event_ts": started}
    (folder / "run.json").write_text(json.dumps({**meta, **end}))
    return run_id


def _call(number: int, text: str) -> tuple[str, str, str]:
    """Model and tool in turns, one tool call in a thousand events failing."""
    if number % 2:
        said = f'"prompt":"{text}","response":"done","usage":{{"total_tokens":9}}'
        return "LLM_CALL", "gpt-4", f'{{"model":"gpt-4",{said},"status":"ok","error":null}}'
    name = f"tool{number % 7}"
    outcome = f'"result":"{text}","status":"ok","error":null'
    if number % _FAILS_EACH == 0:
        outcome = '"result":null,"status":"error","error":{"error_type":"ValueError","message":"too dear"}'
    return "TOOL_CALL", name, f'{{"tool_name":"{name}","args":{{"q":{number % 1000}}},{outcome}}}'


@contextlib.contextmanager
def held(path: Path) -> Iterator[int]:
    """A run's file, held open as its writer holds it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield descriptor
    finally:
        os.close(descriptor)


_processes: dict[int, int] = {}


@contextlib.contextmanager
def viewer(root: Path) -> Iterator[int]:
    """A viewer in a process of its own; gives its port."""
    code = (
        "import sys; from agentdbg.server.lifecycle import serve; "
        "serve(sys.argv[1], port=0, on_ready=lambda viewer: print(viewer.port, flush=True))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        _processes[port] = process.pid
        yield port
    finally:
        process.terminate()
        process.communicate()


def process_of(port: int) -> int:
    """The process id of the viewer at a port."""
    return _processes[port]
