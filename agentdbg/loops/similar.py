"""
Tell when two texts say nearly the same.

Words are lower-cased runs of letters and digits. Inputs are compared as sets of words, results as sets of three words
in a row, which also sees order. Only the beginning of a long text is looked at, so the price has a ceiling.
"""

from __future__ import annotations

__all__ = ["jaccard", "near_results", "words", "words_of"]

_MAX_WORDS = 96
_WORD_BYTES = bytes(
    byte if (48 <= byte <= 57 or 97 <= byte <= 122 or byte >= 128) else byte + 32 if 65 <= byte <= 90 else 32
    for byte in range(256)
)


def words(text: bytes, most: int = _MAX_WORDS) -> list[bytes]:
    """The first words of `text`, lower-cased, in order."""
    return text.translate(_WORD_BYTES).split(None, most)[:most]


def words_of(text: bytes, most: int = _MAX_WORDS) -> frozenset[bytes]:
    """The set of the first words of `text`."""
    return frozenset(words(text, most))


def jaccard(left: frozenset[bytes], right: frozenset[bytes]) -> float:
    """How much two sets have in common: 1 when equal, 0 when they share nothing."""
    if left == right:
        return 1.0
    common = len(left & right)
    return common / (len(left) + len(right) - common)


def near_results(left: bytes, right: bytes, threshold: float) -> bool:
    """Whether two results say the same thing in nearly the same words and order."""
    shorter, longer = sorted((len(left), len(right)))
    if shorter < longer * threshold - 16:
        return False
    left_words, right_words = words(left), words(right)
    if jaccard(frozenset(left_words), frozenset(right_words)) < threshold:
        return False
    return jaccard(_shingles(left_words), _shingles(right_words)) >= threshold


def _shingles(sequence: list[bytes]) -> frozenset[bytes]:
    if len(sequence) < 3:
        return frozenset([b" ".join(sequence)])
    return frozenset(b" ".join(triple) for triple in zip(sequence, sequence[1:], sequence[2:], strict=False))
