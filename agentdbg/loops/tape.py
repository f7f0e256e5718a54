"""
The last events as three strings, one character an event: what they are called, what they did, what was said.

`names` is the documents' rule. `exact` tells tool calls apart by input and result and leaves a model's words out, since
they differ between identical calls. `words` tells the model's answers apart too. A step's own character in `exact` and
`words` is worked out only when its name recurs; until then it has one of its own.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.loops.blocks import Alphabet

if TYPE_CHECKING:
    from agentdbg.loops.signatures import Step

__all__ = ["Tape"]

_TEXT_KEPT = 256
"""Older steps keep their hashes and let go of their text."""


class Tape:
    """The steps within reach, and the strings that stand for them."""

    __slots__ = ("_alphabet", "_reach", "_unresolved", "exact", "names", "steps", "words")

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._alphabet = Alphabet()
        self._unresolved: dict[str, Step] = {}
        self.steps: deque[Step] = deque()
        self.names = self.exact = self.words = ""

    def recurs(self, signature: str) -> bool:
        """Whether something of that name is within reach."""
        return self._alphabet.knows(signature)

    def resolve(self, signature: str) -> Step | None:
        """Work out what the first step of that name was, once; None when that is known already."""
        step = self._unresolved.pop(signature, None)
        if step is not None:
            self._alphabet.name(step.exact if step.kind == "tool" else step.spoken, step.content_key)
        return step

    def append(self, step: Step, *, recurs: bool) -> Step | None:
        """Add the newest step; what is returned has gone out of reach."""
        alphabet = self._alphabet
        step.name = step.exact = step.spoken = alphabet.take(step.signature)
        if step.kind != "state":
            if recurs:
                own = alphabet.take(step.content_key)
            else:
                own = alphabet.take_unnamed()
                self._unresolved[step.signature] = step
            step.spoken = own
            if step.kind == "tool":
                step.exact = own
        reach = self._reach
        self.names = (self.names + step.name)[-reach:]
        self.exact = (self.exact + step.exact)[-reach:]
        self.words = (self.words + step.spoken)[-reach:]
        steps = self.steps
        steps.append(step)
        if len(steps) > _TEXT_KEPT:
            self._forget(steps[-_TEXT_KEPT - 1])
        return self._evict() if len(steps) > reach else None

    def is_new(self, step: Step) -> bool:
        """Whether nothing within reach did the same."""
        return self._alphabet.count(step.spoken) == 1

    def last(self, number: int) -> list[Step]:
        """The last `number` steps, oldest first."""
        steps = self.steps
        return [steps[index] for index in range(len(steps) - number, len(steps))]

    def _forget(self, step: Step) -> None:
        if self._unresolved.get(step.signature) is step:
            del self._unresolved[step.signature]
        step.forget_text()

    def _evict(self) -> Step:
        step = self.steps.popleft()
        if self._unresolved.get(step.signature) is step:
            del self._unresolved[step.signature]
        self._alphabet.release(step.name)
        if step.spoken != step.name:
            self._alphabet.release(step.spoken)
        return step
