"""
Make plain JSON values fit, keeping their beginnings and saying where something was left out.

Strings end in the marker, lists get it as their last item, dicts as their last entry. What does not fit is cut from
the inside too, so that a first item which alone is too big is kept in part. Values come in plain and go out plain.
"""

from __future__ import annotations

from typing import Any

from agentdbg import encoding
from agentdbg.events import TRUNCATED

__all__ = ["MAX_ENCODED_BYTES", "cut_string", "cut_value", "fit_fields"]

MAX_ENCODED_BYTES = 990_000
"""What one payload may take, so that the line around it stays below a megabyte."""

_MARKER_BYTES = len(TRUNCATED)
_SMALLEST_SHARE = 64
_LIST_END = len(f'["{TRUNCATED}"]') + 1
_DICT_END = len(f'{{"{TRUNCATED}":"{TRUNCATED}"}}') + 1


def cut_string(text: str, max_bytes: int) -> str:
    """`text`, or a prefix of it and the marker, together at most `max_bytes` of UTF-8."""
    if len(text) * 4 <= max_bytes:
        return text
    if len(text) <= max_bytes and (text.isascii() or len(text.encode()) <= max_bytes):
        return text
    room = max(0, max_bytes - _MARKER_BYTES)
    return text[:room].encode()[:room].decode(errors="ignore") + TRUNCATED


def cut_value(value: Any, max_bytes: int) -> Any:
    """A plain value whose encoding is at most `max_bytes`, where that leaves room for a marker at all."""
    if isinstance(value, str):
        return _cut_encoded_string(value, max_bytes)
    if isinstance(value, (list, dict)) and len(encoding.encode(value)) > max_bytes:
        return _cut_list(value, max_bytes) if isinstance(value, list) else _cut_dict(value, max_bytes)
    return value


def _cut_encoded_string(text: str, max_bytes: int) -> str:
    """Cut by encoded size: quotes and escapes count."""
    if len(encoding.encode(text)) <= max_bytes:
        return text
    if max_bytes < _MARKER_BYTES + 2:
        return TRUNCATED
    low, high = 0, min(len(text), max_bytes)
    while low < high:
        middle = (low + high + 1) // 2
        if len(encoding.encode(text[:middle])) + _MARKER_BYTES <= max_bytes:
            low = middle
        else:
            high = middle - 1
    return text[:low] + TRUNCATED


def _cut_list(items: list[Any], max_bytes: int) -> list[Any]:
    room = max_bytes - _LIST_END - 1
    kept: list[Any] = []
    for item in items:
        size = len(encoding.encode(item)) + 1
        if size > room:
            part = _part(item, room - 1)
            if part is not None:
                kept.append(part)
            break
        kept.append(item)
        room -= size
    if kept[-1:] != [TRUNCATED]:
        kept.append(TRUNCATED)
    return kept


def _cut_dict(entries: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    room = max_bytes - _DICT_END - 1
    kept: dict[str, Any] = {}
    for key, value in entries.items():
        key_size = len(encoding.encode(key)) + 2
        size = key_size + len(encoding.encode(value))
        if size > room:
            part = _part(value, room - key_size)
            if part is not None:
                kept[key] = part
            break
        kept[key] = value
        room -= size
    kept.pop(TRUNCATED, None)
    kept[TRUNCATED] = TRUNCATED
    return kept


def _part(value: Any, room: int) -> Any:
    """The beginning of a value that does not fit whole; None when not even that is worth keeping."""
    if room < _SMALLEST_SHARE or not isinstance(value, (str, list, dict)):
        return None
    return cut_value(value, room)


def fit_fields(fields: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    """The same fields within `max_bytes`: the largest are cut first, all to the same size."""
    sizes = {key: len(encoding.encode(value)) for key, value in fields.items()}
    overhead = sum(len(encoding.encode(key)) + 2 for key in fields) + 2
    share = _fair_share(sorted(sizes.values()), max_bytes - overhead)
    if share < _SMALLEST_SHARE:
        return _cut_dict(fields, max_bytes)
    return {key: cut_value(value, share) if sizes[key] > share else value for key, value in fields.items()}


def _fair_share(ascending: list[int], room: int) -> int:
    """The size to which the largest must come down so that all together fit."""
    left = len(ascending)
    for size in ascending:
        if size * left > room:
            return max(0, room) // left
        room -= size
        left -= 1
    return ascending[-1] if ascending else 0
