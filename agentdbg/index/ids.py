"""
Event ids as sixteen bytes each: a UUID is its own bytes, and any other text its digest.

Packed, an id is found among a million without a dictionary, and a dictionary of them is half as large.
"""

from __future__ import annotations

from hashlib import md5
from itertools import chain
from struct import iter_unpack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ID_BYTES", "pack_id", "pack_ids", "split_ids"]

ID_BYTES = 16


def pack_ids(ids: Sequence[str]) -> bytes:
    """Many ids, one after the other."""
    packed = _pack_canonical(ids)
    return b"".join(map(pack_id, ids)) if packed is None else packed


def pack_id(event_id: str) -> bytes:
    """One id."""
    return _pack_canonical([event_id]) or md5(event_id.encode(errors="replace"), usedforsecurity=False).digest()


def split_ids(packed: bytes | bytearray | memoryview) -> list[bytes]:
    """Packed ids, each by itself."""
    return list(chain.from_iterable(iter_unpack(f"{ID_BYTES}s", packed)))


def _pack_canonical(ids: Sequence[str]) -> bytes | None:
    """The bytes of ids that are all UUIDs in their one usual spelling, else None: no two spellings are one id."""
    text = "".join(ids)
    if set(map(len, ids)) != {36} or any(text[place::36] != "-" * len(ids) for place in (8, 13, 18, 23)):
        return None
    digits = text.replace("-", "")
    try:
        packed = bytes.fromhex(digits)
    except ValueError:
        return None
    return packed if packed.hex() == digits else None
