"""
Hooks in urllib3, and so in requests and botocore: each request to a pool of connections is an `Exchange`.

What urllib3 repeats or redirects by itself belongs to the request that it was asked for. The body is noted before it is
decompressed, at the two places where a response reads from its connection.
"""

from __future__ import annotations

import builtins
import functools
import http.client
import sys
from email.parser import Parser
from typing import Any

from agentdbg.integrations._http_exchange import CLOSED, Exchange, Request, begin_exchange, rebuilt_error, trace_header
from agentdbg.integrations._private_names import URLLIB3_CHUNK_READ, URLLIB3_METHOD, URLLIB3_READS

__all__ = ["install"]

_HTTP_1_1 = 11


def install(package: str) -> None:
    """Stand around the pools of `urllib3`."""
    module: Any = sys.modules[package]
    original = vars(module.HTTPConnectionPool).get("urlopen")
    if original is None or hasattr(original, "agentdbg_original"):
        return
    told = _told_class(module.HTTPResponse)

    @functools.wraps(original)
    def urlopen(pool: Any, method: str, url: str, body: Any = None, headers: Any = None, *args: Any, **kw: Any) -> Any:
        mark = None if pool.proxy is not None else trace_header(pool.host)  # through a proxy it may lead anywhere
        if mark is not None:
            headers = _marked(pool.headers if headers is None else headers, mark)
        exchange = begin_exchange(method, pool.host, url, lambda: _described(pool, method, url, body, headers))
        if exchange is None:
            return original(pool, method, url, body, headers, *args, **kw)
        is_preloaded, decodes = kw.get("preload_content", True), kw.get("decode_content", True)

        def send(edited: bytes | None) -> Any:
            data, head = (body, headers) if edited is None else (edited, _without_length(headers))
            place = "/" + exchange.address.partition("://")[2].partition("/")[2] if exchange.address else url
            return original(pool, method, place, data, head, *args, **{**kw, "preload_content": False})

        try:
            response = exchange.make(send)
            if isinstance(response, dict):
                response = _rebuilt(module, response, pool, method, url)
            exchange.answered(response.status, response.headers.items())
            response.agentdbg_exchange = exchange
            response.__class__ = told
            if is_preloaded:
                response.read(decode_content=decodes, cache_content=True)
        except BaseException as error:
            exchange.end(error)
            raise
        return response

    replacement: Any = urlopen
    replacement.agentdbg_original = original
    module.HTTPConnectionPool.urlopen = urlopen


def _described(pool: Any, method: str, url: str, body: Any, headers: Any) -> Request:
    address = url if "://" in url[:8] else f"{pool.scheme}://{pool.host}{_port(pool)}{url}"
    known = {str(name).lower(): value for name, value in dict(headers or pool.headers or {}).items()}
    kind = known.get("content-type", "")
    text = kind.decode("latin-1") if isinstance(kind, bytes) else str(kind)
    content = body.encode() if isinstance(body, str) else bytes(body) if isinstance(body, (bytes, bytearray)) else None
    return Request(method, address, content, text)


def _port(pool: Any) -> str:
    usual = {"http": 80, "https": 443}.get(pool.scheme)
    return "" if pool.port in (None, usual) else f":{pool.port}"


def _marked(headers: Any, mark: str) -> Any:
    """The headers with our mark, in the kind they are of, unless the program has one of its own."""
    if any(str(name).lower() == "traceparent" for name in headers or ()):
        return headers
    marked = headers.copy() if hasattr(headers, "copy") else dict(headers or ())
    marked["traceparent"] = mark
    return marked


def _without_length(headers: Any) -> Any:
    if headers is None:
        return None
    return {name: value for name, value in dict(headers).items() if str(name).lower() != "content-length"}


def _told_class(kind: Any) -> type:
    """A class like the library's response, which tells an exchange what is read from the connection."""

    def reading(name: str) -> Any:
        original = getattr(kind, name)

        @functools.wraps(original)
        def read(self: Any, *args: Any, **kwargs: Any) -> Any:
            self.agentdbg_is_reading = True
            try:
                data = original(self, *args, **kwargs)
            except BaseException as error:
                self.agentdbg_exchange.end(error)
                raise
            finally:
                self.agentdbg_is_reading = False
            if data is None:  # the length of a chunk was read; one of 0 is the last
                self.agentdbg_is_whole = self.chunk_left == 0
                return data
            self.agentdbg_exchange.saw(data)
            if name == URLLIB3_READS[0]:
                amount, left = args[0] if args else kwargs.get("amt"), self.length_remaining
                self.agentdbg_is_whole = amount is None or not data or (left is not None and len(data) >= left)
            return data

        return read

    class HTTPResponse(kind):  # type: ignore[misc]
        agentdbg_exchange: Exchange
        agentdbg_is_reading = False
        agentdbg_is_whole = False

        def release_conn(self) -> None:
            # Called when nothing is left to read, after a failure, and by readers who have had enough.
            super().release_conn()
            self.agentdbg_exchange.end(None if self.agentdbg_is_whole else CLOSED)

        def close(self) -> None:
            if not self.agentdbg_is_reading:  # else it closes itself, because what it reads is broken
                self.agentdbg_exchange.end(None if self.agentdbg_is_whole else CLOSED)
            super().close()

        def __del__(self) -> None:
            self.agentdbg_exchange.end(CLOSED)
            super().__del__()

    for name in URLLIB3_READS:
        if hasattr(kind, name):
            setattr(HTTPResponse, name, reading(name))
    HTTPResponse.__qualname__, HTTPResponse.__module__ = kind.__qualname__, kind.__module__
    return HTTPResponse


# An answer that was not sent for.


def _rebuilt(module: Any, outcome: dict[str, Any], pool: Any, method: str, url: str) -> Any:
    """The response that an outcome stands for. Raises what the request came to, if nothing was answered."""
    if outcome.get("status") is None:
        raise rebuilt_error(outcome["cut"], module.exceptions, builtins, pool=pool, url=url, conn=None)
    pairs = [(str(name), str(value)) for name, value in (outcome.get("headers") or {}).items()]
    is_chunked = any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in pairs)
    body = (_RecordedInChunks if is_chunked else _Recorded)(outcome, pairs, module)
    setattr(body, URLLIB3_METHOD, method)
    kept = module.response.HTTPHeaderDict()
    for name, value in pairs:
        kept.add(name, value)
    known = {"version_string": "HTTP/1.1"} if hasattr(module, "BaseHTTPResponse") else {}
    return module.HTTPResponse(
        body=body,
        headers=kept,
        status=outcome["status"],
        version=_HTTP_1_1,
        reason=http.client.responses.get(outcome["status"], ""),
        preload_content=False,
        original_response=body,
        request_method=method,
        request_url=url,
        **known,
    )


class _Recorded:
    """The body of an outcome, which stands for the connection that it once came over."""

    def __init__(self, outcome: dict[str, Any], headers: list[tuple[str, str]], module: Any) -> None:
        self._module = module
        self._chunks = [bytes(chunk) for chunk in outcome.get("chunks") or ()]
        self._cut = outcome.get("cut")
        self.closed = False
        self.msg = Parser(http.client.HTTPMessage).parsestr("\r\n".join(f"{name}: {value}" for name, value in headers))

    def read(self, amount: int | None = None) -> bytes:
        """Give what came as one piece, or a part of it; everything when no amount is named."""
        if amount is None or amount < 0:
            data, self._chunks = b"".join(self._chunks), []
        elif self._chunks:
            data, rest = self._chunks[0][:amount], self._chunks[0][amount:]
            self._chunks[:1] = [rest] if rest else []
        else:
            data = b""
        if not self._chunks and (not data or amount is None):
            self._break_off(data)
            self.close()
        return data

    read1 = read

    def _break_off(self, partial: bytes = b"") -> None:
        if self._cut not in (None, CLOSED):
            modules = (self._module.exceptions, http.client, builtins)
            raise rebuilt_error(self._cut, *modules, partial=partial, expected=None)

    def close(self) -> None:
        """Let readers know that nothing is left."""
        self.closed = True

    def isclosed(self) -> bool:
        """Whether everything has been read."""
        return self.closed


class _RecordedInChunks(_Recorded):
    """The same for a body that came in chunks, each of which is a piece for its reader."""

    def __init__(self, outcome: dict[str, Any], headers: list[tuple[str, str]], module: Any) -> None:
        super().__init__(outcome, headers, module)
        self.fp = self
        self._is_at_end = False
        vars(self)[URLLIB3_CHUNK_READ] = self._bytes_of_chunk

    def readline(self, _limit: int = -1) -> bytes:
        """Give the line before a chunk, which has its length."""
        if self._chunks:
            return b"%x\r\n" % len(self._chunks[0])
        self._break_off()
        was_at_end, self._is_at_end = self._is_at_end, True
        return b"" if was_at_end else b"0\r\n"

    def _bytes_of_chunk(self, amount: int) -> bytes:
        if self._chunks and not self._chunks[0]:
            del self._chunks[0]
            return b"\r\n"
        data, self._chunks[0] = self._chunks[0][:amount], self._chunks[0][amount:]
        return data
