"""
Tell what a machine has drawn from what a person has written.

Names, paths, dates, versions and sentences are made of words and numbers, and most pairs of letters in a word are
common ones. In a key that was drawn at random few pairs are. Nothing here looks at the name beside a value.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2

__all__ = ["LEAST_RANDOM", "is_uuid", "looks_random"]

LEAST_RANDOM = 16
"""Shorter values are never taken for random ones."""

_LONGEST_LOOKED_AT = 200
_TOKEN = re.compile(r"[+/_\-.~:%!@#$^&*]{0,3}[A-Za-z0-9][A-Za-z0-9+/_\-.~:%!@#$^&*]{12,}={0,3}")
_HAS_ITS_OWN_SHAPE = re.compile(
    r"[a-z][a-z0-9+.\-]*://|arn:|urn:|data:|(?:~|\.{1,2})?/[a-z]+[/.]|[A-Za-z]:\\|\$[A-Za-z_{(]"
)
"""Addresses, names of cloud resources, paths, variables: what is secret in them is found in another way."""
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]{16,}|[0-9A-F]{16,})")
_SEGMENT = re.compile(r"[^\-_./:]+")
_RUN_OF_LETTERS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SHORT_WORD = 5
_LEAST_BITS = 2.7


def looks_random(value: str) -> bool:
    """Whether `value` has 16 characters or more, no spaces, and is not made of words and numbers."""
    shown = value.strip()[:_LONGEST_LOOKED_AT]
    if len(shown) < LEAST_RANDOM or not _TOKEN.fullmatch(shown) or _HAS_ITS_OWN_SHAPE.match(shown):
        return False
    if _UUID.fullmatch(shown):
        return True
    if _HEX.fullmatch(shown):
        return not shown.isdigit() and not shown.isalpha() and _bits_a_character(shown) >= _LEAST_BITS
    odd_letters = sum(_letters_outside_words(segment) for segment in _SEGMENT.findall(shown))
    digits = sum(map(str.isdigit, shown))
    all_of_them = digits + sum(map(str.isalpha, shown))
    return (
        odd_letters >= max(5, all_of_them / 4)
        and 2 * (odd_letters + digits) >= all_of_them
        and _bits_a_character(shown) >= _LEAST_BITS
    )


def is_uuid(value: str) -> bool:
    """Whether a value is a UUID, which names a thing more often than it guards one."""
    return _UUID.fullmatch(value) is not None


def _letters_outside_words(segment: str) -> int:
    """How many letters between two separators belong to no word."""
    if len(segment) <= _SHORT_WORD and segment.isalpha():
        return 0
    return sum(len(run) for run in _RUN_OF_LETTERS.findall(segment) if not _is_word(run.lower()))


def _is_word(letters: str) -> bool:
    pairs = len(letters) - 1
    if pairs < 2:
        return False
    common = sum(letters[place : place + 2] in _COMMON_PAIRS for place in range(pairs))
    return common * 10 >= pairs * 7


def _bits_a_character(text: str) -> float:
    """The entropy of a text's characters."""
    length = len(text)
    return -sum(count / length * log2(count / length) for count in Counter(text).values())


# The pairs of letters that make up nineteen of twenty in the words and names of programs.
_COMMON_PAIRS = frozenset(
    first + second
    for first, seconds in {
        "a": "bcdgiklmnprstuvwxy", "b": "aeilorsuy", "c": "acehiklmorstu", "d": "adeilorstu",
        "e": "abcdefgilmnopqrstvwxy", "f": "aefilorstu", "g": "aehilnorsu", "h": "aeiort", "i": "abcdefglmnoprstvxz",
        "k": "eis", "l": "adeilopstuy", "m": "abeimopsu", "n": "acdefgiklnopstuv", "o": "abcdfgiklmnoprstuvw",
        "p": "aeiloprstuy", "q": "u", "r": "acdefgiklmnoprstuy", "s": "acehiklopstuy", "t": "acdefhilmnoprstuy",
        "u": "abcefilmnprst", "v": "aei", "w": "aeinors", "x": "eipt", "y": "npst", "z": "e",
    }.items()
    for second in seconds
)  # fmt: skip
