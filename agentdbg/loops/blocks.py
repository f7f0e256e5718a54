"""
Find a block that repeats at the end of a sequence.

A sequence is a string in which every different thing is one character (`Alphabet` hands them out and takes them back
when they leave the window), so that comparing two stretches is one comparison in C. `find_period` gives the length of
the shortest block that the sequence ends with, repeated often enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Alphabet", "find_period", "has_period", "smallest_rotation"]

_GRAM = 16
"""Longer blocks are looked for by where the last sixteen characters occurred before: in real runs nearly nowhere."""


class Alphabet:
    """
    One character per different thing in the window (`known`); forgotten when the last of them leaves.

    Most things are alone with their character and have no name, which costs no bookkeeping: a character that is not in
    `_counts` is in use once.
    """

    __slots__ = ("_counts", "_free", "_keys", "_next", "known")

    def __init__(self) -> None:
        self.known: dict[Hashable, str] = {}
        self._keys: dict[str, list[Hashable]] = {}
        self._counts: dict[str, int] = {}
        self._free: list[str] = []
        self._next = 33

    def take(self, key: Hashable) -> str:
        """The character for `key`, counted once more."""
        character = self.known.get(key)
        if character is None:
            character = self.take_unnamed()
            self.name(character, key)
        else:
            self.take_again(character)
        return character

    def take_unnamed(self) -> str:
        """A character for something that is not compared with anything yet."""
        if self._free:
            return self._free.pop()
        self._next += 1
        return chr(self._next - 1)

    def take_again(self, character: str) -> None:
        """Count a character in use once more."""
        self._counts[character] = self._counts.get(character, 1) + 1

    def name(self, character: str, key: Hashable) -> None:
        """Say what a character stands for, so that the next equal thing gets the same one."""
        if key not in self.known:
            self.known[key] = character
            self._keys.setdefault(character, []).append(key)

    def unname(self, character: str) -> None:
        """Nothing the character stood for is in the window any more."""
        for key in self._keys.pop(character, ()):
            del self.known[key]

    def release(self, character: str) -> None:
        """One thing with this character left the window."""
        count = self._counts.pop(character, 1)
        if count > 1:
            self._counts[character] = count - 1
            return
        if character in self._keys:
            self.unname(character)
        self._free.append(character)


def find_period(text: str, repetitions: int, length: int, shortest: int = 1) -> int:
    """
    The smallest p, from `shortest` on, such that `text` ends with a block of p characters `repetitions` times; else 0.

    Only the last `length` characters are looked at.
    """
    size = len(text)
    longest = (min(size, length)) // repetitions
    if longest < shortest:
        return 0
    if shortest == 1 and text[-repetitions:] == text[-1] * repetitions:
        return 1
    tail = repetitions - 1
    # In most runs the last two steps did not follow each other before, which rules out every block at once.
    if tail > 1:
        first = size - 2 - longest
        if text.rfind(text[-2:], max(0, first), size - 1) < 0:
            return 0
    last = text[-1]
    # A block shorter than this repeats within the gram itself, so the gram does not help to find it.
    direct = min(longest, -(-_GRAM // tail))
    found = text.rfind(last, size - 1 - direct, size - shortest)
    while found >= 0:
        period = size - 1 - found
        if text[-tail * period :] == text[-repetitions * period : -period]:
            return period
        found = text.rfind(last, size - 1 - direct, found)
    return 0 if direct == longest else _find_long_period(text, repetitions, longest, max(direct + 1, shortest))


def _find_long_period(text: str, repetitions: int, longest: int, shortest: int) -> int:
    size, tail = len(text), repetitions - 1
    gram = text[-_GRAM:]
    start = max(size - _GRAM - longest, 0)
    found = text.rfind(gram, start, size - shortest)
    while found >= 0:
        period = size - _GRAM - found
        if text[-tail * period :] == text[-repetitions * period : -period]:
            return period
        found = text.rfind(gram, start, found + _GRAM - 1)
    return 0


def has_period(text: str, period: int) -> bool:
    """Whether `text` repeats itself every `period` characters (true of anything not longer than that)."""
    return text[period:] == text[:-period] if period < len(text) else True


def smallest_rotation(block: tuple[str, ...]) -> tuple[str, ...]:
    """The same circle of names, begun where it sorts first: two rotations of one block give equal results."""
    if len(block) == 1:
        return block
    return min(block[start:] + block[:start] for start in range(len(block)))
