"""What the framework tests share: a model on loopback, and a network that ends there."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.fake_openai_server import FakeServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.register_assert_rewrite("tests.integrations.story")

_LOOPBACK = ("127.0.0.1", "::1", "localhost", None, "")


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture(autouse=True)
def _closed_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """
    Nothing leaves this machine: whoever tries gets an error, and the test fails even when that is swallowed.

    The programs that tests start are watched as well, by a guard that each Python loads before anything else.
    """
    attempts: list[Any] = []
    log = tmp_path / "network-attempts"
    monkeypatch.setenv("NETWORK_GUARD_LOG", str(log))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "network" / "guard"))

    def refuse_elsewhere(host: Any) -> None:
        if host not in _LOOPBACK and not isinstance(host, bytes):
            attempts.append(host)
            raise OSError(f"the network is closed during this test; {host!r} was asked for")

    def guarded(method: Any) -> Any:
        def connect(self: socket.socket, address: Any) -> Any:
            if self.family != getattr(socket, "AF_UNIX", None):
                refuse_elsewhere(address[0])
            return method(self, address)

        return connect

    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        refuse_elsewhere(host)
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_", "LANGSMITH_", "LANGCHAIN_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    yield
    assert attempts == []
    assert not log.exists(), log.read_text()
