"""
Hooks in aiohttp: each request of a session is an `Exchange`.

What a session redirects by itself belongs to the request that it was asked for. aiohttp decompresses a body before
anybody can read it, so the bytes that are noted are the decompressed ones, and no encoding is noted with them.
"""

from __future__ import annotations

import asyncio
import builtins
import functools
import inspect
import json
import sys
from http.client import responses as reasons
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from agentdbg.integrations._http_exchange import CLOSED, Exchange, Request, begin_exchange, rebuilt_error, trace_header
from agentdbg.integrations._private_names import (
    AIOHTTP_BASE_URL,
    AIOHTTP_CONNECTION_KEY,
    AIOHTTP_RAISES,
    AIOHTTP_REQUEST,
    AIOHTTP_RESPONSE,
)

__all__ = ["install"]

_LIMIT = 1 << 30
_READS = ("read", "readany", "readchunk", "readexactly", "readline", "readuntil")


def install(package: str) -> None:
    """Stand around the sessions of `aiohttp`."""
    module: Any = sys.modules[package]
    original = vars(module.ClientSession).get(AIOHTTP_REQUEST)
    if original is None or hasattr(original, "agentdbg_original"):
        return

    @functools.wraps(original)
    async def request(session: Any, method: str, str_or_url: Any, **kw: Any) -> Any:
        address = str(str_or_url)  # a text, or yarl's own kind of address
        mark = trace_header(_host(address))
        if mark is not None and kw.get("allow_redirects") is False:  # else it would follow a redirect to elsewhere
            kw = {**kw, "headers": _marked(kw.get("headers"), session.headers, mark)}
        exchange = begin_exchange(
            method.upper(), _host(address), address, lambda: _described(session, method, str_or_url, kw)
        )
        if exchange is None:
            return await original(session, method, str_or_url, **kw)
        try:
            response = await exchange.make_async(
                lambda body: original(
                    session, method, exchange.address or str_or_url, **_with_body(kw, body, exchange.address)
                )
            )
            is_served = isinstance(response, dict)
            if is_served:
                response = _rebuilt(module, response, session, method, exchange.request)
            _stand_around(response, exchange)
            if is_served:
                await _raise_for_status(session, response, kw)
        except module.ClientResponseError as error:
            exchange.answered(error.status, _noted(error.headers or {}))
            exchange.end()
            raise
        except BaseException as error:
            exchange.end(error)
            raise
        return response

    replacement: Any = request
    replacement.agentdbg_original = original
    setattr(module.ClientSession, AIOHTTP_REQUEST, request)


def _marked(headers: Any, of_session: Any, mark: str) -> Any:
    """The headers of a request and the mark, unless the program has one of its own."""
    pairs = list(headers.items() if hasattr(headers, "items") else headers or ())
    known = {str(name).lower() for name, _ in pairs} | {str(name).lower() for name in of_session or ()}
    return pairs if "traceparent" in known else [*pairs, ("traceparent", mark)]


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _described(session: Any, method: str, str_or_url: Any, kw: dict[str, Any]) -> Request:
    base = getattr(session, AIOHTTP_BASE_URL, None)
    url = type(base)(str_or_url) if base is not None else str_or_url
    address = str(base.join(url) if base is not None and not url.is_absolute() else url)
    params = kw.get("params")
    if params:
        pairs = params.items() if hasattr(params, "items") else params
        query = params if isinstance(params, str) else "&".join(f"{name}={value}" for name, value in pairs)
        address += ("&" if "?" in address else "?") + query
    body, kind = kw.get("data"), _content_type(kw)
    if kw.get("json") is not None:
        body, kind = json.dumps(kw["json"]), "application/json"
    content = body.encode() if isinstance(body, str) else bytes(body) if isinstance(body, (bytes, bytearray)) else None
    return Request(method.upper(), address, content, kind)


def _content_type(kw: dict[str, Any]) -> str:
    pairs = dict(kw.get("headers") or {}).items()
    return next((str(value) for name, value in pairs if str(name).lower() == "content-type"), "")


def _with_body(kw: dict[str, Any], body: bytes | None, address: str) -> dict[str, Any]:
    if body is None:
        return kw
    if address:  # what was asked for by name stands in it
        kw = {name: value for name, value in kw.items() if name != "params"}
    headers = dict(kw.get("headers") or {})
    if kw.get("json") is not None and not _content_type(kw):
        headers["Content-Type"] = "application/json"
    return {**kw, "json": None, "data": body, "headers": headers}


# Listening to a response.


def _stand_around(response: Any, exchange: Exchange) -> None:
    exchange.answered(response.status, _noted(response.headers))
    response.content = _Told(response.content, exchange)
    response.agentdbg_exchange = exchange
    kind: Any = type(response)
    response.__class__ = _told_class(kind)


def _noted(headers: Any) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers.items() if name.lower() != "content-encoding"]


@functools.cache
def _told_class(kind: Any) -> type:
    """A class like this one, but the exchange hears of it when the reader has had enough."""

    class Response(kind):  # type: ignore[misc]
        def close(self) -> None:
            self.agentdbg_exchange.end(CLOSED)
            super().close()

        def release(self) -> Any:
            self.agentdbg_exchange.end(None if self.content.at_eof() else CLOSED)
            return super().release()

        def __del__(self) -> None:
            self.agentdbg_exchange.end(CLOSED)
            super().__del__()

    Response.__name__, Response.__qualname__, Response.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    return Response


class _Told:
    """A body that tells an exchange what its reader gets; for all else it is what it stands around."""

    def __init__(self, reader: Any, exchange: Exchange) -> None:
        self._reader = reader
        self._exchange = exchange
        for name in _READS:
            if hasattr(reader, name):
                setattr(self, name, self._reading(getattr(reader, name)))

    def _reading(self, original: Any) -> Any:
        @functools.wraps(original)
        async def read(*args: Any, **kwargs: Any) -> Any:
            try:
                data = await original(*args, **kwargs)
            except BaseException as error:
                self._exchange.end(error)
                raise
            self._exchange.saw(data[0] if isinstance(data, tuple) else data)
            if self._reader.at_eof():
                await self._exchange.end_async()
            return data

        return read

    def read_nowait(self, n: int = -1) -> bytes:
        data: bytes = self._reader.read_nowait(n)
        self._exchange.saw(data)
        return data

    def __aiter__(self) -> Any:
        return self._over(type(self._reader).__aiter__)

    def iter_chunked(self, n: int) -> Any:
        return self._over(type(self._reader).iter_chunked, n)

    def iter_any(self) -> Any:
        return self._over(type(self._reader).iter_any)

    def iter_chunks(self) -> Any:
        return self._over(type(self._reader).iter_chunks)

    def _over(self, method: Any, *args: Any) -> Any:
        return method(self, *args)  # the library's own iterators, which read by the methods above

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    @property
    def __class__(self) -> Any:
        return type(self._reader)

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        raise TypeError


# An answer that was not sent for.


def _rebuilt(module: Any, outcome: dict[str, Any], session: Any, method: str, request: Request) -> Any:
    """The response that an outcome stands for. Raises what the request came to, if nothing was answered."""
    url = _url_class(module)(request.url)
    if outcome.get("status") is None:
        raise _error(module, outcome["cut"], url)
    loop = asyncio.get_running_loop()
    pairs = [(str(name), str(value)) for name, value in (outcome.get("headers") or {}).items()]
    kinds = sys.modules["multidict"]
    kept = kinds.CIMultiDictProxy(kinds.CIMultiDict(pairs))
    sent = kinds.CIMultiDictProxy(kinds.CIMultiDict())
    known: dict[str, Any] = {
        "writer": None,
        "continue100": None,
        "timer": None,
        "request_info": module.RequestInfo(url, method.upper(), sent, url),
        "traces": [],
        "loop": loop,
        "session": session,
        "stream_writer": SimpleNamespace(output_size=len(request.body or b"")),
    }
    kind = getattr(session, AIOHTTP_RESPONSE["class"], module.ClientResponse)
    wanted = inspect.signature(kind.__init__).parameters
    response = kind(method.upper(), url, **{name: value for name, value in known.items() if name in wanted})
    response.version, response.status = module.HttpVersion11, outcome["status"]
    response.reason = reasons.get(outcome["status"], "")
    raw = tuple((name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in pairs)
    setattr(response, AIOHTTP_RESPONSE["headers"], kept)
    setattr(response, AIOHTTP_RESPONSE["raw headers"], raw)
    response.content = _body(module, outcome, url, loop)
    return response


def _body(module: Any, outcome: dict[str, Any], url: Any, loop: Any) -> Any:
    cut = outcome.get("cut")

    class Recorded(module.StreamReader):  # type: ignore[misc]
        """The body of an outcome; it ends, or breaks off, where the reader would have to wait."""

        async def _wait(self, _: str) -> None:
            if cut not in (None, CLOSED):
                raise _error(module, cut, url)
            self.feed_eof()

    reader = Recorded(sys.modules["aiohttp.base_protocol"].BaseProtocol(loop), limit=_LIMIT, loop=loop)
    for chunk in outcome.get("chunks") or ():
        reader.begin_http_chunk_receiving()
        reader.feed_data(bytes(chunk), len(chunk))
        reader.end_http_chunk_receiving()
    if cut in (None, CLOSED):
        reader.feed_eof()
    return reader


def _error(module: Any, cut: str, url: Any) -> Exception:
    key = SimpleNamespace(host=url.host, port=url.port, is_ssl=url.scheme == "https", ssl=True)
    known = {AIOHTTP_CONNECTION_KEY: key, "_os_error": OSError(cut.partition(": ")[2])}
    return rebuilt_error(cut, module, asyncio, builtins, **known)


def _url_class(module: Any) -> Any:
    return sys.modules["yarl"].URL if "yarl" in sys.modules else module.client.URL


async def _raise_for_status(session: Any, response: Any, kw: dict[str, Any]) -> None:
    wanted = kw.get("raise_for_status")
    if wanted is None:
        wanted = getattr(session, AIOHTTP_RAISES, False)
    if callable(wanted):
        await wanted(response)
    elif wanted:
        response.raise_for_status()
