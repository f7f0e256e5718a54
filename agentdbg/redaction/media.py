"""
Say what an image, a sound or a document was, instead of keeping it as a long base64 text that nobody can read.

Only what is surely media is replaced: a `data:` URL, a text beside a key that names its media type, or one that begins
like a known kind of file. `AAAA…` that could be anything stays the text it is.
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import sha256
from agentdbg.events import MEDIA
from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LEAST_MEDIA", "describe_bytes", "may_hold_media", "without_media"]

LEAST_MEDIA = 1_000
"""Shorter texts are kept as they are."""
_ALL_OF_IT_MATTERS = 20_000
_MOST_HASHED = 30_000_000
_MOST_REMEMBERED = 256

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\r\n"
_RUN = re.compile(r"[A-Za-z0-9+/_-]{60}")
_TYPE = r"[A-Za-z0-9]+/[A-Za-z0-9.+-]+"
_URL = re.compile(rf"data:({_TYPE})?(?:;[A-Za-z0-9=.+-]{{1,60}}){{0,4}};base64,([A-Za-z0-9+/_=-]{{{LEAST_MEDIA},}})")
_TYPE_KEYS = ("media_type", "mime_type", "mimeType", "mediaType", "content_type", "format")
_FORMATS = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "wav": "audio/wav", "mp3": "audio/mpeg", "flac": "audio/flac", "opus": "audio/opus", "ogg": "audio/ogg",
    "pcm16": "audio/pcm", "pdf": "application/pdf", "mp4": "video/mp4",
}  # fmt: skip
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"), (b"ID3", "audio/mpeg"), (b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"), (b"II*\x00", "image/tiff"), (b"MM\x00*", "image/tiff"),
    (b"PK\x03\x04", "application/zip"), (b"\x1f\x8b\x08", "application/gzip"),
)  # fmt: skip
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}

_known: dict[tuple[int, int, str | None], str] = {}
"""What was said of a text before, by its hash and length: a conversation brings the same image with every call."""


def may_hold_media(text: str) -> bool:
    """
    Whether a text of some length needs a closer look; quick, since nearly every text is prose.

    An image further inside a text matters only where it would push out what stands around it.
    """
    return ";base64," in (text[:200] if len(text) <= _ALL_OF_IT_MATTERS else text) or _RUN.match(text) is not None


def without_media(text: str, beside: Mapping[Any, Any] | None = None) -> str:
    """`text` with a descriptor for the media it holds; `beside` are the entries of the dict it stands in."""
    if len(text) < LEAST_MEDIA or not may_hold_media(text):
        return text
    named = None if beside is None else _named_type(beside)
    key = (hash(text), len(text), named)
    known = _known.get(key)
    if known is None:
        known = _URL.sub(_describe_url, text) if ";base64," in text else _described(text, named) or text
        if len(known) < LEAST_MEDIA:
            _remember(key, known)
    return known


def describe_bytes(data: bytes | bytearray) -> str | None:
    """The descriptor of raw bytes that begin like a known kind of file."""
    named = _type_of(bytes(data[:16])) if len(data) >= LEAST_MEDIA else None
    return None if named is None else _descriptor(named, data)


def _describe_url(found: re.Match[str]) -> str:
    return _described(found[2], found[1] or "data") or found[0]


def _described(text: str, named: str | None) -> str:
    """The descriptor of a base64 text, empty when it is none after all."""
    kind = named or _type_of(_decoded(text[:64]))
    if kind is None:
        return ""
    if len(text) > _MOST_HASHED:
        return f"{MEDIA} {kind}, {len(text) * 3 // 4} bytes"
    data = _decoded(text)
    return _descriptor(kind, data) if data else ""


def _descriptor(kind: str, data: bytes | bytearray) -> str:
    return f"{MEDIA} {kind.lower()}, {len(data)} bytes, sha256 {sha256(data).hexdigest()}"


def _decoded(text: str) -> bytes:
    """The bytes of a base64 text; empty when it is something else."""
    try:
        encoded = text.encode("ascii")
        if encoded.translate(None, _BASE64):
            return b""
        return binascii.a2b_base64(encoded.translate(_STANDARD, b"\r\n=") + b"==")
    except (UnicodeEncodeError, binascii.Error) as error:
        pass_on(error)
        return b""


_STANDARD = bytes.maketrans(b"-_", b"+/")


def _type_of(data: bytes) -> str | None:
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12])
    if data[4:8] == b"ftyp":
        return "video/mp4"
    return next((kind for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)


def _named_type(beside: Mapping[Any, Any]) -> str | None:
    """What the entries beside a text say it is."""
    for key in _TYPE_KEYS:
        named = beside.get(key)
        if type(named) is str and len(named) <= 100:
            if key == "format":
                if named in _FORMATS:
                    return _FORMATS[named]
            elif re.fullmatch(_TYPE, named) and not named.startswith("text/"):
                return named
    return None


def _remember(key: tuple[int, int, str | None], descriptor: str) -> None:
    if len(_known) >= _MOST_REMEMBERED:
        _known.clear()
    _known[key] = descriptor
