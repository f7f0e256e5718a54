"""
Judge a tool call against the earlier calls of the same tool: does it fail again, does it bring nothing new?

Exact repetitions are followed by the tape. Here nearly equal inputs are compared, with the last few calls of the tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.loops.similar import jaccard, near_results

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.loops.signatures import Step

__all__ = ["RecentCalls", "streak_of", "worked_between"]

_NEAR_INPUT = 0.8
_REPHRASED_INPUT = 0.6
"""Enough when the result is the same "no" every time and only words, no figures, were changed."""
_NEAR_RESULT = 0.9
_COMPARED = 8
"""Nearly equal calls count among the last so many calls of any tool."""
_MOST_TOOLS = 1_000


class RecentCalls:
    """What the tools were asked of late."""

    __slots__ = ("_by_tool", "_count", "_reach", "_repetitions")

    def __init__(self, repetitions: int, reach: int) -> None:
        self._repetitions = repetitions
        self._reach = max(_COMPARED, reach)
        self._by_tool: dict[str, list[Step]] = {}
        self._count = 0

    def count(self, step: Step) -> None:
        """Number the call."""
        self._count += 1
        step.call_number = self._count

    def keep(self, step: Step, lone: Step | None) -> None:
        """Keep a call with the last few of its tool; `lone` is the one before it when that was the tool's first."""
        calls = self._by_tool.get(step.signature)
        if calls is None:
            if len(self._by_tool) >= _MOST_TOOLS:
                oldest = self._count - _COMPARED
                self._by_tool = {tool: kept for tool, kept in self._by_tool.items() if kept[-1].call_number > oldest}
            calls = self._by_tool[step.signature] = []
        if lone is not None:
            calls.append(lone)
        calls.append(step)
        if len(calls) > _COMPARED:
            del calls[:-_COMPARED]

    def similar(self, step: Step) -> list[Step]:
        """The calls, `step` last, that asked nearly the same and got nearly the same; as many as make a finding."""
        calls = self._by_tool[step.signature]
        found = [step]
        oldest = self._count - _COMPARED
        if len(calls) < self._repetitions or calls[-self._repetitions].call_number <= oldest:
            return found
        is_brief = step.is_brief
        for other in calls[-2::-1]:
            if other.call_number <= oldest:
                break
            if _nothing_new(other, step, is_brief=is_brief):
                found.append(other)
                step.near = max(step.near, other.near + 1, len(found))
                if len(found) == self._repetitions:
                    break
            elif other.arguments_key == step.arguments_key:
                break  # the same question had another answer since: that was progress
        return found[::-1]

    def is_recent(self, step: Step) -> bool:
        """Whether the call is recent enough for a stall with other work in between."""
        return step.call_number > self._count - self._reach


def streak_of(step: Step, number: int) -> list[Step]:
    """The last `number` calls of the streak that ends with `step`, oldest first, as far as they are remembered."""
    chain = [step]
    while len(chain) < number and chain[-1].previous is not None:
        chain.append(chain[-1].previous)
    return chain[::-1]


def worked_between(calls: list[Step], steps: Iterable[Step]) -> bool:
    """Whether another tool call among `steps`, the newest first, brought something new between these calls."""
    first = calls[0].number
    numbers = {call.number for call in calls}
    for step in steps:
        if step.number <= first:
            break
        if step.kind == "tool" and step.is_new and step.number not in numbers and not step.failed and not step.is_bare:
            return True
    return False


def _nothing_new(earlier: Step, later: Step, *, is_brief: bool) -> bool:
    """Whether `later` asked nearly what `earlier` asked and got nearly what it got."""
    if earlier.failed != later.failed or earlier.forgotten or (earlier.turn != later.turn and not later.failed):
        return False
    if earlier.arguments_key == later.arguments_key:
        return earlier.outcome_key == later.outcome_key
    if is_brief:
        return False
    alike = jaccard(earlier.arguments_words, later.arguments_words)
    if alike < _REPHRASED_INPUT:
        return False
    if earlier.outcome_key == later.outcome_key:
        return alike >= _NEAR_INPUT or (later.is_negative and _differ_in_words(earlier, later))
    return alike >= _NEAR_INPUT and near_results(earlier.outcome, later.outcome, _NEAR_RESULT)


def _differ_in_words(earlier: Step, later: Step) -> bool:
    """Whether the inputs were put in other words; other numbers or ids ask for something else."""
    differing = b"".join(earlier.arguments_words ^ later.arguments_words)
    return differing.translate(None, b"0123456789") == differing
