"""
Hooks in DSPy's own HTTP client: each request that goes over a connection is an `Exchange`.

DSPy carries a client with it, of which nothing is public but what its classes can do: a transport opens a stream, and a
response is read piece by piece and closed. A response that is handed on is a new one, made around the first.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentdbg.integrations._http_exchange import CLOSED, Exchange, Request, begin_exchange, rebuilt_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator

__all__ = ["install"]


def install(package: str) -> None:
    """Stand around the transports of DSPy's client."""
    module: Any = sys.modules[package]
    for kind, around in ((module.StdlibTransport, _around), (module.StdlibAsyncTransport, _around_async)):
        original = vars(kind).get("stream")
        if original is not None and not hasattr(original, "agentdbg_original"):
            replacement: Any = functools.wraps(original)(around(original, module))
            replacement.agentdbg_original = original
            kind.stream = replacement


def _begun(request: Any) -> Exchange | None:
    address = urlsplit(request.url)
    return begin_exchange(request.method, address.hostname or "", address.path, lambda: _described(request))


def _described(request: Any) -> Request:
    kind = next((value for name, value in request.headers if name.lower() == "content-type"), "")
    return Request(request.method, request.url, request.body, kind)


def _with_body(request: Any, body: bytes | None, exchange: Exchange) -> Any:
    if body is None:
        return request
    kept = [(name, value) for name, value in request.headers if name.lower() != "content-length"]
    return type(request)(request.method, exchange.address or request.url, kept, body)


def _around(original: Any, module: Any) -> Any:
    def stream(transport: Any, request: Any) -> Any:
        exchange = _begun(request)
        if exchange is None:
            return original(transport, request)
        try:
            response = exchange.make(lambda body: original(transport, _with_body(request, body, exchange)))
            if isinstance(response, dict):
                return _rebuilt(module, module.TransportResponse, response, exchange, _Recorded(response, module))
        except BaseException as error:
            exchange.end(error)
            raise
        exchange.answered(response.status, response.headers)

        def release(_: bool) -> None:
            response.close()
            exchange.end(CLOSED)

        return _made(module.TransportResponse, response, _told(response, exchange), release)

    return stream


def _told(response: Any, exchange: Exchange) -> Iterator[bytes]:
    try:
        for chunk in response:
            exchange.saw(chunk)
            yield chunk
    except BaseException as error:
        exchange.end(error)
        raise
    exchange.end()


def _around_async(original: Any, module: Any) -> Any:
    def stream(transport: Any, request: Any) -> Any:
        return _Opening(original, module, transport, request)

    return stream


class _Opening:
    """What an asynchronous transport gives: awaited, or entered, it is the response."""

    def __init__(self, original: Any, module: Any, transport: Any, request: Any) -> None:
        self._original, self._module = original, module
        self._transport, self._request = transport, request
        self._response: Any = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._open().__await__()

    async def __aenter__(self) -> Any:
        self._response = await self._open()
        return self._response

    async def __aexit__(self, *error: object) -> None:
        await self._response.aclose()

    async def _open(self) -> Any:
        exchange = _begun(self._request)
        if exchange is None:
            return await self._original(self._transport, self._request)
        module = self._module
        try:
            response = await exchange.make_async(
                lambda body: _awaited(self._original(self._transport, _with_body(self._request, body, exchange)))
            )
            if isinstance(response, dict):
                recorded = _Recorded(response, module)
                return _rebuilt(module, module.AsyncTransportResponse, response, exchange, recorded)
        except BaseException as error:
            exchange.end(error)
            raise
        exchange.answered(response.status, response.headers)

        async def release(_: bool) -> None:
            await response.aclose()
            await exchange.end_async(CLOSED)

        return _made(module.AsyncTransportResponse, response, _told_async(response, exchange), release)


async def _awaited(opening: Any) -> Any:
    return await opening


async def _told_async(response: Any, exchange: Exchange) -> AsyncIterator[bytes]:
    try:
        async for chunk in response:
            exchange.saw(chunk)
            yield chunk
    except BaseException as error:
        exchange.end(error)
        raise
    await exchange.end_async()


def _made(kind: Any, response: Any, chunks: Any, release: Any) -> Any:
    return kind(
        status=response.status,
        reason=response.reason,
        headers=response.headers,
        http_version=response.http_version,
        chunks=chunks,
        release=release,
    )


# An answer that was not sent for.


def _rebuilt(module: Any, kind: Any, outcome: dict[str, Any], exchange: Exchange, recorded: _Recorded) -> Any:
    """The response that an outcome stands for. Raises what the request came to, if nothing was answered."""
    if outcome.get("status") is None:
        raise rebuilt_error(outcome["cut"], module)
    headers = [(str(name), str(value)) for name, value in (outcome.get("headers") or {}).items()]
    exchange.answered(outcome["status"], headers)
    is_awaited = kind is module.AsyncTransportResponse
    return kind(
        status=outcome["status"],
        reason="",
        headers=headers,
        http_version="HTTP/1.1",
        chunks=_told_async(recorded, exchange) if is_awaited else _told(recorded, exchange),
        release=recorded.aclose if is_awaited else recorded.close,
    )


class _Recorded:
    """The body of an outcome, piece by piece."""

    def __init__(self, outcome: dict[str, Any], module: Any) -> None:
        self._outcome, self._module = outcome, module

    def __iter__(self) -> Iterator[bytes]:
        yield from self._outcome.get("chunks") or ()
        cut = self._outcome.get("cut")
        if cut not in (None, CLOSED):
            raise rebuilt_error(cut, self._module)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

    def close(self, *_: object) -> None:
        """Nothing is open."""

    async def aclose(self, *_: object) -> None:
        """Nothing is open."""
