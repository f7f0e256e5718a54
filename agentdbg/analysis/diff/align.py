"""
Which step of one run is which step of the other, and the order in which both are read.

The runs are walked as trees: what hangs under two paired steps is compared with each other. A model call and the tools
it asked for stand in one line, because the tools say best where the runs meet. Steps that ran at the same time are
put into an order of their own first, so that their real order, which is chance, does not matter. Where a step with
steps inside has no partner, what is inside is compared in its place: a new span around old steps hides nothing.

Two lines are paired by what their steps are, then by what they do, then by how alike they are. Each way is tried only
in the gaps that the one before left. Most gaps are small and leave no choice. The others are settled in a table of
likenesses; a gap too long for one is cut into pieces, so the work grows with the length and not with its square.

The result does not depend on which run is called A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.analysis.diff.sequences import between, common_pairs, longest_increasing
from agentdbg.analysis.diff.steps import likeness, likeness_table
from agentdbg.analysis.run_columns import LLM, LOOP, SPAN, TOOL
from agentdbg.analysis.wording import as_json

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from agentdbg.analysis.diff.sequences import Gap
    from agentdbg.analysis.diff.steps import Side, Step

__all__ = ["LinePairing", "Pairing", "Place", "lay_out", "pair_sides"]

Place = tuple[int | None, int | None]
_AT_ONCE_MS = 3
"""Stored times are whole milliseconds: one that begins while the other ends is not yet at the same time."""
_RUNNING = frozenset({LLM, TOOL, SPAN})
_ROOM = 200
"""How much of its arguments decides where a call stands among others."""
_TABLE = 4_096
"""The largest table of likenesses, in cells."""
_TABLES = 16_384
"""The most cells that the tables of one gap have together, as long as its pieces are not shorter than `_SHORTEST`."""
_SHORTEST = 8


@dataclass(frozen=True)
class Pairing:
    """
    Numbers of steps that belong together, and of equal steps that stand in another place.

    `cut` counts the steps that were compared in pieces, because too many of them stand between two that are equal.
    """

    pairs: dict[int, int]
    moved: dict[int, int]
    cut: int = 0

    def swapped(self) -> Pairing:
        return Pairing({b: a for a, b in self.pairs.items()}, {b: a for a, b in self.moved.items()}, self.cut)


def pair_sides(a: Side, b: Side) -> Pairing:
    """Pair the steps of two runs."""
    if len(a.order) != len(b.order):
        is_swapped = len(b.order) < len(a.order)
    else:
        differing = next((pair for pair in zip(a.order, b.order, strict=True) if not _are_equal(*pair)), None)
        if differing is None:  # whatever ran at the same time in only one of them
            return Pairing({step.number: twin.number for step, twin in zip(a.order, b.order, strict=True)}, {})
        # Which run is walked first is decided by what is in them alone.
        is_swapped = _place(differing[1]) < _place(differing[0])
    return _pair(b, a).swapped() if is_swapped else _pair(a, b)


def _are_equal(step: Step, twin: Step) -> bool:
    return step.key == twin.key and step.context_key == twin.context_key and step.depth == twin.depth


def _place(step: Step) -> tuple[int, int, int]:
    return step.key, step.context_key, step.depth


def _pair(left: Side, right: Side) -> Pairing:
    partner: dict[int, int] = {}
    cut = 0
    waiting = [(_in_line(left.top), _in_line(right.top))]
    while waiting:
        line, other = waiting.pop()
        lines = LinePairing(line, other)
        cut += lines.cut
        for at, at_other in lines.pairs:
            step, twin = line[at], other[at_other]
            partner[step.number] = twin.number
            if step.children and twin.children and step.kind != LLM:
                waiting.append((_in_line(step.children), _in_line(twin.children)))
        for begin, end, begin_other, end_other in between(lines.pairs, 0, len(line), 0, len(other)):
            opened = _opened(line[begin:end]), _opened(other[begin_other:end_other])
            if (opened[0][1] or opened[1][1]) and opened[0][0] and opened[1][0]:
                waiting.append((opened[0][0], opened[1][0]))
    _pair_findings(partner, left, right)
    taken = set(partner.values())
    rest = [step for number, step in left.steps.items() if number not in partner]
    rest_right = [step for number, step in right.steps.items() if number not in taken]
    if rest and rest_right:
        taken |= _pair_in_groups(partner, rest, rest_right)
    for step in (*left.order, *right.order):
        step.words = None  # many small texts, which nobody asks for again
    moved = _moved(
        [step for step in rest if step.number not in partner],
        [step for step in rest_right if step.number not in taken],
    )
    return Pairing(partner, moved, cut)


def _opened(line: Sequence[Step]) -> tuple[list[Step], bool]:
    """Steps without partner, those with steps inside replaced by what is inside; and whether there were any."""
    opened: list[Step] = []
    found = False
    for step in line:
        if step.children and step.kind != LLM:
            opened += _in_line(step.children)
            found = True
        else:
            opened.append(step)
    return opened, found


def _in_line(siblings: Sequence[Step]) -> list[Step]:
    """Siblings one after the other, each model call followed by what it asked for; parallel ones in a fixed order."""
    line: list[Step] = []
    group: list[Step] = []
    group_end = 0
    for step in siblings:
        if step.kind == LOOP:
            continue
        if group and step.start_ms + _AT_ONCE_MS <= group_end and _lasts(step):
            group.append(step)
        else:
            _put(line, group)
            group, group_end = [step], 0
        if step.kind not in _RUNNING:
            group_end = 0
        elif step.end_ms > group_end:
            group_end = step.end_ms
    _put(line, group)
    return line


def _lasts(step: Step) -> bool:
    return step.kind in _RUNNING and step.end_ms - step.start_ms >= _AT_ONCE_MS


def _put(line: list[Step], group: list[Step]) -> None:
    for step in group if len(group) < 2 else _in_fixed_order(group):
        line.append(step)
        children = step.children
        if children and step.kind == LLM:
            if all(child.kind == TOOL for child in children):
                line += _in_fixed_order(children)
            else:
                line += _in_line(children)


def _in_fixed_order(steps: Sequence[Step]) -> list[Step]:
    """By name and arguments, which most often tell them apart, then by all that they say."""
    if len(steps) < 2:
        return [*steps]
    return sorted(steps, key=lambda step: (step.name, as_json(step.content.get("args"))[:_ROOM], step.key, step.number))


def _pair_in_groups(partner: dict[int, int], rest: Sequence[Step], rest_right: Sequence[Step]) -> set[int]:
    """
    Tools asked for at once may still be unpaired only because their order is none: pair those most alike.

    Gives the steps of `rest_right` that now have a partner.
    """
    by_parent: dict[int, list[Step]] = {}
    for step in rest_right:
        if step.parent is not None and step.kind == TOOL:
            by_parent.setdefault(step.parent.number, []).append(step)
    candidates = []
    for step in rest:
        if step.parent is None or step.kind != TOOL:
            continue
        for other in by_parent.get(partner.get(step.parent.number, 0), ())[:20]:
            alike = likeness(step, other)
            if alike > 0:
                candidates.append((-alike, step.number + other.number, step.number, other.number))
    taken: set[int] = set()
    for _, _, number, other_number in sorted(candidates, key=lambda found: found[:2]):
        if number not in partner and other_number not in taken:
            taken.add(other_number)
            partner[number] = other_number
    return taken


def _pair_findings(partner: dict[int, int], left: Side, right: Side) -> None:
    """Loop findings are ours and hold nothing together: equal ones are paired where the steps around them are."""
    if not (left.has_findings and right.has_findings):
        return
    places: dict[tuple[int, int], list[int]] = {}
    for before, step in _findings(left, partner):
        places.setdefault((partner.get(before, 0), step.key), []).append(step.number)
    for before, step in _findings(right, frozenset(partner.values())):
        found = places.get((before, step.key))
        if found:
            partner[found.pop(0)] = step.number


def _findings(side: Side, paired: Container[int]) -> Iterator[tuple[int, Step]]:
    """Each finding with the nearest paired step before it."""
    before = 0
    for step in side.order:
        if step.kind == LOOP:
            yield before, step
        elif step.number in paired:
            before = step.number


def _moved(rest: Sequence[Step], rest_right: Iterable[Step]) -> dict[int, int]:
    """Equal calls that have no partner in their own place."""
    wanted = {step.key for step in rest}
    places: dict[int, list[int]] = {}
    for step in rest_right:
        if step.key in wanted and step.kind in _RUNNING:
            places.setdefault(step.key, []).append(step.number)
    moved = {}
    for step in rest if places else ():
        found = places.get(step.key)
        if found:
            moved[step.number] = found.pop(0)
    return moved


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
            self._pair_by_action(gap)
        self.pairs.sort()

    def _pair_by_action(self, gap: Gap) -> None:
        begin, end, begin_right, end_right = gap
        left, right = self._left[begin:end], self._right[begin_right:end_right]
        pairs = common_pairs([step.action for step in left], [step.action for step in right])
        found = [(begin + place, begin_right + other) for place, other in pairs]
        self.pairs += found
        for inner in between(found, *gap):
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


def _best_sums(table: Sequence[Mapping[int, float]], width: int) -> list[list[float]]:
    """For every corner of the table, the most that pairs above and left of it can come to; rows and columns grow."""
    sums = [[0.0] * (width + 1)]
    for likes in table:
        above, row = sums[-1], [0.0]
        for column in range(width):
            row.append(max(row[-1], above[column + 1], above[column] + likes.get(column, 0.0)))
        sums.append(row)
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


def lay_out(pairing: Pairing, a: Side, b: Side) -> list[Place]:
    """Every step of both runs once. A pair out of order (parallel steps) stands at its place in A."""
    order_a, order_b = [step.number for step in a.order], [step.number for step in b.order]
    partners = [*map(pairing.pairs.get, order_a)]
    in_a = [*zip(order_a, partners, strict=True)]
    rank_b = dict(zip(order_b, range(len(order_b)), strict=True))
    paired = [position for position, partner in enumerate(partners) if partner is not None]
    ranks = [rank_b[partner] for partner in partners if partner is not None]
    taken = set(pairing.pairs.values())
    places: list[Place] = []
    at = at_b = 0
    for position in longest_increasing(ranks):
        rank = ranks[position]
        if rank > at_b:
            places += in_a[at : paired[position]]
            places += [(None, alone) for alone in order_b[at_b:rank] if alone not in taken]
            at = paired[position]
        at_b = rank + 1
    places += in_a[at:]
    places += [(None, alone) for alone in order_b[at_b:] if alone not in taken]
    return places
