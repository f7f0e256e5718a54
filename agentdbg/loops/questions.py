"""
Notice that a prompt which is one text asks for something else than the one before it, as in a batch over items.

The same answer to another question is not a loop. A text that grew at its end is the same talk going on, and what only
differs in a number, an id or a few of many words is the same question asked again.
"""

from __future__ import annotations

import re
from itertools import compress, count
from operator import ne

__all__ = ["ask_differently"]

_WORD = re.compile(r"(?<![\w-])[^\W\d_]{2,}(?![\w-])")
_LONGEST_WORD = 40
_MOST_READ = 4_096
"""As much as is looked at closely of any value; whether a long text asks for something else shows early."""
_FEW = 64
"""So many characters are compared one by one."""


def ask_differently(before: str, prompt: str) -> bool:
    """Whether what is new between the common beginning and end of two texts is other words."""
    if not before or prompt.startswith(before):
        return False
    start = _common_start(before, prompt)
    end = _common_start(before[start:][::-1], prompt[start:][::-1])
    # The words that the difference cuts through belong to it.
    start -= _length_of_word(before[max(0, start - _LONGEST_WORD) : start][::-1])
    if end:
        end -= _length_of_word(prompt[len(prompt) - end :][:_LONGEST_WORD])
    new = _words(prompt, start, min(len(prompt) - end, start + _MOST_READ))
    if not new:
        return False
    old = _words(before, start, min(len(before) - end, start + _MOST_READ))
    return not new <= old and 2 * len(old & new) < len(old | new)


def _words(text: str, start: int, end: int) -> set[str]:
    """The different words in a part of a text; most of what stands between two spaces is a word as it is."""
    part = text[start:end]
    if start and (text[start - 1].isalnum() or text[start - 1] in "_-"):
        part = f"_{part}"  # it begins inside a word, the rest of which is none
    pieces = set(part.split())
    plain = {piece for piece in pieces if len(piece) > 1 and piece.isalpha()}
    return plain.union(_WORD.findall(" ".join(pieces - plain)))


def _common_start(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while high - low > _FEW:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return next(compress(count(low), map(ne, one[low:high], other[low:high])), high)


def _length_of_word(text: str) -> int:
    """How many characters the word has that the text begins with."""
    return 0 if not text or text[0].isspace() else len(text.split(None, 1)[0])
