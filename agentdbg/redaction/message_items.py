"""
The messages in one payload, each sealed by itself and remembered: a conversation is told anew with every model call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.redaction.picking import take_ends, without_gaps
from agentdbg.redaction.proof import holds_messages
from agentdbg.redaction.sealed_items import (
    ItemMemory,
    SealedItem,
    SealedList,
    SealedValue,
    are_messages,
    own_copy,
    raw_items,
    raw_message,
)
from agentdbg.redaction.sizes import least_size

if TYPE_CHECKING:
    from agentdbg.redaction.picking import Limits
    from agentdbg.redaction.plain import Walk
    from agentdbg.redaction.redactor import Redactor

__all__ = ["MessageItems"]

_MOST_MEMORIES = 8


class MessageItems:
    """Seals the messages in one payload. All of them together have the time of one careful walk."""

    __slots__ = ("_memories", "_redactor", "_walk", "raws")

    def __init__(self, redactor: Redactor, memories: dict[Any, ItemMemory]) -> None:
        self.raws: dict[int, list[bytes]] = {}
        self._redactor = redactor
        self._memories = memories
        self._walk: Walk | None = None

    def sealed_in(self, value: Any, depth: int, limits: Limits) -> Any:
        """A value with its lists of messages sealed, as far as they could be kept; `depth` is that of the value."""
        kind = type(value)
        if kind is dict and holds_messages(value, depth - 1):
            return {key: self.sealed_in(child, depth + 1, limits) for key, child in value.items()}
        if kind is not list or not holds_messages(value):
            return value
        items = value[:]  # another thread may be changing it
        if not are_messages(items):
            return value
        memory = self._memory((depth, limits))
        raws = self.raws[id(value)] = raw_items(items)
        known: list[Any] = list(map(memory.get, raws))
        if None not in known and sum([len(item.encoded) for item in known]) < limits.max_bytes - len(known):
            return SealedList(known)

        def take(position: int, room: int) -> tuple[SealedItem, int]:
            del room
            sealed = known[position] or self._sealed(raws[position], memory, depth + 1, limits)
            return sealed, least_size(sealed, limits)

        ends = take_ends(items, limits, limits.max_bytes, take)[0]
        return SealedList(ends)

    def alone(self, message: dict[str, Any], limits: Limits) -> SealedValue | None:
        """A message by itself that needs nothing done; None for any other."""
        raw = raw_message(message)
        if raw is None:
            return None
        everywhere = self._memory(None)
        found = everywhere.find(raw) or self._redactor.prove_item(own_copy(raw), limits)
        if found is None or not found.is_harmless or len(found.encoded) > limits.max_bytes:
            return None
        everywhere.add(raw, found)
        return SealedValue(found.value, found.encoded, is_harmless=True)

    def _memory(self, place: Any) -> ItemMemory:
        memory = self._memories.get(place)
        if memory is None:
            if len(self._memories) >= _MOST_MEMORIES:
                self._memories.clear()
            memory = self._memories[place] = ItemMemory()
        return memory

    def _sealed(self, raw: bytes, memory: ItemMemory, depth: int, limits: Limits) -> SealedItem:
        everywhere = self._memory(None)
        found = memory.find(raw) or everywhere.find(raw) or self._redactor.prove_item(own_copy(raw), limits)
        if found is None:
            found = self._walked(own_copy(raw), depth, limits)
        if found.is_harmless:
            everywhere.add(raw, found)
        if self._walk is None or not self._walk.ran_out:
            memory.add(raw, found)
        return found

    def _walked(self, item: Any, depth: int, limits: Limits) -> SealedItem:
        if self._walk is None:
            self._walk = self._redactor.walk()
        plain = self._walk.item(item, depth, limits)
        if self._walk.ran_out:
            plain = without_gaps(plain, limits.max_bytes)
        encoded = encoding.encode(plain)
        return SealedItem(plain, encoded, is_harmless=self._redactor.is_unchanged(item, encoded, limits.max_bytes))
