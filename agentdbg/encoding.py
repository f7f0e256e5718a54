"""
Plain JSON values to bytes and back, as fast as the machine allows.

`msgspec` does the work where its wheel is installed; the standard library gives the same result where it is not.
Loading `msgspec` is a good part of a first run, so whoever writes that run calls `encode`, which leaves the first few
values of a process to the standard library: the beginning and the end of a run in which nothing happens need no more.
What is compared with each other goes through `encode_json` and is always written by the same one of the two.
Values are plain JSON already (the redactor sees to that); what is not raises here rather than being written.
"""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RawJson", "decode_json", "encode", "encode_json", "load_fast"]

_FIRST_FEW = 1_000
_left = _FIRST_FEW
_is_fast: bool | None = None
_loading_thread = 0


def load_fast() -> bool:
    """Whether `msgspec` is there; if so, it does all the work from now on."""
    global _is_fast, _loading_thread, _raw, _decode, encode  # noqa: PLW0603 -- set once
    # A handler of signals may come here in the middle of this; what it writes, the standard library writes.
    if _is_fast is None and _loading_thread != _thread.get_ident():
        _loading_thread = _thread.get_ident()
        try:
            import msgspec  # noqa: PLC0415 -- see above

            _raw, _decode, encode = msgspec.Raw, msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
            _is_fast = True
        except ImportError:  # pragma: no cover -- the lane without wheels runs the same tests
            _is_fast, _raw, _decode, encode = False, _RawJson, _decode_plain, _encode_plain
        finally:
            _loading_thread = 0
    return bool(_is_fast)


def encode_json(value: Any) -> bytes:
    """The value as JSON, without spaces."""
    if _is_fast is None:
        load_fast()
    return encode(value)


def decode_json(text: bytes | str) -> Any:
    """The value of one JSON document; ValueError when it is not JSON."""
    try:
        return _decode(text)
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None


def RawJson(encoded: bytes) -> Any:  # noqa: N802 -- stands for a value of that type
    """JSON that is already encoded, as a value inside others: spliced in as it stands."""
    load_fast()
    return _raw(encoded)


def _encode_first(value: Any) -> bytes:
    global _left  # noqa: PLW0603 -- counts down once
    _left -= 1
    if _left == 0:
        load_fast()
    return _encode_plain(value)


def _decode_first(text: bytes | str) -> Any:
    load_fast()
    return _decode_plain(text) if _is_fast is None else _decode(text)


class _RawJson:
    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded


def _encode_plain(value: Any) -> bytes:
    import json  # noqa: PLC0415 -- no part of a program's start

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_stand_in)
    return text.encode()


def _stand_in(item: Any) -> Any:
    if isinstance(item, _RawJson):
        return _decode_plain(item.encoded)
    raise TypeError(f"{type(item).__name__} is not plain JSON")


def _decode_plain(text: bytes | str) -> Any:
    import json  # noqa: PLC0415 -- as above

    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


encode: Callable[[Any], bytes] = _encode_first
"""As `encode_json`, except for the first few values. To be called as `encoding.encode`, for it is replaced."""
_decode: Callable[[bytes | str], Any] = _decode_first
_raw: Callable[[bytes], Any] = _RawJson
