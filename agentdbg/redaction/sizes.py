"""
Make plain JSON values fit, and say in each place how much was left out.

A list keeps its beginning and its end; a marker in the middle says what is missing. Other containers keep their first
entries and end in the marker, and so does a text, except in a prompt, where a text keeps both ends. What is cut first:
lists inside the value, then long texts, then whole items. Values come in plain (or as `picking` left them) and go out
plain. docs/decisions/0008 says why.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.events import TRUNCATED
from agentdbg.redaction.picking import SMALLEST_SHARE, Gap, Limits
from agentdbg.redaction.sealed_items import SealedItem, SealedList

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "MAX_ENCODED_BYTES",
    "all_fit",
    "cut_string",
    "cut_value",
    "ends_in",
    "fit_fields",
    "least_size",
    "limits_of",
    "sealed_fit",
]

MAX_ENCODED_BYTES = 990_000
"""What one payload may take, so that the line around it stays below a megabyte."""

_BOTH_ENDS = frozenset({"prompt", "input"})
"""The fields that hold what a model was asked: the question may stand at the end of a text as well as at its start."""
_MARKER_BYTES = len(TRUNCATED)
_DICT_END = len(f'"{TRUNCATED}":"{TRUNCATED}",')
_MARK_BYTES = len(f'[,{{"{TRUNCATED}":"10000 messages"}},]')
_HOLDERS = frozenset({dict, SealedList})
_CAN_BE_CUT = frozenset({str, list, dict, SealedItem, SealedList})
_LEAST_PART = 64
"""A part of an entry that is smaller than this tells nothing."""


def limits_of(field: str, max_bytes: int) -> Limits:
    """What one field of a payload may take, and how its texts are cut."""
    return _limits(max_bytes, field in _BOTH_ENDS)


@lru_cache(maxsize=64)
def _limits(max_bytes: int, both_ends: bool) -> Limits:
    return Limits.of(max_bytes, both_ends=both_ends)


def cut_string(text: str, max_bytes: int, *, both_ends: bool = False) -> str:
    """`text`, or a part of it and the marker, together at most `max_bytes` of UTF-8."""
    if len(text) * 4 <= max_bytes:
        return text
    if len(text) <= max_bytes and (text.isascii() or len(text.encode()) <= max_bytes):
        return text
    room = max(0, max_bytes - _MARKER_BYTES)
    end = room // 2 if both_ends else 0
    tail = text[-end:].encode()[-end:].decode(errors="ignore") if end else ""
    room -= end
    return text[:room].encode()[:room].decode(errors="ignore") + TRUNCATED + tail


def cut_value(value: Any, max_bytes: int, limits: Limits | None = None) -> Any:
    """A plain value whose encoding is at most `max_bytes`, where that leaves room for a marker at all."""
    return _cut(value, max_bytes, limits or Limits.of(max_bytes))


def ends_in(value: Any, limits: Limits) -> Any:
    """A value with a little of each list of messages in it: what tells a person which call has begun."""
    kind = type(value)
    if kind is dict:
        return {key: ends_in(child, limits) if type(child) in _HOLDERS else child for key, child in value.items()}
    if kind is not SealedList or value.size <= limits.max_bytes or type(value.items[0]) is not SealedItem:
        return value
    return _ends_of(value, limits) if len(value.items) > 1 else value


def _ends_of(sealed: SealedList, limits: Limits) -> SealedList:
    """The first message, as far as a quarter of the room goes, and the newest that fit as they are, at least one."""
    items, room = sealed.items, limits.max_bytes // 4
    first = items[0] if _size(items[0]) <= room else _shorten(items[0], room, limits)
    left = limits.max_bytes - _size(first) - _MARK_BYTES
    start = len(items) - 1
    left -= _size(items[start])
    while start > 1 and type(items[start - 1]) is SealedItem and _size(items[start - 1]) < left:
        start -= 1
        left -= _size(items[start]) + 1
    gap = next((item for item in items if type(item) is Gap), None)
    count = (len(items) if gap is None else len(gap.items_of_list)) - (len(items) - start) - 1
    mark = [_sealed({TRUNCATED: f"{count} message{'' if count == 1 else 's'}"})] if count else []
    return SealedList([first, *mark, *items[start:]])


def least_size(item: SealedItem, limits: Limits) -> int:
    """What an item takes at the least, when its long texts and lists are cut."""
    return _sizes(item, limits)[0]


def fit_fields(fields: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    """The same fields within `max_bytes`: the largest are cut first, all to the same size."""
    sizes = {key: len(encoding.encode(value)) for key, value in fields.items()}
    overhead = sum(len(encoding.encode(key)) + 2 for key in fields) + 2
    share = _fair_share(sizes.values(), max_bytes - overhead)
    if share < _LEAST_PART:
        return _cut_dict(fields, max_bytes, Limits.of(max_bytes))
    return {
        key: cut_value(value, share, limits_of(key, share)) if sizes[key] > share else value
        for key, value in fields.items()
    }


def _cut(value: Any, room: int, limits: Limits) -> Any:
    kind = type(value)
    if kind is str:
        return _cut_encoded_string(value, room, both_ends=limits.both_ends)
    if kind not in _CAN_BE_CUT or _size(value) <= room:
        return value
    return _shorten(value, room, limits)


def _size(value: Any) -> int:
    return len(value.encoded) if isinstance(value, encoding.Spliced) else len(encoding.encode(value))


def _shorten(value: Any, room: int, limits: Limits) -> Any:
    """Cut a value that is known not to fit."""
    kind = type(value)
    if kind is str:
        return _cut_encoded_string(value, room, both_ends=limits.both_ends)
    if kind is SealedItem:
        cut = value.made.get((limits, room))
        return cut or value.keep((limits, room), _sealed(_shorten(value.value, room, limits)))
    if kind is SealedList:
        return SealedList.of_cut(_ListCut(value.items, room, limits, value.plain).result())
    return _ListCut(value, room, limits).result() if kind is list else _cut_dict(value, room, limits)


def _sealed(value: Any) -> SealedItem:
    return SealedItem(value, encoding.encode(value))


# --- texts


def _cut_encoded_string(text: str, room: int, *, both_ends: bool) -> str:
    """Cut by encoded size: quotes and escapes count."""
    if len(text) + 2 <= room and len(encoding.encode(text)) <= room:
        return text
    room -= _MARKER_BYTES + 2
    if room <= 0:
        return TRUNCATED
    end = _longest(text, room // 2, from_end=True) if both_ends else 0
    start = _longest(text, room - room // 2 if both_ends else room, from_end=False)
    return text[:start] + TRUNCATED + (text[-end:] if end else "")


def _longest(text: str, room: int, *, from_end: bool) -> int:
    """How many characters of one end take at most `room` bytes when they are encoded."""
    most = min(len(text), room)
    excess = len(encoding.encode(text[len(text) - most :] if from_end else text[:most])) - 2 - room
    if excess <= 0:  # most texts have nothing to escape
        return most
    low, high = max(most - excess, 0), most - 1
    while low < high:
        middle = (low + high + 1) // 2
        if len(encoding.encode(text[-middle:] if from_end else text[:middle])) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return low


# --- containers


_Sizes = tuple[int, int, int]
"""What a value takes: at the least, with its texts whole and the lists in it at their least, and whole."""


def _sizes(value: Any, limits: Limits) -> _Sizes:
    whole = _size(value)
    floor = limits.floor
    if whole <= floor:
        return whole, whole, whole
    kind = type(value)
    if kind is SealedItem:
        known: _Sizes | None = value.made.get(limits)
        return known or value.keep(limits, _sizes(value.value, limits))
    if kind is str:
        return floor, whole, whole
    if kind is list or kind is SealedList:
        return floor, floor, whole
    if kind is not dict:
        return whole, whole, whole
    least = texts_whole = 1  # braces, and one comma fewer than entries
    for key, child in value.items():
        key_size = len(encoding.encode(key)) + 2
        sizes = _sizes(child, limits)
        least += key_size + sizes[0]
        texts_whole += key_size + sizes[1]
    return least, texts_whole, whole


def _cut_dict(entries: dict[str, Any], room: int, limits: Limits) -> dict[str, Any]:
    kept: dict[str, _Sizes] = {}
    left = room - 1
    for key, value in entries.items():
        sizes = _sizes(value, limits)
        size = len(encoding.encode(key)) + 2 + sizes[0]
        if size > left:
            return _cut_dict_short(entries, kept, left, limits)
        left -= size
        kept[key] = sizes
    cut = dict(entries)
    shares = {key: sizes[0] for key, sizes in kept.items() if sizes[0] < sizes[2]}
    for wanted in (1, 2):  # first the texts, then the lists
        needs = {key: min(kept[key][wanted], room) - share for key, share in shares.items()}
        most = _fair_share(needs.values(), left)
        for key, need in needs.items():
            shares[key] += min(need, most)
            left -= min(need, most)
    for key, share in shares.items():
        if share < kept[key][2]:
            cut[key] = _shorten(entries[key], share, limits)
    return cut


def _cut_dict_short(entries: dict[str, Any], kept: dict[str, _Sizes], left: int, limits: Limits) -> dict[str, Any]:
    """The first entries, at their least size, and the marker as the last; `left` bytes are free without it."""
    left -= _DICT_END
    while left < 0 and kept:
        key, sizes = kept.popitem()
        left += len(encoding.encode(key)) + 2 + sizes[0]
    cut = {key: _cut(entries[key], sizes[0], limits) for key, sizes in kept.items()}
    key = next(key for key in entries if key not in kept)
    left -= len(encoding.encode(key)) + 2
    if left >= _LEAST_PART and type(entries[key]) in _CAN_BE_CUT:
        cut[key] = _cut(entries[key], left, limits)
    cut.pop(TRUNCATED, None)
    cut[TRUNCATED] = TRUNCATED
    return cut


def _fair_share(sizes: Iterable[int], room: int) -> int:
    """The size to which the largest must come down so that all together fit."""
    ascending = sorted(sizes)
    left = len(ascending)
    for size in ascending:
        if size * left > room:
            return max(0, room) // left
        room -= size
        left -= 1
    return ascending[-1] if ascending else 0


class _ListCut:
    """
    The beginning and the end of a list, and between them the marker.

    A quarter is for the beginning. The last item may take half, so that the newest is there whole if it can be; the
    others take their least size each, as many as there is room for. What is left over then makes texts whole, and after
    that the lists in the items: of the newest item, of the first one, and on from the end backwards.
    """

    def __init__(self, items: list[Any], room: int, limits: Limits, plain: list[Any] | None = None) -> None:
        at = next((position for position, item in enumerate(items) if type(item) is Gap), None)
        self._whole: Sequence[Any] = (plain or items) if at is None else items[at].items_of_list
        self._head = items if at is None else items[:at]
        self._tail = items if at is None else items[at + 1 :]
        self._limits = limits
        self._room = self._left = room - 1  # brackets, and one comma fewer than items
        self._most = max(room // 4, SMALLEST_SHARE)
        self._marker_size = len(f'{{"{TRUNCATED}":"{len(self._whole)} messages, about 1000 bytes"}},')
        self._sizes: dict[int, _Sizes] = {}
        self._shares: dict[int, int] = {}
        """What each item may take that does not get all it needs, by its position; the others are kept whole."""

    def result(self) -> list[Any]:
        count = len(self._whole)
        wanted = min(self._room // 2, self._room - self._marker_size - 1) if count > 1 else self._room - 1
        if not self._tail or not self._take(count - 1, self._tail[-1], wanted, count - 1):
            return [TRUNCATED]
        first = self._take_first(min(count - 1, len(self._head)))
        last = count - 1
        lowest = max(first, count - len(self._tail))
        while last > lowest and self._take(last - 1, self._tail[last - 1 - count], 0, last - 1 - first):
            last -= 1
        if first < last:
            self._left -= self._marker_size
        self._share_out(count)
        kept = self._head[:first]
        if first < last:
            kept.append(Gap(self._whole, first, last).marker(self._limits.max_bytes))
        kept += self._tail[last - count :]
        for position, share in self._shares.items():
            if share < self._sizes[position][2]:
                place = position if position < first else position - count
                kept[place] = _shorten(kept[place], share, self._limits)
        return kept

    def _take_first(self, most: int) -> int:
        """Keep the beginning within a quarter of the room; how many items it has."""
        end = self._left - self._room // 4
        position = 0
        while position < most and self._left > end:
            wanted = self._room // 8 if position == 0 else 0
            if not self._take(position, self._head[position], wanted, len(self._whole) - position - 2):
                break
            position += 1
        return position

    def _take(self, position: int, item: Any, wanted: int, others: int) -> bool:
        """Keep an item, at its least size or what is wanted for it; `others` not kept so far may need a marker."""
        least, texts_whole, whole = _sizes(item, self._limits)
        share = whole
        if whole > self._limits.floor or whole > self._most:
            share = min(whole, max(min(least, self._most), wanted, SMALLEST_SHARE))
        if share + 1 + (self._marker_size if others else 0) > self._left:
            return False
        self._left -= share + 1
        if share < whole:
            self._shares[position] = share
            self._sizes[position] = least, texts_whole, whole
        return True

    def _share_out(self, count: int) -> None:
        """Give what is left to the texts, then to the lists in the items: the newest, the first, and on backwards."""
        order = sorted(self._shares, key=lambda position: -position if position else 1.5 - count)
        for wanted in (1, 2):
            for position in order:
                more = min(self._left, self._sizes[position][wanted] - self._shares[position])
                if more > 0:
                    self._shares[position] += more
                    self._left -= more


def all_fit(fields: dict[str, Any], limit: int) -> bool:
    """Whether no field is too long."""
    return all(_fits(value, limit) for value in fields.values())


def sealed_fit(fields: dict[str, Any], limit: int) -> bool:
    """Whether no field is too long by what was sealed in it before."""
    return all(
        value.size <= limit if type(value) is SealedList else len(encoding.encode(value)) <= limit
        for value in fields.values()
        if type(value) is SealedList or type(value) is dict
    )


def _fits(value: Any, limit: int) -> bool:
    if type(value) is str:
        return value.isascii() or len(value) * 4 <= limit or len(value.encode()) <= limit
    if not isinstance(value, (dict, list)):
        return True
    # A pair is encoded as a list of two, which takes a byte more than what stands in a dict, comma included.
    children, more = (value, 1) if isinstance(value, list) else (value.items(), -1)
    size = 1  # brackets, and one comma fewer than items
    for child in children:  # a long history need not be encoded to its end
        size += len(encoding.encode(child)) + more
        if size > limit:
            return False
    return True
