"""
Pair two sequences: what is unique and equal holds them together, likeness decides only in between.

Patience first: elements that occur once on each side, in the longest run that keeps their order, are anchors. Between
two anchors the same is tried again, by a coarser key, then by likeness in a small table. A stretch too long for the
table is cut where the sides meet again, so the work grows with the length and not with its square.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

__all__ = ["Pair", "common_pairs", "longest_increasing", "pair_alike"]

Pair = tuple[int, int]

_TABLE = 4_096
"""The largest table of likenesses, in cells."""
_WINDOW = 40
"""How far apart the sides may be when a long stretch without anchors meets again."""
_LEAST = 0.3
"""Two elements less alike than this are not the same step changed, but one gone and another come."""


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
        if begin == end or begin_right == end_right:
            continue
        anchors = _anchors(left, right, begin, end, begin_right, end_right)
        if not anchors:
            anchors = _meetings(left, right, begin, end, begin_right, end_right)
            pairs += anchors
            continue
        edges = [(begin - 1, begin_right - 1), *anchors, (end, end_right)]
        pairs += anchors
        waiting += [
            (before[0] + 1, after[0], before[1] + 1, after[1])
            for before, after in pairwise(edges)
            if after[0] - before[0] > 1 and after[1] - before[1] > 1
        ]
    pairs.sort()
    return pairs


def _anchors(
    left: Sequence[Hashable], right: Sequence[Hashable], begin: int, end: int, begin_right: int, end_right: int
) -> list[Pair]:
    """Elements that occur once on each side, as many as keep their order."""
    places = _places_of_single(left, begin, end)
    places_right = _places_of_single(right, begin_right, end_right)
    both = sorted((place, places_right[element]) for element, place in places.items() if element in places_right)
    kept = longest_increasing([place_right for _, place_right in both])
    return [both[position] for position in kept]


def _places_of_single(elements: Sequence[Hashable], begin: int, end: int) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    repeated: set[Hashable] = set()
    for place in range(begin, end):
        element = elements[place]
        if element in places:
            repeated.add(element)
        places[element] = place
    for element in repeated:
        del places[element]
    return places


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


def pair_alike(
    left: Sequence[Any],
    right: Sequence[Any],
    keys: Sequence[Callable[[Any], Hashable]],
    likeness: Callable[[Any, Any], float],
) -> list[Pair]:
    """
    Pair two sequences by each key in turn, then by likeness in what is left between.

    Positions increase on both sides; elements that are not alike stay without a partner.
    """
    pairs: list[Pair] = []
    gaps = [(0, len(left), 0, len(right))]
    for key in keys:
        open_gaps: list[tuple[int, int, int, int]] = []
        for begin, end, begin_right, end_right in gaps:
            found = common_pairs(list(map(key, left[begin:end])), list(map(key, right[begin_right:end_right])))
            placed = [(begin + place, begin_right + place_right) for place, place_right in found]
            pairs += placed
            open_gaps += _between(placed, begin, end, begin_right, end_right)
        gaps = open_gaps
    for begin, end, begin_right, end_right in gaps:
        for piece in _pieces(begin, end, begin_right, end_right):
            pairs += _by_likeness(left, right, *piece, likeness)
    pairs.sort()
    return pairs


def _between(
    pairs: Sequence[Pair], begin: int, end: int, begin_right: int, end_right: int
) -> list[tuple[int, int, int, int]]:
    edges = [(begin - 1, begin_right - 1), *pairs, (end, end_right)]
    return [
        (before[0] + 1, after[0], before[1] + 1, after[1])
        for before, after in pairwise(edges)
        if after[0] - before[0] > 1 and after[1] - before[1] > 1
    ]


def _pieces(begin: int, end: int, begin_right: int, end_right: int) -> list[tuple[int, int, int, int]]:
    """A gap in pieces whose tables are small: both sides are cut at the same share of their length."""
    length, length_right = end - begin, end_right - begin_right
    count = 1
    while (length // count + 1) * (length_right // count + 1) > _TABLE and count < max(length, length_right):
        count *= 2
    return [
        (
            begin + length * part // count,
            begin + length * (part + 1) // count,
            begin_right + length_right * part // count,
            begin_right + length_right * (part + 1) // count,
        )
        for part in range(count)
    ]


def _by_likeness(
    left: Sequence[Any],
    right: Sequence[Any],
    begin: int,
    end: int,
    begin_right: int,
    end_right: int,
    likeness: Callable[[Any, Any], float],
) -> list[Pair]:
    """The pairs, in order on both sides, that are together most alike."""
    width = end_right - begin_right
    scores = [[0.0] * (width + 1)]
    alike: list[list[float]] = []
    for place in range(begin, end):
        row = [likeness(left[place], right[place_right]) for place_right in range(begin_right, end_right)]
        alike.append(row)
        above, current = scores[-1], [0.0]
        for column, like in enumerate(row):
            best = max(above[column + 1], current[column])
            if like >= _LEAST:
                best = max(best, above[column] + like)
            current.append(best)
        scores.append(current)
    pairs: list[Pair] = []
    row_at, column_at = end - begin, width
    while row_at and column_at:
        score, like = scores[row_at][column_at], alike[row_at - 1][column_at - 1]
        if like >= _LEAST and score == scores[row_at - 1][column_at - 1] + like:
            row_at, column_at = row_at - 1, column_at - 1
            pairs.append((begin + row_at, begin_right + column_at))
        elif score == scores[row_at - 1][column_at]:
            row_at -= 1
        else:
            column_at -= 1
    return pairs
