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
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.fingerprints import NOT_JSON, digest
from agentdbg.analysis.diff.likeness import likeness
from agentdbg.analysis.diff.lines import LinePairing
from agentdbg.analysis.diff.sequences import between
from agentdbg.analysis.run_columns import LLM, LOOP, SPAN, TOOL
from agentdbg.analysis.wording import as_json
from agentdbg.encoding import encode_json

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from agentdbg.analysis.diff.steps import Side, Step

__all__ = ["Pairing", "pair_sides"]

_AT_ONCE_MS = 3
"""Stored times are whole milliseconds: one that begins while the other ends is not yet at the same time."""


_RUNNING = frozenset({LLM, TOOL, SPAN})
_ROOM = 200
"""How much of its arguments decides where a call stands among others."""
_TEXT = frozenset({str})
_PLAIN = frozenset({str, int, bool, type(None)})


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
            if len(children) == 1 and children[0].kind == TOOL:
                line.append(children[0])
            elif all(child.kind == TOOL for child in children):
                line += _in_fixed_order(children)
            else:
                line += _in_line(children)


def _in_fixed_order(steps: Sequence[Step]) -> list[Step]:
    """By name and arguments, which most often tell them apart, then by all that they say."""
    calls: Sequence[tuple[str, Any]] = _short_calls(steps)
    if not calls:
        calls = [(step.name, as_json(step.content.get("args"))[:_ROOM]) for step in steps]
    by_call = dict(zip(calls, steps, strict=True))
    if len(by_call) == len(steps):
        return [by_call[call] for call in sorted(by_call)]
    ranked = zip(calls, steps, strict=True)
    return [step for _, step in sorted(ranked, key=lambda found: (*found[0], found[1].digest, found[1].number))]


def _short_calls(steps: Sequence[Step]) -> list[tuple[str, bytes]]:
    """Names and arguments, none if one has others than a few plain ones: `as_json` takes ten times as long."""
    calls = []
    for step in steps:
        args = step.content.get("args")
        if (
            type(args) is not dict
            or not _PLAIN.issuperset(map(type, args.values()))
            or not _TEXT.issuperset(map(type, args))
        ):
            return []
        try:
            text = encode_json({key: args[key] for key in sorted(args)})
        except NOT_JSON:
            return []
        if len(text) > _ROOM // 2:  # with the spaces that `as_json` puts in it might have to be cut
            return []
        calls.append((step.name, text))
    return calls


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
