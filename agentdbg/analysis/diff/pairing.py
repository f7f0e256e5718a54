"""
Which step of one run is which step of the other.

The runs are walked as trees: what hangs under two paired steps is compared with each other. A model call and the tools
it asked for stand in one line, because the tools say best where the runs meet. Steps that ran at the same time are
put into an order of their own first, so that their real order, which is chance, does not matter. Where a step with
steps inside has no partner, what is inside is compared in its place: a new span around old steps hides nothing.

The result does not depend on which run is called A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.analysis.columns import LLM, LOOP, SPAN, TOOL
from agentdbg.analysis.diff.fingerprints import digest
from agentdbg.analysis.diff.likeness import likeness
from agentdbg.analysis.diff.lines import LinePairing
from agentdbg.analysis.diff.sequences import between
from agentdbg.analysis.wording import as_json

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from agentdbg.analysis.diff.steps import Side, Step

__all__ = ["Pairing", "pair_sides"]

_AT_ONCE_MS = 3
"""Stored times are whole milliseconds: one that begins while the other ends is not yet at the same time."""


_RUNNING = frozenset({LLM, TOOL, SPAN})


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


def _place(step: Step) -> tuple[bytes, bytes, int]:
    return step.digest, b"" if step.context is None else digest(step.context), step.depth


def _pair(left: Side, right: Side) -> Pairing:
    pairs: list[tuple[Step, Step]] = []
    cut = 0
    waiting = [(_in_line(left.top), _in_line(right.top))]
    while waiting:
        line, other = waiting.pop()
        lines = LinePairing(line, other)
        cut += lines.cut
        for at, at_other in lines.pairs:
            pairs.append((line[at], other[at_other]))
            if line[at].kind != LLM and line[at].children and other[at_other].children:
                waiting.append((_in_line(line[at].children), _in_line(other[at_other].children)))
        for begin, end, begin_other, end_other in between(lines.pairs, 0, len(line), 0, len(other)):
            opened = _opened(line[begin:end]), _opened(other[begin_other:end_other])
            if (opened[0][1] or opened[1][1]) and opened[0][0] and opened[1][0]:
                waiting.append((opened[0][0], opened[1][0]))
    _pair_findings(pairs, left, right)
    taken = {step.number for step, _ in pairs}
    taken_right = {step.number for _, step in pairs}
    rest = [step for step in left.steps.values() if step.number not in taken]
    rest_right = [step for step in right.steps.values() if step.number not in taken_right]
    if rest and rest_right:
        _pair_in_groups(pairs, rest, rest_right)
        taken.update(step.number for step, _ in pairs)
        taken_right.update(step.number for _, step in pairs)
    for step in (*left.order, *right.order):
        step.words = None  # many small texts, which nobody asks for again
    moved = _moved(
        (step for step in rest if step.number not in taken),
        (step for step in rest_right if step.number not in taken_right),
    )
    return Pairing({step.number: other.number for step, other in pairs}, moved, cut)


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
        if not (group and _overlaps(step, group_end)):
            _put(line, group)
            group, group_end = [], 0
        group.append(step)
        group_end = max(group_end, step.end_ms) if step.kind in _RUNNING else 0
    _put(line, group)
    return line


def _overlaps(step: Step, group_end: int) -> bool:
    lasts = step.kind in _RUNNING and step.end_ms - step.start_ms >= _AT_ONCE_MS
    return lasts and step.start_ms + _AT_ONCE_MS <= group_end


def _put(line: list[Step], group: list[Step]) -> None:
    if len(group) > 1:
        group = _in_fixed_order(group)
    for step in group:
        line.append(step)
        if step.kind == LLM and step.children:
            if len(step.children) == 1 and step.children[0].kind == TOOL:
                line.append(step.children[0])
            elif all(child.kind == TOOL for child in step.children):
                line += _in_fixed_order(step.children)
            else:
                line += _in_line(step.children)


def _in_fixed_order(steps: Sequence[Step]) -> list[Step]:
    """By name and arguments, which most often tell them apart, then by all that they say."""
    by_call = {_call_of(step): step for step in steps}
    if len(by_call) == len(steps):
        return [by_call[call] for call in sorted(by_call)]
    return sorted(steps, key=lambda step: (*_call_of(step), step.digest, step.number))


def _call_of(step: Step) -> tuple[str, str]:
    return step.name, as_json(step.content.get("args"))[:200]


def _pair_in_groups(pairs: list[tuple[Step, Step]], rest: Sequence[Step], rest_right: Sequence[Step]) -> None:
    """Tools asked for at once may still be unpaired only because their order is none: pair those most alike."""
    partner = {step.number: other.number for step, other in pairs}
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
                candidates.append((-alike, step.number + other.number, step, other))
    taken: set[tuple[int, int]] = set()
    for _, _, step, other in sorted(candidates, key=lambda found: found[:2]):
        if not taken & {(0, step.number), (1, other.number)}:
            taken |= {(0, step.number), (1, other.number)}
            pairs.append((step, other))


def _pair_findings(pairs: list[tuple[Step, Step]], left: Side, right: Side) -> None:
    """Loop findings are ours and hold nothing together: equal ones are paired where the steps around them are."""
    if not (left.has_findings and right.has_findings):
        return
    partner = {step.number: other.number for step, other in pairs}
    places: dict[tuple[int, int], list[Step]] = {}
    for before, step in _findings(left, partner):
        places.setdefault((partner.get(before, 0), step.key), []).append(step)
    for before, step in _findings(right, set(partner.values())):
        found = places.get((before, step.key))
        if found:
            pairs.append((found.pop(0), step))


def _findings(side: Side, paired: Container[int]) -> Iterator[tuple[int, Step]]:
    """Each finding with the nearest paired step before it."""
    before = 0
    for step in side.order:
        if step.kind == LOOP:
            yield before, step
        elif step.number in paired:
            before = step.number


def _moved(rest: Iterable[Step], rest_right: Iterable[Step]) -> dict[int, int]:
    """Equal calls that have no partner in their own place."""
    places: dict[int, list[int]] = {}
    for step in rest_right:
        if step.kind in (LLM, TOOL, SPAN):
            places.setdefault(step.key, []).append(step.number)
    moved = {}
    for step in rest:
        if places.get(step.key):
            moved[step.number] = places[step.key].pop(0)
    return moved
