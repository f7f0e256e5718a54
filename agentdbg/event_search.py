"""
Find text in a run's events, whatever its case, in what was recorded and not in the names of fields.

The file is searched as bytes, a block at a time; only where a match could be something else than a recorded value is
the event itself looked at.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.event_index import EventIndex
    from agentdbg.events import Event

__all__ = ["Matcher", "search_events"]

_BLOCK = 1 << 20
# From inside a string to its end; a colon after it says that the string was a field's name.
_REST_OF_KEY = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"\s*:', re.DOTALL)
_STRUCTURE = frozenset('{}[],:"')


def search_events(index: EventIndex, query: str, limit: int = 10_000) -> Iterator[list[int]]:
    """
    The numbers of events that hold `query`, ascending, as one list per block that was searched.

    Only what is indexed is searched. A list may be empty: the caller can stop or answer somebody else in between.
    """
    matcher = Matcher(query)
    if not matcher.needle:
        return
    number, found = 1, 0
    while number <= index.total and found < limit:
        start = index.offset[number - 1]
        last = max(number, bisect_right(index.offset, start + _BLOCK, number - 1, index.total))
        end = index.offset[last - 1] + index.length[last - 1]
        block = index.read(start, end - start)
        numbers = list(matcher.numbers(index, block, number, last))[: limit - found]
        found += len(numbers)
        yield numbers
        number = last + 1


class Matcher:
    """One query, made ready for bytes."""

    def __init__(self, query: str) -> None:
        self.query = query.casefold()
        self.needle = json.dumps(query, ensure_ascii=False)[1:-1].lower().encode(errors="replace")
        # ASCII is compared as it is stored; anything else may be stored in several ways and is compared as text.
        self._is_plain = query.isascii() and "\\" not in json.dumps(query)
        self._may_hit_structure = not self._is_plain or any(sign in _STRUCTURE for sign in query)

    def numbers(self, index: EventIndex, block: bytes, first: int, last: int) -> Iterator[int]:
        """Which of the events `first` to `last`, whose lines `block` holds, match."""
        if not self._is_plain:
            yield from (number for number in range(first, last + 1) if self.matches(index.event(number)))
            return
        start = index.offset[first - 1]
        lowered = block.lower()
        position = lowered.find(self.needle)
        while position >= 0:
            number = bisect_right(index.offset, start + position, first - 1, last)
            end = index.offset[number - 1] + index.length[number - 1] - start
            if position >= end:  # a damaged line that lies between two events
                position = lowered.find(self.needle, position + 1)
                continue
            if self._is_value(index, lowered, number, position, end):
                yield number
            position = lowered.find(self.needle, end)

    def matches(self, event: Event | Any) -> bool:
        """Whether some recorded value of the event holds the text."""
        return any(self.query in text.casefold() for text in _texts(event))

    def _is_value(self, index: EventIndex, lowered: bytes, number: int, position: int, end: int) -> bool:
        """Whether the text stands in a value somewhere in this event, and not only in the names of fields."""
        if self._may_hit_structure:
            return self.matches(index.event(number))
        while 0 <= position < end:
            if _REST_OF_KEY.match(lowered, position + len(self.needle), end) is None:
                return True
            position = lowered.find(self.needle, position + 1, end)
        return False


def _texts(value: Any) -> Iterator[str]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, str):
            yield item
        else:
            yield json.dumps(item)
