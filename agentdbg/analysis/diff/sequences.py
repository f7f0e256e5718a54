"""
Two sequences and two texts: which elements are the same, which words went and came, whether only the wording differs.

Patience first: elements that occur once on each side, in the longest run that keeps their order, are anchors. Between
two anchors the same is tried again. Where there are none, both sides are walked to where they meet again, within a
window, so the work grows with the length and not with its square.

Models never say a thing twice in the same words, so other words alone mean little. Figures, dates and codes in a text
are facts; where each text has some that the other lacks, they say different things.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import filterfalse, pairwise
from typing import TYPE_CHECKING, Literal

from agentdbg.events import TRUNCATED
from agentdbg.loops.volatile import strip_volatile

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = [
    "Gap",
    "Pair",
    "Segment",
    "between",
    "common_pairs",
    "is_prose",
    "longest_increasing",
    "other_wording",
    "same_but_for_cuts",
    "word_segments",
]

Pair = tuple[int, int]
Gap = tuple[int, int, int, int]
"""A stretch of both sequences: where it begins and ends in the first, and in the second."""
Segment = tuple[Literal["same", "was", "now"], str]
"""A stretch of text, and whether both texts have it."""

_WINDOW = 40
"""How far apart the sides may be when a long stretch without anchors meets again."""
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_DIGIT = re.compile(r"\d")
_FACT = re.compile(r"(?!\d{1,2}[.)]\Z)\D*\d")
"""A word with a digit in it, but not the number of a list."""
_AROUND = ".,;:!?()[]{}<>\"'`*_$€£%#=~\u201c\u201d\u2018\u2019-"
_PROSE_WORDS = 3
_MOST_TOKENS = 4_000
_LOOKED_AT = 4_000
_LONGEST = 100_000


def common_pairs(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[Pair]:
    """Positions of equal elements, increasing on both sides."""
    pairs: list[Pair] = []
    waiting = [(0, len(left), 0, len(right))]
    while waiting:
        begin, end, begin_right, end_right = waiting.pop()
        while begin < end and begin_right < end_right and left[begin] == right[begin_right]:
            pairs.append((begin, begin_right))
            begin, begin_right = begin + 1, begin_right + 1
        while begin < end and begin_right < end_right and left[end - 1] == right[end_right - 1]:
            end, end_right = end - 1, end_right - 1
            pairs.append((end, end_right))
        anchors = _anchors(_places_of_single(left, begin, end), _places_of_single(right, begin_right, end_right))
        if anchors:
            pairs += anchors
            waiting += between(anchors, begin, end, begin_right, end_right)
        else:
            pairs += _meetings(left, right, begin, end, begin_right, end_right)
    return sorted(pairs)


def between(pairs: Sequence[Pair], begin: int, end: int, begin_right: int, end_right: int) -> list[Gap]:
    """The stretches between pairs in which both sides have something."""
    edges = [(begin - 1, begin_right - 1), *pairs, (end, end_right)]
    return [
        (before[0] + 1, after[0], before[1] + 1, after[1])
        for before, after in pairwise(edges)
        if after[0] - before[0] > 1 and after[1] - before[1] > 1
    ]


def _places_of_single(elements: Sequence[Hashable], begin: int, end: int) -> dict[Hashable, int]:
    """Where the elements are that occur once, in their order."""
    places: dict[Hashable, int] = {}
    repeated: set[Hashable] = set()
    for place in range(begin, end):
        if elements[place] in places:
            repeated.add(elements[place])
        places[elements[place]] = place
    return {element: place for element, place in places.items() if element not in repeated}


def _anchors(places: dict[Hashable, int], places_right: dict[Hashable, int]) -> list[Pair]:
    """Elements that occur once on each side, as many as keep their order."""
    both = [(place, places_right[element]) for element, place in places.items() if element in places_right]
    return [both[position] for position in longest_increasing([place_right for _, place_right in both])]


def _meetings(
    left: Sequence[Hashable], right: Sequence[Hashable], begin: int, end: int, begin_right: int, end_right: int
) -> list[Pair]:
    """Without anchors: walk both sides, and after a difference go on where they meet again soonest."""
    pairs: list[Pair] = []
    while begin < end and begin_right < end_right:
        if left[begin] == right[begin_right]:
            pairs.append((begin, begin_right))
            begin, begin_right = begin + 1, begin_right + 1
            continue
        meeting = _next_meeting(left, right, begin, end, begin_right, end_right)
        if meeting is None:
            begin, begin_right = begin + _WINDOW, begin_right + _WINDOW
        else:
            begin, begin_right = meeting
    return pairs


def _next_meeting(
    left: Sequence[Hashable], right: Sequence[Hashable], begin: int, end: int, begin_right: int, end_right: int
) -> Pair | None:
    seen: dict[Hashable, int] = {}
    for place_right in range(min(begin_right + _WINDOW, end_right) - 1, begin_right - 1, -1):
        seen[right[place_right]] = place_right
    best: Pair | None = None
    for place in range(begin, min(begin + _WINDOW, end)):
        place_right = seen.get(left[place], -1)
        if place_right >= 0 and (best is None or place + place_right < sum(best)):
            best = (place, place_right)
    return best


def longest_increasing(numbers: Sequence[int]) -> list[int]:
    """The positions of a longest run of growing numbers."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for position, number in enumerate(numbers):
        length = bisect_left(tails, number)
        before.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [number]
        ends[length : length + 1] = [position]
    run: list[int] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        run.append(at)
        at = before[at]
    return run[::-1]


def other_wording(was: str, now: str) -> bool | None:
    """
    Whether two different texts are prose and contradict each other in no fact; None if they say the same.

    They say the same if they differ only in clocks and ids, or only because one was cut when it was stored.
    """
    if not was or not now:
        return False
    if TRUNCATED in was or TRUNCATED in now:
        if same_but_for_cuts(was, now):
            return None
    elif _are_same_but_for_ids(was, now):
        return None
    return is_prose(was) and is_prose(now) and not _contradict(was, now)


def same_but_for_cuts(was: str, now: str) -> bool:
    """Whether two texts of which not all was stored are the same as far as can be seen."""
    head, _, tail = was.partition(TRUNCATED)
    head_now, _, tail_now = now.partition(TRUNCATED)
    head, head_now = head.rstrip(), head_now.rstrip()
    if not head.startswith(head_now) and not head_now.startswith(head):
        return False
    # Of a text that is whole, the end is its own; one that was cut at its end says nothing about it.
    tail = tail.rstrip() if TRUNCATED in was else head
    tail_now = tail_now.rstrip() if TRUNCATED in now else head_now
    return tail.endswith(tail_now) or tail_now.endswith(tail)


def is_prose(text: str) -> bool:
    """Whether a text is a sentence rather than a value: at least three words."""
    head = text[:400]
    return " " in head and len(_WORD.findall(head)) >= _PROSE_WORDS


def _are_same_but_for_ids(was: str, now: str) -> bool:
    """Whether only clocks and ids differ, which all have a digit in them."""
    if len(was) > _LONGEST or len(now) > _LONGEST or not _DIGIT.search(was) or not _DIGIT.search(now):
        return False
    was_bytes, now_bytes = was.encode("utf-8", "replace"), now.encode("utf-8", "replace")
    return strip_volatile(was_bytes) == strip_volatile(now_bytes)


def _contradict(was: str, now: str) -> bool:
    """Whether each text has a fact that the other lacks."""
    facts, facts_now = _facts(was[:_LOOKED_AT]), _facts(now[:_LOOKED_AT])
    return not (facts <= facts_now or facts_now <= facts)


def _facts(text: str) -> set[str]:
    """Numbers, dates, codes like HAT172 or M05KNL; not the numbers of a numbered list, nor what stands around them."""
    words = filter(_FACT.match, filterfalse(str.isalpha, text.split()))
    return {word.partition("'")[0].strip(_AROUND).replace(",", "").lstrip("0") for word in words}


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
