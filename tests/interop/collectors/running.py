"""Start a receiver in its own environment, on loopback, and ask it what it got."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROOT = Path(__file__).resolve().parents[3]
_PATIENCE_S = 300
"""The first start makes a database, step by step through all its versions."""


def program(receiver: str, name: str) -> str:
    """A program of a receiver's environment, which `make test-receivers` makes."""
    path = _ROOT / f".venv-receivers-{receiver}" / "bin" / name
    if not path.exists():
        pytest.fail(f"{path.parent.parent.name} is missing; `make test-receivers` makes it")
    return str(path)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def running(command: list[str], folder: Path, health: str, **environment: str) -> Iterator[None]:
    """The receiver from when it answers until it is ended, with everything it started."""
    log = folder / "log.txt"
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "HOME": str(folder), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while not _is_healthy(health):
            assert process.poll() is None, f"it ended:\n{log.read_text()[-3000:]}"
            assert time.monotonic() < deadline, f"it does not answer:\n{log.read_text()[-3000:]}"
            time.sleep(0.5)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)


def ask(url: str) -> Any:
    """The JSON a receiver answers."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def settled(look: Callable[[], Any], expected: Any, patience_s: float = 120) -> Any:
    """What there is to see once it is as expected, or when patience ends: receivers write spans after they answer."""
    deadline = time.monotonic() + patience_s
    while (seen := look()) != expected and time.monotonic() < deadline:
        time.sleep(0.5)
    return seen


def _is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
