"""The answers that make exporters try again, asked for without a socket."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentdbg.receiver import serving as app_module
from agentdbg.receiver.serving import create_app
from agentdbg.receiver.trace_run import NotStored
from tests.receiver.test_traces import small_agent

if TYPE_CHECKING:
    import pytest
    from starlette.applications import Starlette

    from tests.receiver.conftest import Receiving

TOKEN = "told to whoever may send"


class Posted:
    """One request, whose body comes when the test says so."""

    def __init__(self, app: Starlette) -> None:
        self._body: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/traces",
            "query_string": b"",
            "headers": [
                (b"host", b"127.0.0.1:4318"),
                (b"content-type", b"application/x-protobuf"),
                (b"x-agentdbg-token", TOKEN.encode()),
            ],
        }
        self.task = asyncio.create_task(app(scope, self._body.get, self._send))

    def send(self, body: bytes, *, more: bool = False) -> None:
        self._body.put_nowait({"type": "http.request", "body": body, "more_body": more})

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_more_than_fits_into_memory_is_asked_for_again(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many services that send large batches in the same second wait their turn; what was being sent goes on."""
    monkeypatch.setattr(app_module, "_MOST_BYTES_HELD", 1000)
    body = small_agent().encoded()
    app = create_app(receiving.traces, token=TOKEN)

    async def both() -> tuple[Posted, Posted, Posted]:
        slow, second = Posted(app), Posted(app)
        slow.send(body[:900], more=True)
        await _settle()
        second.send(body[:200])
        await second.task
        slow.send(body[900:])
        await slow.task
        third = Posted(app)
        third.send(body)
        await third.task
        return slow, second, third

    slow, second, third = asyncio.run(both())
    assert (second.status, second.headers[b"retry-after"]) == (429, b"2")
    assert (slow.status, third.status) == (200, 200)
    assert len(receiving.runs()) == 1


def test_a_full_disk_is_asked_for_again(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exporters keep what they could not send for a while, so nothing is lost."""

    def full(_: Any) -> list[str]:
        raise NotStored("the disk is full")

    monkeypatch.setattr(receiving.traces, "take", full)

    async def post() -> Posted:
        posted = Posted(create_app(receiving.traces, token=TOKEN))
        posted.send(small_agent().encoded())
        await posted.task
        return posted

    posted = asyncio.run(post())
    assert (posted.status, posted.headers[b"retry-after"]) == (503, b"2")
