"""
Pair two lines of steps: by what they are, then by what they do, then by how alike they are.

Each way is tried only in the gaps that the one before left. Most gaps are small and leave no choice. The others are
settled in a table of likenesses; a gap too long for one is cut into pieces, so the work grows with the length and not
with its square.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from agentdbg.analysis.diff.likeness import are_akin, likeness_table
from agentdbg.analysis.diff.sequences import between, common_pairs
from agentdbg.analysis.diff.steps import families_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentdbg.analysis.diff.sequences import Gap
    from agentdbg.analysis.diff.steps import Step

__all__ = ["LinePairing"]

_FEW = 16
"""How many combinations are looked at to see whether there is a choice."""
_TABLE = 4_096
"""The largest table of likenesses, in cells."""
_TABLES = 16_384
"""The most cells that the tables of one gap have together, as long as its pieces are not shorter than `_SHORTEST`."""
_SHORTEST = 8

_Families = list[frozenset[str]]


class LinePairing:
    """
    Two lines paired: `pairs` are positions, increasing on both sides; what is not akin stays without a partner.

    `cut` counts the steps of gaps that were cut: some of them may have a better partner in the next piece.
    """

    def __init__(self, left: Sequence[Step], right: Sequence[Step]) -> None:
        self.cut = 0
        self._left, self._right = left, right
        self.pairs = common_pairs([step.key for step in left], [step.key for step in right])
        for gap in between(self.pairs, 0, len(left), 0, len(right)):
            if not self._has_one_way(gap):
                self._pair_by_action(gap)
        self.pairs.sort()

    def _has_one_way(self, gap: Gap) -> bool:
        """Pair all that can be paired in a small gap, if no two of these pairs are in each other's way."""
        begin, end, begin_right, end_right = gap
        if (end - begin) * (end_right - begin_right) > _FEW:
            return False
        found = [
            (place, place_right)
            for place in range(begin, end)
            for place_right in range(begin_right, end_right)
            if are_akin(self._left[place], self._right[place_right])
        ]
        for before, after in pairwise(found):
            if before[0] == after[0] or before[1] >= after[1]:
                return False
        self.pairs += found
        return True

    def _pair_by_action(self, gap: Gap) -> None:
        begin, end, begin_right, end_right = gap
        left, right = self._left[begin:end], self._right[begin_right:end_right]
        families, families_right = families_of(left), families_of(right)
        actions = _actions(left, families, families_right, "left")
        pairs = common_pairs(actions, _actions(right, families_right, families, "right"))
        found = [(begin + place, begin_right + other) for place, other in pairs]
        self.pairs += found
        for inner in between(found, *gap):
            if not self._has_one_way(inner):
                pieces = _pieces(*inner)
                if len(pieces) > 1:
                    self.cut += inner[1] - inner[0] + inner[3] - inner[2]
                for piece in pieces:
                    self._pair_by_likeness(*piece)

    def _pair_by_likeness(self, begin: int, end: int, begin_right: int, end_right: int) -> None:
        """The pairs, in order on both sides, that are together most alike."""
        table = likeness_table(self._left[begin:end], self._right[begin_right:end_right])
        row, column = end - begin, end_right - begin_right
        sums = _best_sums(table, column)
        while row and column:
            best, above = sums[row], sums[row - 1]
            like = table[row - 1].get(column - 1)
            if like is not None and best[column] == above[column - 1] + like:
                row, column = row - 1, column - 1
                self.pairs.append((begin + row, begin_right + column))
            elif best[column] == above[column]:
                row -= 1
            else:
                column -= 1


def _actions(line: Sequence[Step], families: _Families, families_there: _Families, alone: str) -> list[int | str]:
    """What each step does; what is akin to nothing on the other side does what nothing does there: it is `alone`."""
    there = frozenset().union(*families_there)
    return [alone if there.isdisjoint(own) else step.action for step, own in zip(line, families, strict=True)]


def _best_sums(table: Sequence[Mapping[int, float]], width: int) -> list[list[float]]:
    """For every corner of the table, the most that pairs above and left of it can come to; rows and columns grow."""
    above = [0.0] * (width + 1)
    sums = [above]
    for likes in table:
        current = above.copy() if likes else above
        for column, like in likes.items():
            # A pair that adds something counts from its own corner on, to where others add up to as much.
            best = above[column] + like
            if best > current[column + 1]:
                end = bisect_left(current, best, column + 1)
                current[column + 1 : end] = [best] * (end - column - 1)
        sums.append(current)
        above = current
    return sums


def _pieces(begin: int, end: int, begin_right: int, end_right: int) -> list[Gap]:
    """A gap in pieces whose tables are small: both sides are cut at the same share of their length."""
    length, length_right = end - begin, end_right - begin_right
    count = 1
    while (length // count + 1) * (length_right // count + 1) > _TABLE and count < max(length, length_right):
        count *= 2
    while length * length_right // count > _TABLES and min(length, length_right) // count > _SHORTEST:
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
