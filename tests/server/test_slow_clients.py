"""A server and those who connect and do not ask."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from agentdbg.server import slow_clients
from agentdbg.server.lifecycle import listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.slow

_WHOLE = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"
_HALF_A_HEAD = b"POST / HTTP/1.1\r\nHost: loc"
_HALF_A_BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nh"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _application(scope: Any, receive: Any, send: Any) -> None:
    assert scope["type"] == "http"
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


@contextlib.asynccontextmanager
async def _serving(monkeypatch: pytest.MonkeyPatch, **limits: float) -> AsyncIterator[Callable[[bytes], Any]]:
    """A server with these limits; gives what opens a connection and sends some bytes."""
    for name, value in limits.items():
        monkeypatch.setattr(slow_clients, name, value)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    listener = listen("127.0.0.1", 0)
    config = uvicorn.Config(
        _application, log_config=None, lifespan="off", http=slow_clients.patient_protocol(), limit_concurrency=20
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    opened: list[Any] = []

    async def connect(content: bytes) -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.getsockname()[1])
        opened.append(writer)
        writer.write(content)
        await writer.drain()
        return reader, writer

    try:
        yield connect
    finally:
        for writer in opened:
            writer.close()
        server.should_exit = True
        await asyncio.wait_for(serving, 10)


async def _status(reader: asyncio.StreamReader) -> int:
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    return int(head.split()[1])


@pytest.mark.parametrize("sent", [b"", _HALF_A_HEAD], ids=["nothing", "half a head"])
def test_a_connection_without_a_request_is_closed(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds one of a few hundred places."""

    async def try_it() -> bytes:
        async with _serving(monkeypatch, HEAD_SECONDS=0.1) as connect:
            reader, _ = await connect(sent)
            return await asyncio.wait_for(reader.read(), 10)

    assert asyncio.run(try_it()) == b""


def test_half_a_body_is_answered_and_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender that hangs must not be waited for until it is gone, and may learn why."""

    async def try_it() -> bytes:
        async with _serving(monkeypatch, BODY_SECONDS=0.1) as connect:
            reader, _ = await connect(_HALF_A_BODY)
            return await asyncio.wait_for(reader.read(), 10)

    answer = asyncio.run(try_it())
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert answer.endswith(b"the body did not come within 30 seconds")


def test_half_a_head_after_a_request_is_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that was once used well is no better than another."""

    async def try_it() -> tuple[int, bytes]:
        async with _serving(monkeypatch, HEAD_SECONDS=0.1) as connect:
            reader, writer = await connect(_WHOLE)
            status = await _status(reader)
            writer.write(_HALF_A_HEAD)
            return status, await asyncio.wait_for(reader.read(), 10)

    assert asyncio.run(try_it()) == (200, b"")


def test_a_connection_may_rest_between_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exporters keep theirs open for the next batch, which may be seconds away."""

    async def try_it() -> list[int]:
        async with _serving(monkeypatch, HEAD_SECONDS=0.1, BODY_SECONDS=0.1) as connect:
            reader, writer = await connect(_WHOLE)
            statuses = [await _status(reader)]
            await asyncio.sleep(0.3)
            writer.write(_WHOLE)
            statuses.append(await _status(reader))
            return statuses

    assert asyncio.run(try_it()) == [200, 200]


@pytest.mark.parametrize("sent", [b"", _HALF_A_HEAD, _HALF_A_BODY, _WHOLE], ids=["nothing", "head", "body", "resting"])
def test_many_silent_connections_lock_nobody_out(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens as many as there are places would else keep everybody away, for free."""

    async def try_it() -> int:
        async with _serving(monkeypatch, MOST_SILENT=10) as connect:
            for _ in range(60):
                reader, _writer = await connect(sent)
                if sent == _WHOLE:
                    await _status(reader)
            reader, _writer = await connect(_WHOLE)
            return await _status(reader)

    assert asyncio.run(try_it()) == 200


def test_requests_sent_in_one_go_are_answered_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is there before the first is answered, so the connection is not silent in between."""

    async def try_it() -> list[int]:
        async with _serving(monkeypatch, HEAD_SECONDS=0.1, BODY_SECONDS=0.1) as connect:
            reader, _ = await connect(_WHOLE * 3)
            return [await _status(reader) for _ in range(3)]

    assert asyncio.run(try_it()) == [200, 200, 200]
