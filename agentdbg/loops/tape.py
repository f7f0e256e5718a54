"""
The last events as strings, one character an event, for finding blocks in.

`names` is what the documents' rule looks at (`known` has all within reach). `exact` tells tool calls apart by input and
result and leaves a model's words out, since they differ between identical calls. `quiet` holds the model calls since
the last tool call and tells their answers apart.

Nothing is compared before it can matter: a call's input is hashed when its tool is called again, its result when that
input recurs.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.loops.blocks import Alphabet

if TYPE_CHECKING:
    from agentdbg.loops.signatures import Step

__all__ = ["QuietStretch", "Tape"]

_TEXT_KEPT = 256
"""Older steps keep their hashes and let go of their text."""


class Tape:
    """The steps within reach, and the strings that stand for the newest of them."""

    __slots__ = (
        "_alphabet",
        "_by_input",
        "_is_quiet",
        "_lone",
        "_longest",
        "_reach",
        "_window",
        "exact",
        "known",
        "names",
        "quiet",
        "steps",
    )

    def __init__(self, window: int, reach: int) -> None:
        self._window = window
        self._longest = 2 * window
        self._reach = reach
        self._is_quiet = False
        self._alphabet = Alphabet()
        self.known = self._alphabet.known
        self._lone: dict[str, Step] = {}
        self._by_input: dict[tuple[str, int], Step] = {}
        self.steps: deque[Step] = deque()
        self.names = self.exact = ""
        self.quiet = QuietStretch(window)

    def lone(self, signature: str) -> Step | None:
        """The only call of that tool within reach, if there is only one so far."""
        return self._lone.get(signature)

    def append(self, step: Step) -> None:
        """Add the newest step and link it to the last one that asked the same."""
        # The first call of a tool needs no character of its own: nothing else has the one of its name.
        step.name = step.exact = self._alphabet.take(step.signature)
        if step.kind != "tool":
            self.quiet.append(step)
            self._is_quiet = True
        else:
            if self._is_quiet:
                self.quiet = QuietStretch(self._window)
                self._is_quiet = False
            if step.recurs:
                self._identify(step)
            else:
                self._lone[step.signature] = step
        self.names = names = self.names + step.name
        self.exact += step.exact
        if len(names) >= self._longest:
            self.names = names[-self._window :]
            self.exact = self.exact[-self._window :]
        steps = self.steps
        steps.append(step)
        size = len(steps)
        if size > _TEXT_KEPT:
            self._forget(steps[-_TEXT_KEPT - 1])
        if size > self._reach:
            self._evict()

    def last(self, number: int) -> list[Step]:
        """The last `number` steps, oldest first."""
        steps = self.steps
        return [steps[index] for index in range(len(steps) - number, len(steps))]

    def _identify(self, step: Step) -> None:
        """Give the step the character of an equal call, if there is one within reach."""
        alphabet, by_input = self._alphabet, self._by_input
        lone = self._lone.pop(step.signature, None)
        if lone is not None:
            by_input[step.signature, lone.arguments_key] = lone
        key = (step.signature, step.arguments_key)
        earlier = by_input.get(key)
        by_input[key] = step
        if earlier is None or (earlier.forgotten and not earlier.has_outcome_key):
            step.exact = alphabet.take_unnamed()
            return
        alphabet.name(earlier.exact, earlier.content_key)
        step.is_new = step.content_key not in alphabet.known
        step.exact = alphabet.take(step.content_key)
        # The same question with another answer is progress. Asking again because the user spoke is no loop, but what
        # failed before they spoke still fails.
        if earlier.outcome_key == step.outcome_key and (earlier.turn == step.turn or step.failed):
            step.previous = earlier
            step.streak = earlier.streak + 1

    def _forget(self, step: Step) -> None:
        if self._lone.get(step.signature) is step:
            del self._lone[step.signature]
        step.forget_text()

    def _evict(self) -> None:
        step = self.steps.popleft()
        if step.previous is not None:
            step.previous = None
        self._alphabet.release(step.name)
        if step.kind != "tool":
            return
        if self._lone.get(step.signature) is step:
            del self._lone[step.signature]
            return
        if step.exact != step.name:
            self._alphabet.release(step.exact)
        if step.has_arguments_key:
            key = (step.signature, step.arguments_key)
            if self._by_input.get(key) is step:
                del self._by_input[key]


class QuietStretch:
    """The model calls and states since the last tool call."""

    __slots__ = ("_alphabet", "_text", "_waiting", "_window")

    def __init__(self, window: int) -> None:
        self._window = window
        self._alphabet: Alphabet | None = None
        self._text = ""
        self._waiting: deque[Step] = deque(maxlen=window)

    def append(self, step: Step) -> None:
        """Add a step; it is compared only when `text` is asked for."""
        self._waiting.append(step)

    @property
    def length(self) -> int:
        """How many steps there are, up to the window."""
        return min(len(self._text) + len(self._waiting), self._window)

    def text(self) -> str:
        """One character a step; equal answers of one model have the same."""
        alphabet = self._alphabet
        if alphabet is None:
            alphabet = self._alphabet = Alphabet()
        for step in self._waiting:
            self._text += alphabet.take(step.content_key if step.kind == "model" else step.signature)
        self._waiting.clear()
        for character in self._text[: -self._window]:
            alphabet.release(character)
        self._text = self._text[-self._window :]
        return self._text
