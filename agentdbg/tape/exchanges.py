"""
The body of an HTTP response as it came, chunk by chunk, without its secrets.

A secret that is streamed is cut into pieces, which look harmless one by one. So the whole body is read first: as JSON,
as JSON lines or server-sent events (the texts at one place of all events as one text), and as plain text. Then the
chunks are cut again where they were, except within a line that had to change.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.faults import pass_on
from agentdbg.tape.value_store import Lost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentdbg.redaction import Redactor
    from agentdbg.redaction.whole import SecretNumbers

__all__ = ["clean_chunks", "kept_headers", "unpacked_chunks"]

_KEPT_HEADERS = re.compile(
    r"content-type|content-encoding|retry-after(?:-ms)?|x-should-retry|(?:x-|anthropic-|openai-)?request-id"
    r"|x-amzn-requestid|mcp-session-id",
    re.IGNORECASE,
)
_DATA = re.compile(rb"^(?:data:|[{\[])", re.MULTILINE)
"""Server-sent events, or JSON lines."""
_DATA_LINE = re.compile(rb"(?:data: ?)?")


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Those headers of a response that change what a client does with it."""
    return {name.lower(): value for name, value in headers.items() if _KEPT_HEADERS.fullmatch(name)}


def unpacked_chunks(chunks: Sequence[bytes], encodings: str) -> list[bytes]:
    """The chunks of a body that came compressed, as they are read; Lost when the compression is not known."""
    if not encodings or encodings == "identity":
        return list(chunks)
    if encodings not in ("gzip", "x-gzip", "deflate"):
        raise Lost(f"its content-encoding {encodings:.40} cannot be read")
    reader = zlib.decompressobj(wbits=47)  # either kind, by its beginning
    try:
        unpacked = [reader.decompress(chunk) for chunk in chunks]
    except zlib.error as error:
        raise Lost("its body cannot be unpacked") from error
    unpacked[-1:] = [unpacked[-1] + reader.flush()] if unpacked else []
    return unpacked


def clean_chunks(redactor: Redactor, numbers: SecretNumbers, chunks: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """
    The chunks of a body without its secrets, each with the number of the chunk it was.

    A chunk of which nothing is left is left out. Raises Lost for a secret in a body that is not text.
    """
    body = b"".join(chunks)
    edits = _edits(body, redactor, numbers)
    if not edits:
        return [(number, chunk) for number, chunk in enumerate(chunks) if chunk]
    cleaned: list[tuple[int, bytes]] = []
    end = 0
    for number, chunk in enumerate(chunks):
        start, end = end, end + len(chunk)
        piece = _cut(body, start, end, edits)
        if piece:
            cleaned.append((number, piece))
    return cleaned


_Edit = tuple[int, int, bytes]


def _cut(body: bytes, start: int, end: int, edits: list[_Edit]) -> bytes:
    """What stands from `start` to `end` after the edits; the new text of each is where the old one ended."""
    pieces: list[bytes] = []
    at = start
    for begin, stop, text in edits:
        if stop <= start or begin >= end:
            continue
        pieces.append(body[at : max(begin, at)])
        if stop <= end:
            pieces.append(text)
        at = min(stop, end)
    pieces.append(body[at:end])
    return b"".join(pieces)


def _edits(body: bytes, redactor: Redactor, numbers: SecretNumbers) -> list[_Edit]:
    """What has to be changed in a body: from where to where, and into what; in order."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        pass_on(error)
        if _clean_text(body.decode("latin-1"), redactor, numbers) is not None:
            raise Lost("it holds a secret in a body that is not text") from None
        return []
    whole = _decoded(body)
    if whole is not None:
        clean = redactor.whole(whole, encoding.encode(whole), numbers)
        return [] if clean is whole else [(0, len(body), encoding.encode(clean))]
    if _DATA.search(body) is None:
        plain = _clean_text(text, redactor, numbers)
        return [] if plain is None else [(0, len(body), plain.encode())]
    return _line_edits(body, redactor, numbers)


def _line_edits(body: bytes, redactor: Redactor, numbers: SecretNumbers) -> list[_Edit]:
    """The same for a body of lines: what each line says is read together with the same place of all others."""
    places: list[tuple[int, int]] = []
    docs: list[Any] = []
    edits: list[_Edit] = []
    at = 0
    for line in body.split(b"\n"):
        said = line.rstrip(b"\r")
        start = _DATA_LINE.match(said).end()  # type: ignore[union-attr]  # it matches anything
        doc = _decoded(said[start:])
        if doc is not None or start:
            places.append((at + start, at + len(said)))
            docs.append(said[start:].decode() if doc is None else doc)
        elif said and (plain := _clean_text(said.decode(), redactor, numbers)) is not None:
            edits.append((at, at + len(said), plain.encode()))
        at += len(line) + 1
    joined = redactor.whole_pieces(docs, numbers)
    for (start, end), doc, piece in zip(places, docs, joined, strict=True):
        clean = redactor.whole(piece, encoding.encode(piece), numbers)
        if clean != doc:
            edits.append((start, end, clean.encode() if isinstance(clean, str) else encoding.encode(clean)))
    return sorted(edits)


def _decoded(text: bytes) -> Any:
    try:
        found = encoding.decode_json(text)
    except ValueError as error:
        pass_on(error)
        return None
    return found if isinstance(found, (dict, list)) else None


def _clean_text(text: str, redactor: Redactor, numbers: SecretNumbers) -> str | None:
    """A text without its secrets; None when there are none."""
    clean = redactor.whole(text, encoding.encode(text), numbers)
    return None if clean is text or clean == text else str(clean)
