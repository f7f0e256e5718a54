"""
Two texts, word by word: which words went and came, and whether only the wording differs, or only clocks and ids.

Models never say a thing twice in the same words, so other words alone mean little. Figures, dates and codes in a text
are facts; where each text has some that the other lacks, they say different things.
"""

from __future__ import annotations

import re
from itertools import filterfalse
from typing import TYPE_CHECKING, Literal

from agentdbg.analysis.diff.sequences import common_pairs
from agentdbg.events import TRUNCATED
from agentdbg.loops.volatile import strip_volatile

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Segment", "has_digit", "is_other_wording", "is_prose", "says_the_same", "word_segments"]

Segment = tuple[Literal["same", "was", "now"], str]
"""A stretch of text, and whether both texts have it."""

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_SENTENCE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}")
"""Three words in a row, which is all that prose needs."""
_LETTERS = bytes(code if chr(code).isalpha() else ord(" ") for code in range(128)).ljust(256)
"""The signs of an ASCII text, with a space for all but letters."""
_SPACED = bytes(ord(" ") if chr(code).isspace() else code for code in range(128)).ljust(256)
_DIGITS_ALONE = bytes(ord("0") if chr(code).isdigit() else ord(" ") for code in range(128)).ljust(256)
_DIGIT = re.compile(r"\d")
_DIGITS = "0123456789"
_FACT = re.compile(r"(?!\d{1,2}[.)]\Z)\D*\d")
"""A word with a digit in it, but not the number of a list."""
_AROUND = ".,;:!?()[]{}<>\"'`*_$€£%#=~“”‘’-"  # noqa: RUF001
_PROSE_WORDS = 3
_MOST_TOKENS = 4_000
_LOOKED_AT = 4_000
_LONGEST = 100_000
_SHORTEST_ID = 10


def has_digit(text: str) -> bool:
    """Whether there is a digit anywhere; asking for each of ten is much quicker than a pattern."""
    return any(map(text.__contains__, _DIGITS)) or (not text.isascii() and _DIGIT.search(text) is not None)


def is_prose(text: str) -> bool:
    """Whether a text is a sentence rather than a value: at least three words."""
    if _SENTENCE.search(text, 0, 60):  # as most have it; a value is looked at for longer
        return True
    head = text[:400]
    return " " in head and _count_words(head) >= _PROSE_WORDS


def _count_words(text: str) -> int:
    if not text.isascii():
        return len(_WORD.findall(text))
    # The same, and several times quicker than a pattern.
    lengths = [*map(len, text.encode().translate(_LETTERS).split())]
    return len(lengths) - lengths.count(1)


def is_other_wording(was: str, now: str) -> bool:
    """Whether two texts are prose and do not contradict each other in their facts."""
    if not is_prose(was) or not is_prose(now):
        return False
    facts_was = _facts(was)
    if not facts_was:
        return True
    facts_now = _facts(now)
    return not (facts_was - facts_now and facts_now - facts_was)


def _facts(text: str) -> set[str]:
    """Numbers, dates, codes like HAT172 or M05KNL; not the numbers of a numbered list."""
    head = text[:_LOOKED_AT]
    words: Iterable[str] = _with_digits(head.encode()) if head.isascii() else filterfalse(str.isalpha, head.split())
    return {word.partition("'")[0].strip(_AROUND).replace(",", "").lstrip("0") for word in words if _FACT.match(word)}


def _with_digits(text: bytes) -> list[str]:
    """The words that have a digit, found around the digits: cutting a text into all its words takes far longer."""
    found = []
    text = text.translate(_SPACED)
    digits = text.translate(_DIGITS_ALONE)
    at = digits.find(b"0")
    while at >= 0:
        end = text.find(b" ", at)
        if end < 0:
            end = len(text)
        found.append(text[text.rfind(b" ", 0, at) + 1 : end].decode())
        at = digits.find(b"0", end)
    return found


def says_the_same(was: str, now: str) -> bool:
    """Whether two texts differ only in clocks and ids, or only because one was cut when it was stored."""
    if not was or not now:
        return False
    if TRUNCATED in was or TRUNCATED in now:
        kept, kept_now = was.partition(TRUNCATED)[0].rstrip(), now.partition(TRUNCATED)[0].rstrip()
        return kept.startswith(kept_now) or kept_now.startswith(kept)
    if _begin_otherwise(was, now):
        return False
    # Without a digit there is neither an id nor a clock in it.
    if len(was) > _LONGEST or len(now) > _LONGEST or not (has_digit(was) and has_digit(now)):
        return False
    was_bytes, now_bytes = was.encode("utf-8", "replace"), now.encode("utf-8", "replace")
    stripped = strip_volatile(was_bytes)
    # A `<>` stands for each that was stripped, so both must have some; but fields of a table go without a trace.
    if stripped == was_bytes and b"<>" not in was_bytes and not now.startswith("{"):
        return False
    return stripped == strip_volatile(now_bytes)


def _begin_otherwise(was: str, now: str) -> bool:
    """Whether both begin with another word or code, each too short to be an id or a clock, or only one is a table."""
    if (was[0] == "{") is not (now[0] == "{"):
        return True
    word, word_now = was[:_SHORTEST_ID].partition(" ")[0], now[:_SHORTEST_ID].partition(" ")[0]
    return word != word_now and max(len(word), len(word_now)) < _SHORTEST_ID and word.isalnum() and word_now.isalnum()


def word_segments(was: str, now: str) -> list[Segment]:
    """Both texts as one: what they share, what went, what came. Joining `same` and `was` gives the first text."""
    left, right = _TOKEN.findall(was), _TOKEN.findall(now)
    if len(left) + len(right) > 2 * _MOST_TOKENS:
        return [("was", was), ("now", now)]
    segments: list[Segment] = []
    at_left = at_right = 0
    for match_left, match_right in [*common_pairs(left, right), (len(left), len(right))]:
        _put(segments, "was", left[at_left:match_left])
        _put(segments, "now", right[at_right:match_right])
        if match_left < len(left):
            _put(segments, "same", [left[match_left]])
        at_left, at_right = match_left + 1, match_right + 1
    return segments


def _put(segments: list[Segment], kind: Literal["same", "was", "now"], tokens: list[str]) -> None:
    text = "".join(tokens)
    if not text:
        return
    if segments and segments[-1][0] == kind:
        segments[-1] = (kind, segments[-1][1] + text)
    else:
        segments.append((kind, text))
