"""A real receiver on a free loopback port, and what it wrote."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.events import schema_problems
from tests.server.running import end

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class RunningReceiver:
    """A receiver in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    url: str
    token: str | None
    data_dir: Path

    def post(self, body: bytes, headers: dict[str, str] | None = None, path: str = "/v1/traces") -> Answer:
        """One request, as an exporter makes it."""
        return self.ask("POST", path, headers if headers is not None else PROTOBUF, body)

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def events(self) -> list[dict[str, Any]]:
        """The events of the only run, once it has ended."""
        assert eventually(lambda: [run for run in stored_runs(self.data_dir) if run[-1]["event_type"] == "RUN_END"])
        (events,) = stored_runs(self.data_dir)
        return events


@contextlib.contextmanager
def receiver(data_dir: Path, *arguments: str, **variables: str) -> Iterator[RunningReceiver]:
    """`agentdbg receive`, ended afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "agentdbg", "receive", "--port", "0", "--json", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), "PYTHONUNBUFFERED": "1", **variables},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise AssertionError(process.communicate()[1])
        told = json.loads(line)
        yield RunningReceiver(process, int(told["url"].rpartition(":")[2]), told["url"], told["token"], data_dir)
    finally:
        end(process)


def stored_runs(data_dir: Path) -> list[list[dict[str, Any]]]:
    """The events of every run, each line held against the schema."""
    found = []
    for folder in sorted((data_dir / "runs").glob("*"), key=lambda path: path.stat().st_mtime_ns):
        lines = (folder / "events.jsonl").read_bytes().splitlines()
        events = [json.loads(line) for line in lines]
        for event in events:
            assert schema_problems(event) == []
        found.append(events)
    return found


def eventually(claim: Any, seconds: float = 15.0) -> bool:
    """Whether a claim becomes true soon."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(json.JSONDecodeError, OSError):
            if claim():
                return True
        time.sleep(0.05)
    return bool(claim())


def calls(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of a run, in order."""
    return [event for event in events if event["event_type"] in ("LLM_CALL", "TOOL_CALL")]
