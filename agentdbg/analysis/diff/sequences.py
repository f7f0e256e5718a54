"""
Pair the equal elements of two sequences: what is unique and equal holds them together.

Patience first: elements that occur once on each side, in the longest run that keeps their order, are anchors. Between
two anchors the same is tried again. Where there are none, both sides are walked to where they meet again, within a
window, so the work grows with the length and not with its square.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from operator import lt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Sequence

__all__ = ["Gap", "Pair", "between", "common_pairs", "longest_increasing"]

Pair = tuple[int, int]
Gap = tuple[int, int, int, int]
"""A stretch of both sequences: where it begins and ends in the first, and in the second."""

_WINDOW = 40
"""How far apart the sides may be when a long stretch without anchors meets again."""


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
        # Most of what is left has nothing in common, which is quickly seen.
        common = set(left[begin:end]).intersection(right[begin_right:end_right])
        if not common:
            continue
        places = _places_of_single(left, common, begin, end)
        anchors = _anchors(places, _places_of_single(right, places, begin_right, end_right))
        if not anchors:
            pairs += _meetings(left, right, begin, end, begin_right, end_right)
            continue
        pairs += anchors
        waiting += between(anchors, begin, end, begin_right, end_right)
    pairs.sort()
    return pairs


def between(pairs: Sequence[Pair], begin: int, end: int, begin_right: int, end_right: int) -> list[Gap]:
    """The stretches between pairs in which both sides have something."""
    edges = [(begin - 1, begin_right - 1), *pairs, (end, end_right)]
    return [
        (before[0] + 1, after[0], before[1] + 1, after[1])
        for before, after in pairwise(edges)
        if after[0] - before[0] > 1 and after[1] - before[1] > 1
    ]


def _places_of_single(
    elements: Sequence[Hashable], wanted: Container[Hashable], begin: int, end: int
) -> dict[Hashable, int]:
    """Where those of the wanted elements are that occur once, in their order."""
    places: dict[Hashable, int] = {}
    repeated: set[Hashable] = set()
    for place in range(begin, end):
        element = elements[place]
        if element in wanted:
            if element in places:
                repeated.add(element)
            places[element] = place
    for element in repeated:
        del places[element]
    return places


def _anchors(places: dict[Hashable, int], places_right: dict[Hashable, int]) -> list[Pair]:
    """Elements that occur once on each side, as many as keep their order."""
    both = [(place, places_right[element]) for element, place in places.items() if element in places_right]
    kept = longest_increasing([place_right for _, place_right in both])
    return both if len(kept) == len(both) else [both[position] for position in kept]


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
    if all(map(lt, numbers, numbers[1:])):  # as nearly always
        return list(range(len(numbers)))
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
