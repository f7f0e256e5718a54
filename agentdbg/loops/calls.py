"""
Judge a tool call against the earlier calls of the same tool: does it fail again, does it bring nothing new?

Exact repetitions are followed by the input: the same input with another result is progress and begins anew. Nearly
equal inputs are compared with the last few calls of the tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.loops.similar import jaccard, near_results

if TYPE_CHECKING:
    from agentdbg.loops.signatures import Step

__all__ = ["RecentCalls"]

_NEAR_INPUT = 0.8
_NEAR_RESULT = 0.9
_COMPARED = 8
"""Nearly equal calls count among the last so many calls of any tool."""


class RecentCalls:
    """What the tools were asked of late."""

    __slots__ = ("_by_input", "_by_tool", "_count", "_kept", "_repetitions", "_stall_reach")

    def __init__(self, repetitions: int, stall_reach: int) -> None:
        self._repetitions = repetitions
        self._stall_reach = max(_COMPARED, stall_reach)
        self._kept = max(_COMPARED, repetitions)
        self._by_input: dict[tuple[str, int], Step] = {}
        self._by_tool: dict[str, list[tuple[int, Step]]] = {}
        self._count = 0

    def add(self, step: Step) -> None:
        """Remember a call that nothing is known to compare with."""
        self._count += 1
        self._by_tool[step.signature] = [(self._count, step)]

    def begin(self, step: Step) -> None:
        """Make an earlier call findable by its input, now that its tool is called again."""
        self._by_input.setdefault((step.signature, step.arguments_key), step)

    def follow(self, step: Step) -> None:
        """Link the call to the last one with the same input, if that brought the same result."""
        key = (step.signature, step.arguments_key)
        earlier = self._by_input.get(key)
        self._by_input[key] = step
        if earlier is None or earlier.outcome_key != step.outcome_key:
            return
        # Asking again because the user spoke is no loop, but what failed before they spoke still fails.
        if earlier.turn == step.turn or step.failed:
            step.previous = earlier
            step.streak = earlier.streak + 1

    def similar(self, step: Step) -> list[Step]:
        """The calls, this one last, that asked nearly the same and brought nearly the same; and remember this one."""
        self._count += 1
        oldest = self._count - self._stall_reach
        earlier = [entry for entry in self._by_tool.get(step.signature, ()) if entry[0] > oldest][-self._kept + 1 :]
        self._by_tool[step.signature] = [*earlier, (self._count, step)]
        if len(earlier) + 1 < self._repetitions:
            return [step]
        found = [step]
        for number, other in reversed(earlier):
            if number <= self._count - _COMPARED:
                break
            if _nothing_new(other, step):
                found.append(other)
            elif other.arguments_key == step.arguments_key:
                break  # the same question had another answer since: that was progress
        return found[::-1]

    def exact(self, step: Step, number: int) -> list[Step]:
        """The last `number` calls of the streak that ends with `step`, oldest first, as far as they are remembered."""
        chain = [step]
        while len(chain) < number and chain[-1].previous is not None:
            chain.append(chain[-1].previous)
        return chain[::-1]

    def is_recent(self, step: Step) -> bool:
        """Whether `step` is among the last few calls of any tool."""
        oldest = self._count - self._stall_reach
        return any(number > oldest for number, other in self._by_tool.get(step.signature, ()) if other is step)

    def drop(self, step: Step) -> None:
        """Forget a call that is too long ago."""
        step.previous = None
        entries = self._by_tool.get(step.signature)
        if entries and entries[0][1] is step:
            del entries[0]
            if not entries:
                del self._by_tool[step.signature]
        key = (step.signature, step.arguments_key) if step.has_key else None
        if key is not None and self._by_input.get(key) is step:
            del self._by_input[key]


def _nothing_new(earlier: Step, later: Step) -> bool:
    """Whether `later` asked nearly what `earlier` asked and got nearly what it got."""
    if earlier.turn != later.turn and not (earlier.failed and later.failed):
        return False
    if earlier.failed != later.failed or earlier.forgotten:
        return False
    same_input = earlier.arguments_key == later.arguments_key
    if not same_input:
        if later.is_brief:
            return False
        if jaccard(earlier.arguments_words, later.arguments_words) < _NEAR_INPUT:
            return False
    if earlier.outcome_key == later.outcome_key:
        return True
    return not same_input and near_results(earlier.outcome, later.outcome, _NEAR_RESULT)
