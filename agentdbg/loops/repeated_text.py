"""
Find a block that repeats at the end of a text.

Steps become characters (`Characters` hands them out), so that comparing two stretches of a run is one comparison in C.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Characters", "find_period", "has_period"]

_GRAMS = (1, 4, 16, sys.maxsize)
"""The longer a block, the more of what the text ends with is looked for: in real runs it stands nearly nowhere else."""


class Characters:
    """One character for each different thing of late, so that comparing stretches of a run is comparing text."""

    __slots__ = ("_kept", "_known", "_next")

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._known: dict[Hashable, tuple[str, int]] = {}
        self._next = 0

    def meet(self, thing: Hashable, number: int) -> tuple[bool, str]:
        """Whether a thing that is met in the step of that number was met shortly before, and its character."""
        oldest = number - self._kept
        character, met = self._known.get(thing, ("", -1))
        is_known = met >= max(oldest, 0)
        if not is_known:
            character = self.fresh()
        self._known[thing] = character, number
        if len(self._known) > 2 * self._kept:
            self._known = {thing: found for thing, found in self._known.items() if found[1] >= oldest}
        return is_known, character

    def fresh(self) -> str:
        """A character that stands for nothing else; after a million they begin again."""
        self._next = (self._next + 1) % sys.maxunicode
        return chr(self._next)


def find_period(text: str, repetitions: int, length: int, shortest: int = 1) -> int:
    """
    The smallest p, from `shortest` on, such that `text` ends with a block of p characters `repetitions` times; else 0.

    Only the last `length` characters are looked at.
    """
    size, tail = len(text), repetitions - 1
    longest = min(size, length) // repetitions
    for gram, longer in pairwise(_GRAMS):
        # From the first of these lengths on, what the text ends with stood once before, a block earlier.
        first, last = max(shortest, -(-gram // tail)), min(longest, -(-longer // tail) - 1)
        found = text.rfind(text[-gram:], max(size - gram - last, 0), size - first) if first <= last else -1
        while found >= 0:
            period = size - gram - found
            if has_period(text[-repetitions * period :], period):
                return period
            found = text.rfind(text[-gram:], max(size - gram - last, 0), found + gram - 1)
    return 0


def has_period(text: str, period: int) -> bool:
    """Whether `text` repeats itself every `period` characters (true of anything not longer than that)."""
    return text[period:] == text[:-period] if period < len(text) else True
