"""What the framework tests share: a model on loopback, and a network that ends there."""

from __future__ import annotations

import os
import socket
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
def _closed_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing leaves this machine: whoever tries gets an error, and the test fails even when that is swallowed."""
    attempts: list[Any] = []

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
