"""A real viewer on a free loopback port, and raw ways to talk to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_START = """
import sys
from agentdbg.server.viewer_process import serve
host, port, data_dir, *allowed = sys.argv[1:]
serve(data_dir, host=host, port=int(port), allowed_hosts=tuple(allowed),
      on_ready=lambda viewer: print(viewer.host, viewer.port, viewer.url(), viewer.token, flush=True))
print("stopped", flush=True)
"""


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class RunningViewer:
    """A viewer in a process of its own."""

    process: subprocess.Popen[str]
    host: str
    port: int
    url: str
    token: str

    def ask(
        self, path: str, method: str = "GET", headers: dict[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """One request as a script would make it, without an Origin."""
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=20)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def raw(self, request: bytes, wait: float = 5.0) -> bytes:
        """Bytes sent as they are, and whatever comes back until the server closes or is done."""
        with socket.create_connection((self.host.strip("[]"), self.port), timeout=wait) as connection:
            connection.sendall(request)
            received = b""
            with contextlib.suppress(OSError):
                while chunk := connection.recv(65_536):
                    received += chunk
                    if b"\r\n\r\n" in received and b"content-length: 0" not in received.lower():
                        break
            return received

    def raw_status(self, request: bytes) -> int:
        """The status a raw request is answered with; 0 when the connection is just closed."""
        answer = self.raw(request)
        return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.") else 0

    @property
    def origin(self) -> str:
        """The viewer's own origin."""
        return f"http://{self.host}:{self.port}"

    def memory_kb(self) -> int:
        """How much memory the viewer holds now."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def peak_kb(self) -> int:
        """The most memory it ever held."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


@contextlib.contextmanager
def viewer(
    data_dir: Path, host: str = "127.0.0.1", allowed: tuple[str, ...] = (), port: int = 0
) -> Iterator[RunningViewer]:
    """A viewer of a folder, ended afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-c", _START, host, str(port), str(data_dir), *allowed],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().split()
        if not line:
            raise AssertionError(process.communicate()[1])
        yield RunningViewer(process, line[0], int(line[1]), line[2], line[3])
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """End a server that a test started, whatever state it is in."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    if process.poll() is None:
        process.kill()
        process.wait()
    if process.stderr is not None and not process.stderr.closed:
        os.set_blocking(process.stderr.fileno(), False)  # a program that it started may have it open still
        with contextlib.suppress(BlockingIOError):
            sys.stderr.write(os.read(process.stderr.fileno(), 1_000_000).decode(errors="replace"))  # for pytest to show
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def eventually(claim: Any, seconds: float = 5.0) -> bool:
    """Whether a claim becomes true soon."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if claim():
            return True
        time.sleep(0.02)
    return bool(claim())
