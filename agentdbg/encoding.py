"""
Plain JSON values to bytes and back, as fast as the machine allows.

`msgspec` does the work where its wheel is installed; the standard library gives the same result where it is not. It is
loaded with this module, so that no value is ever the first one: an import in the middle of a record could be met by a
fork or by Ctrl-C. Values are plain JSON already (the redactor sees to that); what is not raises here rather than being
written.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    import msgspec
except ImportError:  # pragma: no cover -- the lane without wheels runs the same tests
    _msgspec: Any = None
else:
    _msgspec = msgspec

__all__ = ["IS_FAST", "RawJson", "decode_json", "encode", "encode_json", "encode_sorted"]

IS_FAST = _msgspec is not None
"""Whether `msgspec` does the work."""


def decode_json(text: bytes | str) -> Any:
    """The value of one JSON document; ValueError when it is not JSON."""
    try:
        return _decode(text)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def _encode_plain(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_stand_in)
    return text.encode()


def _encode_sorted(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True).encode()


class _RawJson:
    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded


def _stand_in(item: Any) -> Any:
    if isinstance(item, _RawJson):
        return _decode_plain(item.encoded)
    raise TypeError(f"{type(item).__name__} is not plain JSON")


def _decode_plain(text: bytes | str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


encode_json: Callable[[Any], bytes] = _msgspec.json.Encoder().encode if IS_FAST else _encode_plain
"""The value as JSON, without spaces."""
encode = encode_json
encode_sorted: Callable[[Any], bytes] = _msgspec.json.Encoder(order="sorted").encode if IS_FAST else _encode_sorted
"""The same with the keys of each object in order, for whoever compares."""
RawJson: Callable[[bytes], Any] = _msgspec.Raw if IS_FAST else _RawJson
"""JSON that is already encoded, as a value inside others: spliced in as it stands."""
_decode: Callable[[bytes | str], Any] = _msgspec.json.Decoder().decode if IS_FAST else _decode_plain
