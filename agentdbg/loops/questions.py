"""
Notice that a prompt which is one text asks for something else than the one before it, as in a batch over items.

The same answer to another question is not a loop. A text that grew at its end is the same talk going on, and what only
differs in a number, an id or a few of many words is the same question asked again.
"""

from __future__ import annotations

import re

__all__ = ["ask_differently"]

_WORD = re.compile(r"(?<![\w-])[^\W\d_]{2,}(?![\w-])")
_FIRST_WORD = re.compile(r"\S{1,40}")
_LAST_WORD = re.compile(r"\S+\Z")
_LONGEST_WORD = 40


def ask_differently(before: str, prompt: str) -> bool:
    """Whether what is new between the common beginning and end of two texts is other words."""
    if not before or prompt.startswith(before):
        return False
    start = _common_start(before, prompt)
    rest, new_rest = before[start:], prompt[start:]
    end = _common_start(rest[::-1], new_rest[::-1])
    # The words that the difference cuts through belong to it.
    begun = _LAST_WORD.search(before, max(0, start - _LONGEST_WORD), start)
    ended = _FIRST_WORD.match(prompt, len(prompt) - end) if end else None
    start = begun.start() if begun else start
    end -= len(ended[0]) if ended else 0
    old = set(_WORD.findall(before, start, len(before) - end))
    new = set(_WORD.findall(prompt, start, len(prompt) - end))
    return bool(new - old) and 2 * len(old & new) < len(old | new)


def _common_start(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
