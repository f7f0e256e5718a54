"""
Judge a model's answer against its earlier ones: does it say the same again, does it fail again?

Only answers in words count; an answer that asks for tools is judged by what the tools bring. The detector clears the
memory when a tool brings something new or the user speaks: after that, similar words are no sign of a loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.loops.similar import jaccard

if TYPE_CHECKING:
    from agentdbg.loops.signatures import Step

__all__ = ["RecentReplies"]

_NEAR_REPLY = 0.8
_COMPARED = 8
_FEWEST_WORDS = 5
"""Shorter answers ("Done.", "Yes, please go on.") are alike without meaning anything."""


class RecentReplies:
    """What the models said since something new happened, and which of them fails."""

    __slots__ = ("_failing", "_repetitions", "_replies")

    def __init__(self, repetitions: int) -> None:
        self._repetitions = repetitions
        self._replies: list[Step] = []
        self._failing: dict[str, list[Step]] = {}

    def clear(self) -> None:
        """Something new happened."""
        if self._replies:
            self._replies.clear()

    def echoes(self, step: Step) -> list[Step]:
        """The answers, this one last, that say nearly the same, as many as make a finding; and remember this one."""
        self._failing.pop(step.signature, None)
        if step.arguments:
            return []
        replies = self._replies
        found = [step]
        for other in reversed(replies) if step.recurs else ():
            if other.signature == step.signature and _alike(other, step):
                found.append(other)
                step.near = max(step.near, other.near + 1, len(found))
                if len(found) == self._repetitions:
                    break
        replies.append(step)
        if len(replies) > _COMPARED:
            del replies[0]
        return found[::-1]

    def can_tell(self, step: Step, distance: int) -> bool:
        """Whether an answer that is like none of the kept ones cannot equal any of the last `distance` answers."""
        return distance <= _COMPARED and len(step.outcome_words) >= _FEWEST_WORDS

    def failures(self, step: Step) -> list[Step]:
        """The failures of this model in a row, of one kind, this one last."""
        row = self._failing.get(step.signature, [])
        if row and row[-1].outcome_key != step.outcome_key:
            row = []
        step.streak = row[-1].streak + 1 if row else 1
        row = [*row, step][-self._repetitions :]
        self._failing[step.signature] = row
        return row


def _alike(left: Step, right: Step) -> bool:
    if left.forgotten or len(left.outcome_words) < _FEWEST_WORDS:
        return False
    return jaccard(left.outcome_words, right.outcome_words) >= _NEAR_REPLY
