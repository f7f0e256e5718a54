"""
Learn from two recordings of one program which parts of its inputs always differ.

Calls are paired by who made them and in which order. Where two inputs differ, a kind of volatile text (a time, an id, a
temporary path) that explains the whole difference becomes a rule for `replay.yaml`; what no kind explains is only
shown, because it may be what the program is about.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.control.differences import differences
from agentdbg.control.tapes import shown_input
from agentdbg.control.value_paths import parse_path
from agentdbg.control.volatile_inputs import KINDS, VolatileRule, without_volatile
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.control.recorded import RecordedCall
    from agentdbg.control.tapes import RecordedRun

__all__ = ["Learned", "count_pairs", "learn"]


class Learned(NamedTuple):
    """One part of an input that differs, and the rule that passes over it; None where no kind explains it."""

    rule: VolatileRule | None
    call: str
    path: str
    first: Any
    second: Any


def learn(first: RecordedRun, second: RecordedRun) -> list[Learned]:
    """What differs between the inputs of two recordings, each part once."""
    found: dict[tuple[str, str], Learned] = {}
    for one, other in _pairs(first, second):
        was, now = shown_input(one.kind, first.input_of(one)), shown_input(other.kind, second.input_of(other))
        call = f"{one.kind}:{one.name}"
        for difference in differences(was, now):
            path = difference.path
            rule = _rule(call, path, was, now)
            known = found.get((call, path))
            if known is None or (known.rule is not None and rule is None):
                found[call, path] = Learned(rule, call, path, difference.recorded, difference.now)
    return list(found.values())


def count_pairs(first: RecordedRun, second: RecordedRun) -> tuple[int, int]:
    """How many calls both recordings have, and how many only one has."""
    both = sum(1 for _ in _pairs(first, second))
    return both, len(first.recording) + len(second.recording) - 2 * both


def _pairs(first: RecordedRun, second: RecordedRun) -> Iterator[tuple[RecordedCall, RecordedCall]]:
    """The calls of both that stand at the same place of the same thread of control."""
    waiting: dict[tuple[str, str, str], list[RecordedCall]] = defaultdict(list)
    for call in second.recording.calls:
        waiting[call.lane, call.kind, call.name].append(call)
    for call in first.recording.calls:
        if others := waiting[call.lane, call.kind, call.name]:
            yield call, others.pop(0)


def _rule(call: str, path: str, was: Any, now: Any) -> VolatileRule | None:
    """The fewest kinds that make both sides equal at this path."""
    try:
        parse_path(path)
    except UsageError:  # a key that cannot be typed as a path
        return None
    for size in (1, 2):
        for kinds in combinations(KINDS, size):
            rule = VolatileRule(call, path, kinds)
            blanked = differences(without_volatile(was, [rule]), without_volatile(now, [rule]))
            if all(difference.path != path for difference in blanked):
                return rule
    return None
