"""
The body of a model's answer as data: decompressed, and where it was streamed, as the events of the stream.

Knows server-sent events, lines of JSON, one long JSON list, and AWS's binary event streams. What cannot be read is left
out; half an answer gives the events that were whole.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import zlib
from typing import TYPE_CHECKING, Any

from agentdbg.around import pass_on

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["header_of", "read_body"]

_PRELUDE = 12
_CHECKSUM = 4
_TEXT_HEADER = 7
_FIXED_HEADERS = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_ANY_WINDOW = 32 + zlib.MAX_WBITS


def header_of(outcome: dict[str, Any], name: str) -> str:
    """A header of an answer, by its name in small letters; empty where there is none."""
    headers = outcome.get("headers") or {}
    return next((str(value) for key, value in headers.items() if str(key).lower() == name), "")


def read_body(outcome: dict[str, Any]) -> tuple[Any, list[dict[str, Any]]]:
    """What an answer holds: a document (None where there is none), or else the events of a stream."""
    body = _decompressed(b"".join(outcome.get("chunks") or ()), header_of(outcome, "content-encoding"))
    kind = header_of(outcome, "content-type")
    if "eventstream" in kind:
        return None, list(_binary_events(body))
    if not any(stream in kind for stream in ("event-stream", "ndjson", "jsonl")):
        try:
            document = json.loads(body)
        except ValueError as error:
            pass_on(error)
        else:
            return document, []
    return None, list(_text_events(body.decode("utf-8", "replace")))


def _decompressed(body: bytes, encoding: str) -> bytes:
    """The body as it was before the server compressed it, as far as it came."""
    for name in reversed([part.strip().lower() for part in encoding.split(",") if part.strip()]):
        if name in ("gzip", "x-gzip", "deflate"):
            body = _inflated(body)
        elif name in ("br", "zstd"):
            body = _by_library(body, name)
    return body


def _inflated(body: bytes) -> bytes:
    for window in (_ANY_WINDOW, -zlib.MAX_WBITS):
        try:
            return zlib.decompressobj(window).decompress(body)
        except zlib.error as error:
            pass_on(error)
    return b""


def _by_library(body: bytes, name: str) -> bytes:
    """Whoever asked for such an answer has loaded what unpacks it."""
    modules = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard", "compression.zstd", "backports.zstd")}[name]
    library: Any = next((sys.modules[module] for module in modules if module in sys.modules), None)
    if library is None:
        return b""
    unpacks = library.ZstdDecompressor().decompressobj() if hasattr(library, "ZstdCompressionObj") else None
    try:
        return bytes(unpacks.decompress(body) if unpacks is not None else library.decompress(body))
    except Exception as error:  # noqa: BLE001 -- each library has exceptions of its own
        pass_on(error)
        return b""


def _text_events(text: str) -> Iterator[dict[str, Any]]:
    """The JSON of each event: after `data:`, on a line of its own, or as a line of a list that was not closed."""
    for line in text.splitlines():
        content = line.removeprefix("data:").strip().removeprefix("[").strip().strip(",").strip()
        if content.startswith("{"):
            try:
                yield json.loads(content)
            except ValueError as error:
                pass_on(error)


def _binary_events(body: bytes) -> Iterator[dict[str, Any]]:
    """The events of an AWS event stream; `type` is what their headers call them."""
    at = 0
    while at + _PRELUDE + _CHECKSUM <= len(body):
        whole, names = struct.unpack_from("!II", body, at)
        if whole < _PRELUDE + _CHECKSUM + names or at + whole > len(body):
            return
        start = at + _PRELUDE
        headers = _binary_headers(body[start : start + names])
        event = _binary_payload(body[start + names : at + whole - _CHECKSUM])
        if ":exception-type" in headers:
            yield {"error": {"type": headers[":exception-type"], "message": str(event.get("message", ""))}}
        elif isinstance(event.get("bytes"), str):  # a model's own event, wrapped
            yield _binary_payload(base64.b64decode(event["bytes"]))
        else:
            yield {"type": headers.get(":event-type", ""), **event}
        at += whole


def _binary_payload(payload: bytes) -> dict[str, Any]:
    try:
        document = json.loads(payload)
    except ValueError as error:
        pass_on(error)
        return {}
    return document if isinstance(document, dict) else {}


def _binary_headers(block: bytes) -> dict[str, str]:
    headers, at = {}, 0
    while at < len(block):
        name = block[at + 1 : at + 1 + block[at]].decode("latin-1")
        at += 1 + block[at]
        kind, at = block[at], at + 1
        if kind in _FIXED_HEADERS:
            at += _FIXED_HEADERS[kind]
            continue
        (length,) = struct.unpack_from("!H", block, at)
        if kind == _TEXT_HEADER:
            headers[name] = block[at + 2 : at + 2 + length].decode("utf-8", "replace")
        at += 2 + length
    return headers
