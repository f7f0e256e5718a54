"""
Plain JSON values to bytes and back, as fast as the machine allows.

`msgspec` does the work where its wheel is installed; the standard library gives the same result where it is not. It is
loaded with this module, so that no value is ever the first one: an import in the middle of a record could be met by a
fork or by Ctrl-C. Values are plain JSON already (the redactor sees to that); what is not raises here rather than being
written.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    import msgspec
except ImportError:  # pragma: no cover -- the lane without wheels runs the same tests
    _msgspec: Any = None
else:
    _msgspec = msgspec

try:
    import resource
except ImportError:  # Windows
    _resource: Any = None
else:
    _resource = resource

try:  # hashlib loads OpenSSL, which would take 4 ms of every first run
    from _sha2 import sha256  # type: ignore[import-not-found]  # private, from 3.12 on
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # private, up to 3.11
    except ImportError:
        from hashlib import sha256

__all__ = [
    "IS_FAST",
    "RawJson",
    "Spliced",
    "decode_json",
    "encode",
    "encode_json",
    "encode_sorted",
    "encode_without_spliced",
    "heed_memory_limits",
    "sha256",
]

IS_FAST = _msgspec is not None
"""Whether `msgspec` does the work."""


def decode_json(text: bytes | str) -> Any:
    """The value of one JSON document; ValueError when it is not JSON."""
    try:
        return _decode(text)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


class Spliced:
    """A value that brings its JSON along; it is spliced in as it stands."""

    __slots__ = ("encoded",)

    encoded: bytes


def _encode_plain(value: Any, default: Callable[[Any], Any] | None = None) -> bytes:
    default = default or _stand_in
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default).encode()


def _encode_sorted(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True).encode()


class _RawJson:
    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded


def _stand_in(item: Any) -> Any:
    if isinstance(item, (_RawJson, Spliced)):
        return _decode_plain(item.encoded)
    raise TypeError(f"{type(item).__name__} is not plain JSON")


def _decode_plain(text: bytes | str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _splice(item: Any) -> Any:
    if isinstance(item, Spliced):
        return RawJson(item.encoded)
    raise TypeError(f"{type(item).__name__} is not plain JSON")


def _leave_out(item: Any) -> None:
    if not isinstance(item, Spliced):
        raise TypeError(f"{type(item).__name__} is not plain JSON")


encode_json: Callable[[Any], bytes] = _msgspec.json.Encoder(enc_hook=_splice).encode if IS_FAST else _encode_plain
"""The value as JSON, without spaces."""
encode_without_spliced: Callable[[Any], bytes] = (
    _msgspec.json.Encoder(enc_hook=_leave_out).encode if IS_FAST else partial(_encode_plain, default=_leave_out)
)
"""The same with null for each value that brings its JSON along."""
encode = encode_json
"""The same; whatever may be large is encoded by `encoding.encode`, and never by a name for it: see below."""
encode_sorted: Callable[[Any], bytes] = _msgspec.json.Encoder(order="sorted").encode if IS_FAST else _encode_sorted
"""The same with the keys of each object in order, for whoever compares."""
RawJson: Callable[[bytes], Any] = _msgspec.Raw if IS_FAST else _RawJson
"""JSON that is already encoded, as a value inside others: spliced in as it stands."""
_decode: Callable[[bytes | str], Any] = _msgspec.json.Decoder().decode if IS_FAST else _decode_plain


def heed_memory_limits() -> None:
    """
    Let memory that runs out be a MemoryError, wherever there is a limit to it; asked when a run begins.

    Where msgspec's own buffer cannot grow, it ends the whole program with a segmentation fault (as of 0.22). Into a
    buffer of ours it raises, but takes twice as long for a small value. An allocation fails before the machine is out
    of memory only under a limit, as shells, batch systems and sandboxes set one.
    """
    if IS_FAST and encode is encode_json and _is_memory_limited():
        globals().update(
            encode=_into(_msgspec.json.Encoder(enc_hook=_splice)),
            encode_sorted=_into(_msgspec.json.Encoder(order="sorted")),
            encode_without_spliced=_into(_msgspec.json.Encoder(enc_hook=_leave_out)),
        )


def _is_memory_limited() -> bool:
    if _resource is None:
        return False
    limits = (_resource.getrlimit(_resource.RLIMIT_AS), _resource.getrlimit(_resource.RLIMIT_DATA))
    return any(soft != _resource.RLIM_INFINITY for soft, _ in limits)


def _into(encoder: Any) -> Callable[[Any], bytes]:
    encode_into = encoder.encode_into

    def encode_by_buffer(value: Any) -> bytes:
        buffer = bytearray()
        encode_into(value, buffer)
        return bytes(buffer)

    return encode_by_buffer
