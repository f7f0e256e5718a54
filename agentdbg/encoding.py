"""
Plain JSON values to bytes and back, as fast as the machine allows.

`msgspec` does the work where its wheel is installed; the standard library gives the same result where it is not.
Values are plain JSON already (the redactor sees to that); what is not raises here rather than being written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FAST", "RawJson", "decode_json", "encode_json"]

try:
    import msgspec
except ImportError:  # pragma: no cover -- the lane without wheels runs the same tests
    msgspec = None  # type: ignore[assignment]

FAST = msgspec is not None
encode_json: Callable[[Any], bytes]
decode_json: Callable[[bytes | str], Any]
RawJson: Callable[[bytes], Any]

if FAST:
    encode_json = msgspec.json.Encoder().encode
    RawJson = msgspec.Raw
    _decode_fast = msgspec.json.Decoder().decode

    def decode_json(text: bytes | str) -> Any:
        """The value of one JSON document; ValueError when it is not JSON."""
        try:
            return _decode_fast(text)
        except RecursionError:
            raise ValueError("nested too deeply to be read") from None

else:  # pragma: no cover -- see above
    import json

    class _RawJson:
        """JSON that is already encoded; spliced in as it stands."""

        def __init__(self, encoded: bytes) -> None:
            self.encoded = encoded

    def _encode_plain(value: Any) -> bytes:
        def stand_in(item: Any) -> Any:
            if isinstance(item, _RawJson):
                return json.loads(item.encoded)
            raise TypeError(f"{type(item).__name__} is not plain JSON")

        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=stand_in)
        return text.encode()

    def _refuse_constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    def decode_json(text: bytes | str) -> Any:
        """The value of one JSON document; ValueError when it is not JSON."""
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except RecursionError:
            raise ValueError("nested too deeply to be read") from None

    encode_json = _encode_plain
    RawJson = _RawJson
