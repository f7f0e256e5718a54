"""Put made-up runs on disk, and run the command line on them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.analysis.story import Story

HOSTILE = "evil\x1b[2J\x1b]0;title\x07\x9b31m\r\nnext\u202eabc\u2028x\x00\x7f"
"""Clears the screen, sets the title, colours, returns, breaks the line, turns the text round."""


@dataclass
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def store(
    data_dir: Path, story: Story, status: str = "ok", name: str = "story", run_id: str | None = None, **more: Any
) -> str:
    """Write a story as a stored run; gives its id."""
    run_id = run_id or os.urandom(16).hex()
    if "-" not in run_id:
        run_id = f"{run_id[:8]}-{run_id[8:12]}-4{run_id[13:16]}-8{run_id[17:20]}-{run_id[20:]}"
    folder = data_dir / "runs" / run_id
    folder.mkdir(parents=True, mode=0o700)
    meta: dict[str, Any] = {**story.meta(status), "run_id": run_id, "run_name": name}
    if status != "running":
        meta["ended_at"] = story.events[-1]["ts"]
    meta.update(more)
    kinds = [event["event_type"] for event in story.events]
    meta["counts"] = {
        "llm_calls": kinds.count("LLM_CALL"),
        "tool_calls": kinds.count("TOOL_CALL"),
        "errors": kinds.count("ERROR"),
        "loop_warnings": kinds.count("LOOP_WARNING"),
    }
    (folder / "run.json").write_text(json.dumps(meta))
    lines = [json.dumps({**event, "run_id": run_id}, separators=(",", ":")) for event in story.events]
    (folder / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
    # Long enough ago that nobody can be writing it any more.
    os.utime(folder / "events.jsonl", (1_700_000_000, 1_700_000_000))
    return run_id


def run_process(*arguments: str, stdin: str | None = None, **environment: str) -> Ran:
    """The command in a process of its own, as a shell would run it, its output in a pipe."""
    done = subprocess.run(
        [sys.executable, "-m", "agentdbg", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=stdin if stdin is not None else "",
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def run_in_terminal(*arguments: str, columns: int = 100, answer: str = "", **environment: str) -> Ran:
    """The command on a terminal of its own; what it prints there, colours and all."""
    import pty

    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "agentdbg", *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm", **environment},
    )
    os.close(child)
    if answer:
        os.write(parent, answer.encode())
    printed = b""
    while True:
        try:
            chunk = os.read(parent, 65_536)
        except OSError:  # the last one closed the terminal
            break
        if not chunk:
            break
        printed += chunk
    os.close(parent)
    return Ran(process.wait(30), printed.decode().replace("\r\n", "\n"), "")
