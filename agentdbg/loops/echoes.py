"""
Judge a model's answer against its earlier ones: does it say the same again, does it fail again?

Only answers in words count; an answer that asks for tools is judged by what the tools bring. After a tool brought
something new, when the detector clears the memory, or the user spoke, similar words are no sign of a loop.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.loops.similar import MOST_TAKEN, MOST_USEFUL

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

    __slots__ = ("_are_known", "_failing", "_heard", "_known", "_new_words", "_repetitions", "_taken", "_turns", "kept")

    def __init__(self, repetitions: int, turns: UserTurns) -> None:
        self._repetitions = repetitions
        self._turns = turns
        self._failing: dict[str, list[Step]] = {}
        self.kept: deque[Step] = deque(maxlen=_COMPARED)
        """The last answers, the newest last."""
        self._heard: deque[list[bytes] | frozenset[bytes] | None] = deque(maxlen=_COMPARED)
        """The words of each: None before they are asked for, a set once they were compared."""
        self._known: set[bytes] = set()
        """The words of all of them, if `_are_known`, and of some before them."""
        self._are_known = True
        self._taken = 0
        """How many answers they are from."""
        self._new_words = 0
        """How many words of the newest answer are in none of the others, if it was heard."""

    def clear(self) -> None:
        """Something new happened."""
        self.kept.clear()
        self._heard.clear()
        self._are_known = False

    def echoes(self, step: Step, asks_nothing: bool) -> list[Step]:
        """The answers, the newest first, that say nearly the same, as many as make a finding; and remember this one."""
        if self._failing:
            self._failing.pop(step.signature, None)
        if not asks_nothing:
            return []
        found, kept, heard = [step], self.kept, self._heard
        if not kept or not step.recurs:
            self._keep_unheard(step)
            return found
        words = heard[-1]
        if words is None or not step.answers_like(kept[-1]):
            words = step.said()
        if not self._are_known:
            self._begin_anew()
        if not self._is_far(words):
            words = frozenset(words)
            if len(words) >= _FEWEST_SHARED:
                self._compare(step, words, found)
        kept.append(step)
        heard.append(words)
        return found

    def remember(self, step: Step) -> None:
        """Remember the words of a model that was not called before, so that nobody is echoed."""
        if self._failing:
            self._failing.pop(step.signature, None)
        self._keep_unheard(step)

    def _keep_unheard(self, step: Step) -> None:
        self.kept.append(step)
        self._heard.append(None)
        self._are_known = False

    def _is_far(self, words: list[bytes] | frozenset[bytes]) -> bool:
        """Whether more words are in none of the other answers than an answer may have that is near one of them."""
        known = self._known
        before = len(known)
        known.update(words)
        new = self._new_words = len(known) - before
        is_far = 100 * new > (100 - _NEAR_REPLY) * len(words)
        self._taken += 1
        if self._taken > (MOST_TAKEN if is_far else MOST_USEFUL):
            self._begin_anew()
            return self._is_far(words)
        return is_far

    def _begin_anew(self) -> None:
        """Let the words of what is kept be all that are known."""
        heard = self._heard
        for place, words in enumerate(heard):
            if words is None:
                heard[place] = self.kept[place].said()
        self._known = set().union(*filter(None, heard))
        self._are_known = True
        self._taken = len(heard)

    def _compare(self, step: Step, words: frozenset[bytes], found: list[Step]) -> None:
        size, heard = len(words), self._heard
        for place in range(len(heard) - 1, -1, -1):
            others = heard[place] = frozenset(heard[place] or ())
            if others is not words:
                common = len(others & words)
                if 100 * common < _NEAR_REPLY * (len(others) + size - common):
                    continue
            other = self.kept[place]
            if len(others) >= _FEWEST_WORDS and other.signature == step.signature and not other.forgotten:
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
        words = self._heard[-1]
        if words is None or self.kept[-1] is not step:
            return len(set(step.said())) >= _FEWEST_WORDS
        if len(words) >= _FEWEST_WORDS and (self._new_words >= _FEWEST_WORDS or len(set(words)) >= _FEWEST_WORDS):
            return True
        return self._new_words > 0 and step.is_lasting()

    def failures(self, step: Step) -> list[Step]:
        """The failures of this model in a row, of one kind, this one last."""
        row = self._failing.get(step.signature, [])
        if row and row[-1].outcome_key() != step.outcome_key():
            row = []
        step.streak = row[-1].streak + 1 if row else 1
        row = [*row, step][-self._repetitions :]
        self._failing[step.signature] = row
        return row
