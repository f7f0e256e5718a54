"""
Event ids as sixteen bytes each: a UUID is its own bytes, and any other text its digest.

Packed, an id is found among a million without a dictionary, and a dictionary of them is half as large.

Which event belongs to which, found out while a run is walked through once.

Parents may come after their children (a span or a call is written when it ends), a started call is settled by the event
that has its id, and a tool call is tied to the earlier calls it resembles. What has to be remembered for that between
one stretch of the file and the next is here; the results are columns of the index. Ids are packed ones.
"""

from __future__ import annotations

from collections import deque
from hashlib import md5
from itertools import chain
from struct import iter_unpack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["ID_BYTES", "Links", "pack_id", "pack_ids", "split_ids"]

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


# More than this many loose ends is no run of ours, and not worth keeping between processes.
_MOST_LOOSE_ENDS = 20_000


class Links:
    """What later events may refer to: ids, parents not seen yet, open calls, tool calls by likeness."""

    def __init__(self, ids: bytearray) -> None:
        self._ids = ids
        """All ids so far: the index's own column, which it makes longer before it asks."""
        self._numbers: dict[bytes, int] = {}
        self._numbered = 0
        self._waiting: dict[bytes, list[int]] = {}
        self._open_calls: dict[bytes, int] = {}
        self._latest_call: dict[str, int] = {}
        self._first_alike: dict[int, int] = {}

    def number_of(self, event_id: bytes) -> int:
        """The first event that has an id, 0 for none."""
        found = self._numbers.get(event_id, 0)
        if not found and self._numbered * ID_BYTES < len(self._ids):
            # Most events are nobody's parent, and those that are come early: so ids are numbered when one is missed.
            new = split_ids(self._ids[self._numbered * ID_BYTES :])
            first = self._numbered + 1
            deque(map(self._numbers.setdefault, new, range(first, first + len(new))), maxlen=0)
            self._numbered += len(new)
            found = self._numbers.get(event_id, 0)
        return found

    def parents_of(self, parents: Sequence[bytes | None], codes: Sequence[int], first: int) -> list[int]:
        """The parents' numbers, 0 for none, of events from `first` on; an id not seen yet is waited for."""
        numbers = []
        children: dict[int, list[int]] = {}
        for code, parent in enumerate(parents):
            numbers.append(0 if parent is None else self.number_of(parent))
            if parent is not None and not numbers[code]:
                children[code] = self._waiting.setdefault(parent, [])
        if children:
            for number, code in enumerate(codes, first):
                if code in children:
                    children[code].append(number)
        return list(map(numbers.__getitem__, codes))

    def is_waiting(self) -> bool:
        """Whether there is a parent or the end of a call that new ids may bring."""
        return bool(self._waiting or self._open_calls)

    def arrived(self, ids: Sequence[bytes], first: int) -> Iterable[tuple[int, list[int]]]:
        """The parents among new ids that children were waiting for, with those children."""
        for number, event_id in enumerate(ids, first) if self._waiting else ():
            if event_id in self._waiting:
                yield number, self._waiting.pop(event_id)

    def ended(self, ids: Sequence[bytes], started: Mapping[int, bytes], first: int) -> list[int]:
        """The CALL_STARTs whose call is among new ids; `started` are the new ones by position, with their calls."""
        found = []
        for position, event_id in enumerate(ids) if started or self._open_calls else ():
            if position in started:
                self._open_calls[started[position]] = first + position
            elif event_id in self._open_calls:
                found.append(self._open_calls.pop(event_id))
        return found

    def earlier_calls(
        self, numbers: Iterable[int], tools: Iterable[str], likeness: Iterable[int]
    ) -> Iterable[tuple[int, int, int]]:
        """Of tool calls in file order: the number, that of the tool's latest earlier call and of the first alike."""
        latest, first_alike = self._latest_call, self._first_alike
        for number, tool, key in zip(numbers, tools, likeness, strict=True):
            alike = first_alike.setdefault(key, number)
            yield number, latest.get(tool, 0), 0 if alike == number else alike
            latest[tool] = number

    def loose_ends(self) -> dict[str, Any] | None:
        """What cannot be worked out again from the columns, as plain JSON; None when it is too much to keep."""
        if len(self._waiting) + len(self._open_calls) + len(self._latest_call) > _MOST_LOOSE_ENDS:
            return None
        return {
            "waiting": {parent.hex(): children for parent, children in self._waiting.items()},
            "open_calls": {call.hex(): number for call, number in self._open_calls.items()},
            "latest_call": self._latest_call,
        }

    def restore(self, loose_ends: dict[str, Any], tool_calls: Iterable[tuple[int, int]]) -> None:
        """Take up again where an earlier process stopped; `tool_calls` are likenesses and numbers in file order."""
        self._waiting = {bytes.fromhex(parent): children for parent, children in loose_ends["waiting"].items()}
        self._open_calls = {bytes.fromhex(call): number for call, number in loose_ends["open_calls"].items()}
        self._latest_call = loose_ends["latest_call"]
        for likeness, number in tool_calls:
            self._first_alike.setdefault(likeness, number)
