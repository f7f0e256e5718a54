"""
Judge a model's answer against its earlier ones: does it say the same again, does it fail again?

Only answers in words count; an answer that asks for tools is judged by what the tools bring. The detector clears the
memory when a tool brings something new or the user speaks: after that, similar words are no sign of a loop.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step

__all__ = ["RecentReplies"]

_NEAR_REPLY = 0.8
_COMPARED = 8
_FEWEST_WORDS = 5
"""Shorter answers ("Done.", "Yes, please go on.") are alike without meaning anything."""
_FEWEST_SHARED = 4
"""Words that an answer must have to be near one of `_FEWEST_WORDS` or more."""


class RecentReplies:
    """What the models said since something new happened, and which of them fails."""

    __slots__ = ("_failing", "_repetitions", "kept")

    def __init__(self, repetitions: int) -> None:
        self._repetitions = repetitions
        self._failing: dict[str, list[Step]] = {}
        self.kept: list[tuple[frozenset[bytes] | None, Step]] = []
        """The last answers with their words, so far as they were asked for; the newest last."""

    def clear(self) -> None:
        """Something new happened."""
        self.kept.clear()

    def echoes(self, step: Step) -> list[Step]:
        """The answers, the newest first, that say nearly the same, as many as make a finding; and remember this one."""
        if self._failing:
            self._failing.pop(step.signature, None)
        if step.asked.text:
            return []
        kept = self.kept
        said = step.got.words() if step.recurs and kept else None
        found = [step]
        if said is not None and len(said) >= _FEWEST_SHARED:
            self._compare(step, said, found)
        self._keep(said, step)
        return found

    def remember(self, step: Step) -> None:
        """Remember the words of a model that was not called before, so that nobody is echoed."""
        if self._failing:
            self._failing.pop(step.signature, None)
        self._keep(None, step)

    def _keep(self, said: frozenset[bytes] | None, step: Step) -> None:
        kept = self.kept
        kept.append((said, step))
        if len(kept) > _COMPARED:
            words, oldest = kept.pop(0)
            # Words take more room than the text, and memory that is used again is still in the processor's cache.
            if not any(heard is words for heard, _ in kept):
                oldest.got.forget_words()

    def _compare(self, step: Step, said: frozenset[bytes], found: list[Step]) -> None:
        size = len(said)
        # No more than a fifth of the words may be missing from the other answer; nearly always these are.
        few = frozenset(islice(said, size // 5 + 1))
        for heard, other in reversed(self.kept):
            if heard is None:
                heard = other.got.words()  # noqa: PLW2901 -- a second name would cost every comparison
            if heard is not said:
                if heard.isdisjoint(few):
                    continue
                # In line, since nearly every answer is compared with eight others to no avail.
                common = len(heard & said)
                if common < _NEAR_REPLY * (len(heard) + size - common):
                    continue
            if len(heard) >= _FEWEST_WORDS and other.signature == step.signature and not other.forgotten:
                found.append(other)
                step.near = max(step.near, other.near + 1, len(found))
                if len(found) == self._repetitions:
                    return

    def can_tell(self, step: Step, distance: int) -> bool:
        """Whether an answer that is like none of the kept ones cannot equal any of the last `distance` answers."""
        return distance <= _COMPARED and len(step.got.words()) >= _FEWEST_WORDS

    def failures(self, step: Step) -> list[Step]:
        """The failures of this model in a row, of one kind, this one last."""
        row = self._failing.get(step.signature, [])
        if row and row[-1].outcome_key() != step.outcome_key():
            row = []
        step.streak = row[-1].streak + 1 if row else 1
        row = [*row, step][-self._repetitions :]
        self._failing[step.signature] = row
        return row
