"""
Remember what became of each message, because a conversation brings all of them again with every call.

A message is known again by its own bytes, never by its identity, so one that was changed is another one. `marshal`
writes Python's own types in C, exactly and ten times as fast as JSON; its bytes stay in memory. A `SealedList` stands
in a payload for a list of messages whose secrets are out already: one value, with its JSON, that the rest of the walk
has nothing more to do with.

What is kept has a ceiling. There are two halves; when the newer one is full, the older one is forgotten, and what was
used since lies in the newer one.
"""

from __future__ import annotations

import marshal
from gc import get_referents
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import Spliced, encode
from agentdbg.faults import pass_on
from agentdbg.redaction.picking import Gap

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

__all__ = [
    "SEALED",
    "ItemMemory",
    "SealedItem",
    "SealedList",
    "SealedValue",
    "are_messages",
    "characters_left",
    "own_copy",
    "raw_items",
    "raw_message",
    "texts_in",
    "unsealed",
]

_MOST_BYTES = 8_000_000
_COPIES = 5
"""The bytes it is known by, its JSON, the value itself, and shorter ones of it."""
_OVERHEAD = 1_000
_MOST_MADE = 8
_PLAIN = frozenset({str, int, float, bool, type(None), dict, list})
_DICTS = {dict}
_TEXTS = frozenset({str, bytes})
_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})
_OLD_MARSHAL = 2
"""The version of marshal's format that writes equal values alike, whichever objects they are made of."""
_MOST_NODES = 50_000
_MOST_CHARACTERS = 4_000_000
_WORTH_IT = 600
"""Bytes that a list of messages takes at the least; a shorter one is sealed as quickly as it is looked up."""


class SealedItem(Spliced):
    """One item of a list, without its secrets: our own copy of the value, and its JSON."""

    __slots__ = ("is_harmless", "made", "value")

    def __init__(self, value: Any, encoded: bytes, *, is_harmless: bool = False) -> None:
        self.value = value
        self.encoded = encoded
        self.is_harmless = is_harmless
        """Whether it is just what it was: nothing had to be taken out of it, or left out."""
        self.made: dict[Hashable, Any] = {}
        """What was worked out from it: its sizes, and shorter ones of it."""

    def keep(self, name: Hashable, made: Any) -> Any:
        """Note something that was worked out."""
        if len(self.made) >= _MOST_MADE:
            self.made.clear()
        self.made[name] = made
        return made


class SealedList(Spliced):
    """A list of sealed items, perhaps with a gap among them."""

    __slots__ = ("items", "size")

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        parts = [item.encoded if type(item) is SealedItem else b"{}" for item in items]
        self.encoded = b"[%b]" % b",".join(parts)
        self.size = len(self.encoded)

    @property
    def plain(self) -> list[Any]:
        """The same as plain values."""
        return [item.value if type(item) is SealedItem else item for item in self.items]

    @classmethod
    def of_cut(cls, items: list[Any]) -> SealedList:
        """Of what was left of another one."""
        return cls([item if type(item) in (SealedItem, Gap) else SealedItem(item, encode(item)) for item in items])


class SealedValue(Spliced):
    """A field of a payload that was sealed before: the plain value, and its JSON."""

    __slots__ = ("is_harmless", "raws", "value")

    def __init__(
        self, value: Any, encoded: bytes, *, is_harmless: bool = False, raws: dict[int, list[bytes]] | None = None
    ) -> None:
        self.value = value
        self.encoded = encoded
        self.is_harmless = is_harmless
        """Whether it is just what it was: nothing had to be taken out of it, or left out."""
        self.raws = {} if raws is None else raws
        """What `raw_items` gave for each list of messages in it, by the id of the list that was given."""


SEALED = frozenset({SealedList, SealedValue})
"""What is left of a payload's parts that need nothing more done."""


class ItemMemory:
    """The sealed items of late, by their bytes. Shared by the threads of a process; a lost entry costs only time."""

    __slots__ = ("_left", "_new", "_old", "get")

    _new: dict[bytes, SealedItem]

    def __init__(self) -> None:
        self._begin({})

    def _begin(self, old: dict[bytes, SealedItem]) -> None:
        self._old, self._new = old, {}
        self._left = _MOST_BYTES // 2
        self.get = self._new.get
        """The item of these bytes, if it came lately."""

    def find(self, raw: bytes) -> SealedItem | None:
        """The same, also among those that are about to be forgotten."""
        found = self._new.get(raw) or self._old.get(raw)
        if found is not None:
            self.add(raw, found)
        return found

    def add(self, raw: bytes, item: SealedItem) -> None:
        """Note what became of an item."""
        if raw not in self._new:
            self._left -= _COPIES * len(raw) + _OVERHEAD
            if self._left < 0:
                self._begin(self._new)
            self._new[raw] = item


def are_messages(items: Sequence[Any]) -> bool:
    """
    Whether all items are dicts of plain values that can be written out, and that is worth it.

    Asked for every history of every call.
    """
    if set(map(type, items)) != _DICTS:
        return False
    return 0 <= characters_left(list(items), _PLAIN, _MOST_NODES, _MOST_CHARACTERS) <= _MOST_CHARACTERS - _WORTH_IT


def characters_left(level: list[Any], plain: frozenset[Any], nodes: int, characters: int) -> int:
    """
    What writing out some values leaves of `characters`; below 0 for too many, or when other types are among them.

    Level by level, and each level in C. A level is counted before it is made: one long list may be in it many times.
    """
    while level:
        kinds = set(map(type, level))
        if not plain.issuperset(kinds):
            return -1
        nodes -= len(level)
        if not _TEXTS.isdisjoint(kinds):
            characters -= sum(map(len, [found for found in level if type(found) in _TEXTS]))
        if int in kinds:
            characters -= sum(map(int.bit_length, [found for found in level if type(found) is int])) >> 3
        if _CONTAINERS.isdisjoint(kinds):
            break
        holding = level if len(kinds) == 1 else [found for found in level if type(found) in _CONTAINERS]
        if characters < 0 or sum(map(len, holding)) > nodes:
            return -1
        if dict in kinds:  # their keys are in no level, unless some are no texts
            dicts = level if len(kinds) == 1 else [found for found in holding if type(found) is dict]
            characters -= _length_of_keys(dicts)
        level = get_referents(*holding)
    return characters if nodes >= 0 else -1


def _length_of_keys(dicts: list[dict[Any, Any]]) -> int:
    try:
        return sum(map(len, chain.from_iterable(dicts)))
    except TypeError as error:  # numbers among them
        pass_on(error)
        return sum([len(key) for key in chain.from_iterable(dicts) if type(key) is str])


def texts_in(value: Any) -> Iterator[str]:
    """All texts of a plain value, its keys among them."""
    level = [value]
    while level:
        held: list[Any] = []
        for found in level:
            kind = type(found)
            if kind is str:
                yield found
            elif kind is dict:
                held += found
                held += found.values()
            elif kind is list:
                held += found
        level = held


def raw_items(items: list[Any]) -> list[bytes]:
    """The bytes that each item is known by."""
    return list(map(marshal.dumps, items, repeat(_OLD_MARSHAL)))


def raw_message(message: dict[str, Any]) -> bytes | None:
    """The bytes that one message is known by; None when it is not made of plain values that can be written out."""
    if characters_left([message], _PLAIN, _MOST_NODES, _MOST_CHARACTERS) < 0:
        return None
    return marshal.dumps(message, _OLD_MARSHAL)


def own_copy(raw: bytes) -> Any:
    """An item that nobody else holds, from its bytes."""
    return marshal.loads(raw)  # noqa: S302 -- bytes that were made here and never left this process


def unsealed(value: Any) -> Any:
    """A value with plain lists in the place of sealed ones, a few levels deep."""
    kind = type(value)
    if kind is SealedList:
        return value.plain
    if kind is SealedValue:
        return value.value
    if kind is dict and (SealedList in (kinds := set(map(type, value.values()))) or dict in kinds):
        return {key: unsealed(child) for key, child in value.items()}
    return value
