"""
Judge a model's answer against its earlier ones: does it say the same again, does it fail again?

Only answers in words count; an answer that asks for tools is judged by what the tools bring. After a tool brought
something new, when the detector clears the memory, or the user spoke, similar words are no sign of a loop.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.loops.similar import Vocabulary

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step
    from agentdbg.loops.turns import UserTurns

__all__ = ["RecentReplies"]

_NEAR_REPLY = 80
"""In percent of the words of both."""
_COMPARED = 8
_FEWEST_WORDS = 5
"""Shorter answers ("Done.", "Yes, please go on.") are alike without meaning anything."""
_FEWEST_SHARED = 4
"""Words that an answer must have to be near one of `_FEWEST_WORDS` or more."""


class RecentReplies:
    """What the models said since a tool brought something new, and which of them fails."""

    __slots__ = ("_are_heard", "_failing", "_repetitions", "_turns", "_vocabulary", "kept")

    def __init__(self, repetitions: int, turns: UserTurns) -> None:
        self._repetitions = repetitions
        self._turns = turns
        self._failing: dict[str, list[Step]] = {}
        self.kept: deque[tuple[frozenset[bytes] | None, Step]] = deque(maxlen=_COMPARED)
        """The last answers with their words, so far as they were asked for; the newest last."""
        self._vocabulary = Vocabulary(_COMPARED, _NEAR_REPLY)
        self._are_heard = True
        """Whether the words of all that is kept are in the vocabulary."""

    def clear(self) -> None:
        """Something new happened."""
        self.kept.clear()
        self._vocabulary.clear()
        self._are_heard = True

    def echoes(self, step: Step, asks_nothing: bool) -> list[Step]:
        """The answers, the newest first, that say nearly the same, as many as make a finding; and remember this one."""
        if self._failing:
            self._failing.pop(step.signature, None)
        if not asks_nothing:
            return []
        found, kept = [step], self.kept
        if not kept or not step.recurs:
            self._keep_unheard(step)
            return found
        heard, last = kept[-1]
        said = heard if heard is not None and step.answers_like(last) else step.said()
        if not self._are_heard:
            self._hear()
        if not self._vocabulary.is_far(said) and len(said) >= _FEWEST_SHARED:
            self._compare(step, said, found)
        kept.append((said, step))
        return found

    def remember(self, step: Step) -> None:
        """Remember the words of a model that was not called before, so that nobody is echoed."""
        if self._failing:
            self._failing.pop(step.signature, None)
        self._keep_unheard(step)

    def _keep_unheard(self, step: Step) -> None:
        self.kept.append((None, step))
        self._are_heard = False

    def _hear(self) -> None:
        """Put together the vocabulary of what is kept."""
        self._vocabulary.clear()
        self._are_heard = True
        for place, (heard, step) in enumerate(self.kept):
            said = step.said() if heard is None else heard
            self.kept[place] = said, step
            self._vocabulary.is_far(said)

    def _compare(self, step: Step, said: frozenset[bytes], found: list[Step]) -> None:
        size = len(said)
        for heard, other in reversed(self.kept):
            if heard is None:
                continue
            if heard is not said:
                common = len(heard & said)
                if 100 * common < _NEAR_REPLY * (len(heard) + size - common):
                    continue
            if len(heard) >= _FEWEST_WORDS and _can_echo(step, other):
                if other.number < self._turns.first:
                    return  # the user has spoken since
                found.append(other)
                step.near = max(step.near, other.near + 1, len(found))
                if len(found) == self._repetitions:
                    return

    def can_tell(self, step: Step, distance: int) -> bool:
        """Whether the newest answer, which is like none of the kept ones, cannot equal any of the last `distance`."""
        if distance > _COMPARED:
            return False
        heard, last = self.kept[-1]
        if heard is None or last is not step:
            return len(step.said()) >= _FEWEST_WORDS
        return len(heard) >= _FEWEST_WORDS or (self._vocabulary.common < len(heard) and step.is_lasting())

    def failures(self, step: Step) -> list[Step]:
        """The failures of this model in a row, of one kind, this one last."""
        row = self._failing.get(step.signature, [])
        if row and row[-1].outcome_key() != step.outcome_key():
            row = []
        step.streak = row[-1].streak + 1 if row else 1
        row = [*row, step][-self._repetitions :]
        self._failing[step.signature] = row
        return row


def _can_echo(step: Step, other: Step) -> bool:
    """Whether it is the same model that answers the same question."""
    return other.signature == step.signature and other.question == step.question and not other.forgotten
