"""
Which event belongs to which, found out while a run is walked through once.

Parents may come after their children (a span or a call is written when it ends), a started call is settled by the event
that has its id, and a tool call is tied to the earlier calls it resembles. What has to be remembered for that between
one stretch of the file and the next is here; the results are columns of the index.
"""

from __future__ import annotations

from collections import deque
from hashlib import md5
from itertools import repeat
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.index.facts import ToolCalls

__all__ = ["Links", "pack_id"]

# More than this many loose ends is no run of ours, and not worth keeping between processes.
_MOST_LOOSE_ENDS = 20_000


class Links:
    """What later events may refer to: ids, parents not seen yet, open calls, tool calls by likeness."""

    def __init__(self) -> None:
        self.numbers: dict[str | None, int] = {}
        self.waiting: dict[str, list[int]] = {}
        self.open_calls: dict[str, int] = {}
        self.latest_call: dict[str, int] = {}
        self.first_alike: dict[int, int] = {}
        self.has_odd_ids = False
        self._name_keys: dict[str, int] = {}

    def add_ids(self, ids: Sequence[str], first: int) -> bytes:
        """Number new ids, and give them packed; an id that occurs again stays with its first event."""
        deque(map(self.numbers.setdefault, ids, range(first, first + len(ids))), maxlen=0)
        packed = _pack_canonical(ids)
        if packed is not None:
            return packed
        self.has_odd_ids = True
        return b"".join(map(pack_id, ids))

    def parents_of(self, parent_ids: Sequence[str | None], first: int) -> list[int]:
        """The parents' numbers, 0 for none; an id not seen yet is waited for."""
        found = list(map(self.numbers.get, parent_ids, repeat(0)))
        if 0 in found:
            for position, (parent_id, number) in enumerate(zip(parent_ids, found, strict=True)):
                if number == 0 and parent_id is not None:
                    self.waiting.setdefault(parent_id, []).append(first + position)
        return found

    def arrived(self, ids: Sequence[str]) -> Iterable[tuple[int, list[int]]]:
        """The parents among new ids that children were waiting for, with those children."""
        for parent_id in [event_id for event_id in ids if event_id in self.waiting] if self.waiting else ():
            if parent_id in self.waiting:
                yield self.numbers[parent_id], self.waiting.pop(parent_id)

    def ended(self, ids: Sequence[str]) -> list[int]:
        """The CALL_STARTs whose call is among new ids."""
        if not self.open_calls:
            return []
        return [self.open_calls.pop(event_id) for event_id in ids if event_id in self.open_calls]

    def add_tool_calls(self, calls: ToolCalls) -> tuple[list[int], list[int], list[int]]:
        """Of each call the tool's latest earlier one, the first alike (0 for none), and the key of likeness."""
        seeds = self._name_keys
        for name in set(calls.names).difference(seeds):
            seeds[name] = crc32(name.encode(errors="replace"))
        keys = [
            crc32(args, seeds[name]) << 31 | len(args) & 0x7FFFFFFF
            for name, args in zip(calls.names, calls.args, strict=True)
        ]
        first = map(self.first_alike.setdefault, keys, calls.numbers)
        alike = [0 if found == number else found for found, number in zip(first, calls.numbers, strict=True)]
        latest, previous = self.latest_call, []
        for name, number in zip(calls.names, calls.numbers, strict=True):
            previous.append(latest.get(name, 0))
            latest[name] = number
        return previous, alike, keys

    def loose_ends(self) -> dict[str, Any] | None:
        """What cannot be worked out again from the columns, as plain JSON; None when it is too much to keep."""
        if self.has_odd_ids or len(self.waiting) + len(self.open_calls) + len(self.latest_call) > _MOST_LOOSE_ENDS:
            return None
        return {"waiting": self.waiting, "open_calls": self.open_calls, "latest_call": self.latest_call}

    def restore(
        self, loose_ends: dict[str, Any], ids: bytes | bytearray, tool_calls: Iterable[tuple[int, int]]
    ) -> None:
        """Take up again where an earlier process stopped; `tool_calls` are keys and numbers in file order."""
        self.waiting = loose_ends["waiting"]
        self.open_calls = loose_ends["open_calls"]
        self.latest_call = loose_ends["latest_call"]
        digits = ids.hex()
        for number in range(len(ids) // 16, 0, -1):
            self.numbers[_unpacked(digits[number * 32 - 32 : number * 32])] = number
        for key, number in tool_calls:
            self.first_alike.setdefault(key, number)


def pack_id(event_id: str) -> bytes:
    """
    The 16 bytes of a UUID, or of a digest where an id is none.

    Packed, an id is found among a million without a dictionary.
    """
    return _pack_canonical([event_id]) or md5(event_id.encode(errors="replace"), usedforsecurity=False).digest()


def _pack_canonical(ids: Sequence[str]) -> bytes | None:
    """The bytes of ids that are all UUIDs in the one spelling that can be read back, else None."""
    text = "".join(ids)
    if set(map(len, ids)) != {36} or any(text[place::36] != "-" * len(ids) for place in (8, 13, 18, 23)):
        return None
    digits = text.replace("-", "")
    try:
        packed = bytes.fromhex(digits)
    except ValueError:
        return None
    return packed if packed.hex() == digits else None


def _unpacked(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
