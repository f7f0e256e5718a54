"""
Tell when two texts say nearly the same.

Words are lower-cased runs of letters and digits. Inputs are compared as sets of words, results as sets of three words
in a row, which also sees order. Only the beginning of a long text is looked at, so the price has a ceiling.
"""

from __future__ import annotations

__all__ = ["first_words", "is_near", "jaccard", "runs", "words"]

_MAX_WORDS = 96
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
    # The beginning of a long text nearly always has enough words, of which only the one after them may be cut.
    beginning = text[: most * _WORD_LENGTH]
    found = beginning.translate(_WORD_BYTES).split(None, most)
    if len(found) <= most and len(beginning) < len(text):
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


def runs(text: bytes) -> frozenset[bytes]:
    """All runs of three words of a text."""
    sequence = words(text)
    if len(sequence) < 3:
        return frozenset([b" ".join(sequence)])
    return frozenset(map(b" ".join, zip(sequence, sequence[1:], sequence[2:], strict=False)))
