"""
Tell when two texts say nearly the same.

Words are lower-cased runs of letters and digits. Inputs are compared as sets of words, results as sets of three words
in a row, which also sees order. Only the beginning of a long text is looked at, so the price has a ceiling.
"""

from __future__ import annotations

__all__ = ["Vocabulary", "first_words", "is_near", "jaccard", "runs", "words"]

_MAX_WORDS = 96
_MOST_IN_VOCABULARY = 1_024
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
    """The words of a few texts taken together, by which most others are seen at once to be near none of them."""

    __slots__ = ("_fewest", "_words")

    def __init__(self) -> None:
        self._words: set[bytes] = set()
        self._fewest = _MAX_WORDS

    def add(self, words: frozenset[bytes]) -> None:
        """Take in the words of one more text."""
        self._words |= words
        self._fewest = min(self._fewest, len(words))

    def clear(self) -> None:
        """Forget all words."""
        self._words.clear()
        self._fewest = _MAX_WORDS

    def is_full(self) -> bool:
        """Whether it is time to begin anew with the texts that still count."""
        return len(self._words) > _MOST_IN_VOCABULARY

    def has_all(self, words: frozenset[bytes]) -> bool:
        """Whether each of these words is in one of the texts."""
        return words <= self._words

    def is_far(self, words: frozenset[bytes], percent: int) -> bool:
        """
        Whether a text with these words has surely less than that much in common with each text.

        No text shares more words with it than all together do, nor has fewer words than the shortest.
        """
        common = len(words & self._words)
        return common * (100 + percent) < percent * (len(words) + self._fewest)


def runs(text: bytes) -> frozenset[bytes]:
    """All runs of three words of a text."""
    sequence = words(text)
    if len(sequence) < 3:
        return frozenset([b" ".join(sequence)])
    return frozenset(map(b" ".join, zip(sequence, sequence[1:], sequence[2:], strict=False)))
