"""
Hooks in httpx and httpx2: each request that goes over a connection is an `Exchange`.

They stand where a client hands a request to its connections, so that redirects, retries and authentication are requests
of their own, and what an answer is made of (decompressing, decoding, parsing) happens as always, above.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.integrations._http_exchange import CLOSED, Exchange, Request, begin_exchange, rebuilt_error, trace_header

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = ["install"]

_TRACE = "traceparent"


def install(package: str) -> None:
    """Stand around the connections of `httpx` or `httpx2`."""
    library = _Library(sys.modules[package])
    for kind, name, around in (
        (library.module.HTTPTransport, "handle_request", library.around),
        (library.module.AsyncHTTPTransport, "handle_async_request", library.around_async),
    ):
        original = vars(kind).get(name)
        if original is not None and not hasattr(original, "agentdbg_original"):
            replacement: Any = functools.wraps(original)(around(original))
            replacement.agentdbg_original = original
            setattr(kind, name, replacement)


class _Library:
    def __init__(self, module: Any) -> None:
        self.module = module
        self._stream, self._async_stream = _told_stream(module), _told_async_stream(module)

    def around(self, original: Any) -> Any:
        def handle_request(transport: Any, request: Any) -> Any:
            exchange = begin_exchange(request.method, request.url.host, request.url.path, lambda: _described(request))
            if exchange is None:
                return original(transport, request)
            try:
                response = exchange.make(lambda body: original(transport, self._with_body(request, body, exchange)))
                if isinstance(response, dict):
                    response = self._rebuilt(response)
            except BaseException as error:
                exchange.end(error)
                raise
            exchange.answered(response.status_code, _headers(response))
            response.stream = self._stream(response.stream, exchange)
            return response

        return _marking(handle_request)

    def around_async(self, original: Any) -> Any:
        async def handle_async_request(transport: Any, request: Any) -> Any:
            exchange = begin_exchange(request.method, request.url.host, request.url.path, lambda: _described(request))
            if exchange is None:
                return await original(transport, request)
            try:
                response = await exchange.make_async(
                    lambda body: original(transport, self._with_body(request, body, exchange))
                )
                if isinstance(response, dict):
                    response = self._rebuilt(response)
            except BaseException as error:
                exchange.end(error)
                raise
            exchange.answered(response.status_code, _headers(response))
            response.stream = self._async_stream(response.stream, exchange)
            return response

        return _marking_async(handle_async_request)

    def _with_body(self, request: Any, body: bytes | None, exchange: Exchange) -> Any:
        if body is None:
            return request
        url = exchange.address or request.url
        kept = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        return type(request)(request.method, url, headers=kept, content=body, extensions=request.extensions)

    def _rebuilt(self, outcome: dict[str, Any]) -> Any:
        """The response that an outcome stands for. Raises what the request came to, if nothing was answered."""
        if outcome.get("status") is None:
            raise self._error(outcome["cut"])
        headers = outcome.get("headers") or {}
        return self.module.Response(
            outcome["status"],
            headers=[(str(name), str(value)) for name, value in headers.items()],
            stream=_Recorded(outcome, self._error),
            extensions={"http_version": b"HTTP/1.1"},
        )

    def _error(self, cut: str) -> Exception:
        return rebuilt_error(cut, self.module, _request=None)


def _marking(handle: Any) -> Any:
    """Send our mark with a request, and take it off again: a redirect to elsewhere is made from that request."""

    def handle_request(transport: Any, request: Any) -> Any:
        is_marked = _mark(request)
        try:
            return handle(transport, request)
        finally:
            if is_marked:
                request.headers.pop(_TRACE, None)

    return handle_request


def _marking_async(handle: Any) -> Any:
    """Do the same where it is awaited."""

    async def handle_async_request(transport: Any, request: Any) -> Any:
        is_marked = _mark(request)
        try:
            return await handle(transport, request)
        finally:
            if is_marked:
                request.headers.pop(_TRACE, None)

    return handle_async_request


def _mark(request: Any) -> bool:
    mark = trace_header(request.url.host)
    if mark is None or _TRACE in request.headers:
        return False
    request.headers[_TRACE] = mark
    return True


def _described(request: Any) -> Request:
    try:
        body = request.content
    except Exception as error:  # the body is a stream, which only the connection reads
        if type(error).__name__ != "RequestNotRead":
            raise
        body = None
    return Request(request.method, str(request.url), body, request.headers.get("content-type", ""))


def _headers(response: Any) -> list[tuple[str, str]]:
    return response.headers.multi_items()  # type: ignore[no-any-return]


class _Recorded:
    """The body of an outcome, piece by piece."""

    def __init__(self, outcome: dict[str, Any], error: Any) -> None:
        self._outcome = outcome
        self._error = error

    def __iter__(self) -> Iterator[bytes]:
        yield from self._outcome.get("chunks") or ()
        cut = self._outcome.get("cut")
        if cut not in (None, CLOSED):
            raise self._error(cut)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

    def close(self) -> None:
        """Nothing is open."""

    async def aclose(self) -> None:
        """Nothing is open."""


def _told_stream(module: Any) -> type:
    """The class of a response's body that tells an exchange what passes through it."""

    class Told(module.SyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any, exchange: Exchange) -> None:
            self._stream = stream
            self._exchange = exchange

        def __iter__(self) -> Iterator[bytes]:
            try:
                for chunk in self._stream:
                    self._exchange.saw(chunk)
                    yield chunk
            except BaseException as error:
                self._exchange.end(error)
                raise
            self._exchange.end()

        def close(self) -> None:
            try:
                self._stream.close()
            finally:
                self._exchange.end(CLOSED)

        def __del__(self) -> None:
            self._exchange.end(CLOSED)

    return Told


def _told_async_stream(module: Any) -> type:
    """The same for a body that is awaited."""

    class ToldAsync(module.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any, exchange: Exchange) -> None:
            self._stream = stream
            self._exchange = exchange

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in self._stream:
                    self._exchange.saw(chunk)
                    yield chunk
            except BaseException as error:
                self._exchange.end(error)
                raise
            await self._exchange.end_async()

        async def aclose(self) -> None:
            try:
                await self._stream.aclose()
            finally:
                await self._exchange.end_async(CLOSED)

        def __del__(self) -> None:
            self._exchange.end(CLOSED)

    return ToldAsync
