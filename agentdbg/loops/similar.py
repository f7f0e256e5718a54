"""
Tell when two texts say nearly the same.

Words are lower-cased runs of letters and digits. Inputs are compared as sets of words, results as sets of three words
in a row, which also sees order. Only the beginning of a long text is looked at, so the price has a ceiling.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

__all__ = ["Vocabulary", "first_words", "is_near", "jaccard", "runs", "words"]

_MAX_WORDS = 96
_USEFUL, _MOST_TAKEN = 16, 64
"""After how many texts a vocabulary begins anew: if it has stopped to tell texts apart, and anyway."""
_WORD_LENGTH = 10
"""What to expect of a word with the gap after it."""
_WORD_BYTES = bytes(
    byte if (48 <= byte <= 57 or 97 <= byte <= 122 or byte >= 128) else byte + 32 if 65 <= byte <= 90 else 32
    for byte in range(256)
)


def words(text: bytes, most: int = _MAX_WORDS) -> list[bytes]:
    """The first words of `text`, lower-cased, in order."""
    return first_words(text, most)[0]


def first_words(text: bytes, most: int = _MAX_WORDS) -> tuple[list[bytes], int]:
    """The same, and in how many bytes they were found: no other text that begins with these has other words."""
    if len(text) <= most * _WORD_LENGTH:
        found = text.translate(_WORD_BYTES).split(None, most)
        return found if len(found) <= most else found[:most], len(text)
    # The beginning of a long text nearly always has enough words, of which only the one after them may be cut.
    beginning = text[: most * _WORD_LENGTH]
    found = beginning.translate(_WORD_BYTES).split(None, most)
    if len(found) <= most:
        beginning = text
        found = text.translate(_WORD_BYTES).split(None, most)
    return found[:most], len(beginning)


def jaccard(left: frozenset[bytes], right: frozenset[bytes]) -> float:
    """How much two sets have in common: 1 when equal, 0 when they share nothing."""
    if left is right:
        return 1.0
    common = len(left & right)
    either = len(left) + len(right) - common
    return common / either if either else 1.0


def is_near(left: frozenset[bytes], right: frozenset[bytes], threshold: float) -> bool:
    """Whether two sets have at least that much in common."""
    return left is right or jaccard(left, right) >= threshold


class Vocabulary:
    """The words of the last few texts taken together, by which most others are seen at once to be near none of them."""

    __slots__ = ("_fewest", "_percent", "_taken", "_texts", "_words", "common")

    def __init__(self, texts: int, percent: int) -> None:
        self._percent = percent
        """How much two texts have in common, at least, that are near."""
        self._texts: deque[frozenset[bytes]] = deque(maxlen=texts + 1)
        """The newest, and as many before it as it is compared with."""
        self._words: set[bytes] = set()
        """The words of all of them, and of some before them."""
        self._fewest = _MAX_WORDS
        self._taken = 0
        self.common = 0
        """How many words of the newest text are in the others, at most."""

    def clear(self) -> None:
        """Forget all texts."""
        if self._taken:
            self._texts.clear()
            self._begin_anew()

    def is_far(self, words: frozenset[bytes]) -> bool:
        """
        Take in the words of one more text, and say whether it is surely near none of the others.

        No text shares more words with it than all together do, nor has fewer words than the shortest, and what two
        texts have together is at least what one of them has.
        """
        known, fewest, percent = self._words, self._fewest, self._percent
        before, size = len(known), len(words)
        known |= words  # quicker than to look for what they have in common, and they have to be taken in anyway
        common = self.common = size + before - len(known)
        is_far = 100 * common < percent * size or (100 + percent) * common < percent * (size + fewest)
        if size < fewest:
            self._fewest = size
        self._taken += 1
        if self._taken > (_MOST_TAKEN if is_far else _USEFUL):
            # With the words of many texts nothing is told apart any more: only the last ones count.
            self._begin_anew()
            return self.is_far(words)
        self._texts.append(words)
        return is_far

    def has_near(self, percent: int) -> bool:
        """Whether the newest text and one of the others have at least that much in common."""
        newest = self._texts[-1]
        size = len(newest)
        if 100 * self.common < percent * size:
            return False
        for text in islice(self._texts, len(self._texts) - 1):
            common = len(text & newest)
            if 100 * common >= percent * (len(text) + size - common):
                return True
        return False

    def _begin_anew(self) -> None:
        self._words = set().union(*self._texts)
        self._fewest = min(map(len, self._texts), default=_MAX_WORDS)
        self._taken = len(self._texts)


def runs(text: bytes) -> frozenset[bytes]:
    """All runs of three words of a text."""
    sequence = words(text)
    if len(sequence) < 3:
        return frozenset([b" ".join(sequence)])
    return frozenset(map(b" ".join, zip(sequence, sequence[1:], sequence[2:], strict=False)))
