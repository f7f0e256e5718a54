"""
Choose what of a large value is worth looking at: all that could be kept of it, and hardly more.

Looking for secrets takes far longer than leaving things out, so what is certain to be left out goes first: the middle
of a long list, the middle or the end of a very long text. `sizes` then cuts what was looked at to its exact size. Each
of the two decides from the ends of a list inwards, so choosing before cutting changes nothing in the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.events import TRUNCATED
from agentdbg.redaction.kept import WORTH_REMEMBERING
from agentdbg.redaction.media import LEAST_MEDIA, without_media

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "MARGIN_BYTES",
    "SMALLEST_SHARE",
    "CannotPick",
    "Gap",
    "Limits",
    "narrow",
    "pick",
    "take_ends",
    "without_gaps",
]

MARGIN_BYTES = 4096
"""How far past a limit text is read before it is cut, so that a secret across the cut is still seen whole."""
SMALLEST_SHARE = 40
"""What an item takes at least when it is cut: a marker and its brackets."""
_ROUGHLY = 16
"""A text that was cut falls that much short of its limit at the most."""
_MOST_PICKED = 20_000
_DEEPEST_PICKED = 20
_MOST_MEASURED = 400
"""Values looked at to tell how large the missing part is; of more than these, the rest is taken to be alike."""


_SHORT_TEXT = 64
_SHORT_LIST = 16
_SCALARS = frozenset({int, float, bool, type(None)})


class Limits(NamedTuple):
    """What a field may take."""

    max_bytes: int
    floor: int
    """A text or a list in it that is longer than this gives way before whole items do, but not below this size."""
    both_ends: bool

    @classmethod
    def of(cls, max_bytes: int, *, both_ends: bool = False) -> Limits:
        return cls(max_bytes, max(max_bytes // 20, 64), both_ends)


class Gap(dict[str, Any]):
    """
    Stands in a list for those of its items that were not looked at: from `start` up to `stop` of `items`.

    An empty dict to whoever encodes it meanwhile; `marker` is what is stored in its place.
    """

    __slots__ = ("items_of_list", "start", "stop")

    def __init__(self, items: Sequence[Any], start: int, stop: int) -> None:
        self.items_of_list = items
        self.start = start
        self.stop = stop

    def marker(self, max_bytes: int) -> dict[str, str]:
        """`{"__TRUNCATED__": "31 messages, 84 kB"}`; a longer text than `max_bytes` counts as one of that length."""
        items, count = self.items_of_list, self.stop - self.start
        noun = "message" if _is_message(items[0]) or _is_message(items[-1]) else "item"
        said = f"{count} {noun}{'' if count == 1 else 's'}"
        return {TRUNCATED: said + _spoken_size(items, self.start, self.stop, max_bytes)}

    def hides_flag(self) -> bool:
        """Whether the last of the missing items looks like an option, which says what the item after it is."""
        before = self.items_of_list[self.stop - 1]
        return type(before) is str and before[:1] == "-"


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("role"), str)


def _spoken_size(items: Sequence[Any], start: int, stop: int, max_bytes: int) -> str:
    """`, 84 kB`: what the items take as JSON; nothing when some are no plain values, whose size is not known."""
    scale = _Scale(max_bytes - _ROUGHLY)
    measured = start
    while measured < stop and scale.left > 0:
        scale.add(items[measured], 0)
        measured += 1
    if not scale.is_sure:
        return ""
    about = "over " if scale.is_more else "about " if measured < stop else ""
    size = scale.size * (stop - start) // (measured - start)
    if size < 1000:
        return f", {about}{size} bytes"
    if size < 1_000_000:
        return f", {about}{(size + 500) // 1000} kB"
    return f", {about}{size / 1_000_000:.1f} MB"


class _Scale:
    """Adds up what plain values take, without encoding them."""

    def __init__(self, longest: int) -> None:
        self.size = 0
        self.is_more = False
        self._longest = longest
        self.left = _MOST_MEASURED
        self.is_sure = True

    def add(self, value: Any, depth: int, beside: dict[Any, Any] | None = None) -> None:
        self.left -= 1
        kind = type(value)
        if kind is str:
            if len(value) >= LEAST_MEDIA:
                value = without_media(value, beside)  # as it would have been kept
            size = len(value) if value.isascii() else len(value.encode(errors="replace"))
            if size > self._longest:  # it may have been cut already
                size, self.is_more = self._longest, True
            self.size += size + 3
        elif kind is dict or kind is list or kind is tuple:
            if depth > _DEEPEST_PICKED or self.left <= 0:
                return
            self.size += 3
            if kind is dict:
                self.size += sum(map(len, value)) + 3 * len(value)
            for child in value.values() if kind is dict else value:
                self.add(child, depth + 1, value if kind is dict else None)
        elif kind is Gap:
            self.left += 1  # it is nothing by itself
            for child in value.items_of_list[value.start : value.stop]:
                self.add(child, depth)
        elif kind is int:
            self.size += value.bit_length() // 3 + 2
        elif kind is float or kind is bool or value is None:
            self.size += 6
        else:
            self.is_sure = False


def narrow(text: str, limits: Limits) -> str:
    """A very long text without what cannot be kept of it, and with the marker in that place."""
    most = limits.max_bytes + MARGIN_BYTES
    if not limits.both_ends:
        return text if len(text) <= most else text[:most] + TRUNCATED
    most = limits.max_bytes // 2 + MARGIN_BYTES
    return text if len(text) <= 2 * most else text[:most] + TRUNCATED + text[-most:]


def take_ends(
    items: Sequence[Any], limits: Limits, room: int, take: Callable[[int, int], tuple[Any, int] | None]
) -> tuple[list[Any], int]:
    """
    The first and the last items of a list that could be kept when each takes its least size, and what that comes to.

    `take(position, room)` gives one item and its least size, or None when there is no time for more. The last item is
    asked for first, then the first one, then from the end backwards: what counts most comes first.
    """
    count = len(items)
    most = max(room // 4, SMALLEST_SHARE)
    last = take(count - 1, room) if count else None
    if last is None:
        return [Gap(items, 0, count)] if count else [], 2
    tail = [last[0]]
    used = min(last[1], most) + 2
    first = take(0, room) if count > 1 else None
    if first is None:
        return tail if count == 1 else [Gap(items, 0, count - 1), *tail], min(used, limits.floor)
    position = count - 1
    while position > 1 and used <= room:
        # The cut may count it to the beginning, where it gets its share and what is too little for one item more.
        taken = take(position - 1, max(room - used, 2 * most + 1, limits.floor))
        if taken is None:
            break
        position -= 1
        tail.append(taken[0])
        used += min(taken[1], most) + 1
    head = [first[0]]
    begun = min(first[1], most)
    while len(head) < position and begun <= room // 4:
        taken = take(len(head), max(room - begun, limits.floor))
        if taken is None:
            break
        head.append(taken[0])
        begun += min(taken[1], most) + 1
    if len(head) < position:
        head.append(Gap(items, len(head), position))
    tail.reverse()
    return head + tail, min(used + begun, limits.floor)


def without_gaps(value: Any, max_bytes: int) -> Any:
    """A value with a marker for each gap, where it is not cut any further."""
    kind = type(value)
    if kind is Gap:
        return value.marker(max_bytes)
    if kind is dict:
        return {key: without_gaps(child, max_bytes) for key, child in value.items()}
    return [without_gaps(child, max_bytes) for child in value] if kind is list else value


class CannotPick(Exception):
    """The value is too deep or has too many parts, or a dict would lose entries that say what the others are."""


def pick(value: Any, limits: Limits, long_texts: list[str]) -> Any:
    """What of a plain value is worth looking at; `long_texts` gets the texts in it that are worth remembering."""
    return _Picker(limits, long_texts).pick(value, limits.max_bytes, 0)[0]


class _Picker:
    """Goes through one value once. What nothing was left out of is handed on as it is."""

    def __init__(self, limits: Limits, long_texts: list[str]) -> None:
        self._limits = limits
        self._long_texts = long_texts
        self._left = _MOST_PICKED

    def pick(self, value: Any, room: int, depth: int) -> tuple[Any, int]:
        """What is worth looking at, and about what it takes at the least."""
        kind = type(value)
        if kind is str:
            return self._pick_text(value, None)
        if kind is not dict and kind is not list:
            return value, 1
        self._left -= len(value)
        if self._left < 0 or depth > _DEEPEST_PICKED:
            raise CannotPick
        if kind is dict:
            picked, used = self._pick_children(value, value.items(), room, depth + 1)
            if used > self._limits.max_bytes:
                raise CannotPick
            return picked, used
        if 2 * len(value) < room and _SCALARS.issuperset(map(type, value)):
            return value, min(2 * len(value) + 1, self._limits.floor)
        if len(value) <= _SHORT_LIST:
            picked, used = self._pick_children(value, enumerate(value), room, depth + 1)
            if used <= room:
                return picked, min(used, self._limits.floor)

        def take(position: int, room: int) -> tuple[Any, int]:
            return self.pick(value[position], room, depth + 1)

        return take_ends(value, self._limits, room, take)

    def _pick_children(self, owner: Any, children: Iterable[tuple[Any, Any]], room: int, depth: int) -> tuple[Any, int]:
        """Each child of a dict or a short list: a copy only if something is left out of one of them."""
        picked = owner
        used = 1
        is_dict = type(owner) is dict
        for key, child in children:
            kind = type(child)
            used += len(key) + 4 if is_dict else 1
            if kind in _SCALARS:
                used += 1
            elif kind is str and len(child) <= _SHORT_TEXT:
                used += len(child) + 2
            else:
                if kind is str:
                    part, least = self._pick_text(child, owner if is_dict else None)
                else:
                    part, least = self.pick(child, max(room - used, self._limits.floor), depth)
                used += least
                if part is not child:
                    picked = owner.copy() if picked is owner else picked
                    picked[key] = part
        return picked, used

    def _pick_text(self, text: str, beside: dict[str, Any] | None) -> tuple[str, int]:
        if len(text) >= LEAST_MEDIA:
            text = without_media(text, beside)
        text = narrow(text, self._limits)
        if len(text) >= WORTH_REMEMBERING:
            self._long_texts.append(text)
        return text, min(len(text) + 2, self._limits.floor)
