"""The model calls and states since the last tool call, as a string in which equal answers have one character."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.loops.blocks import Alphabet

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step

__all__ = ["QuietStretch"]


class QuietStretch:
    """Answers waiting to be compared, and the string of those that were."""

    __slots__ = ("_alphabet", "_last", "_text", "_window", "waiting")

    def __init__(self, window: int) -> None:
        self._window = window
        self._alphabet: Alphabet | None = None
        self._text = ""
        self._last: Step | None = None
        self.waiting: deque[Step] = deque(maxlen=window)
        """Where new steps are put; they are compared only when `text` is asked for."""

    def clear(self) -> None:
        """A tool was called."""
        self.waiting.clear()
        if self._text:
            self._text = ""
            self._alphabet = self._last = None

    @property
    def length(self) -> int:
        """How many steps there are, up to the window."""
        return min(len(self._text) + len(self.waiting), self._window)

    def text(self) -> str:
        """One character a step; equal answers of one model have the same."""
        alphabet, waiting, text = self._alphabet, self.waiting, self._text
        if alphabet is None:
            alphabet = self._alphabet = Alphabet()
        last = self._last
        while waiting:
            step = waiting.popleft()
            if last is not None and _is_again(last, step):
                character = text[-1]
                alphabet.take_again(character)
                text += character
            else:
                text += alphabet.take(_content(step))
            last = step
        self._last = last
        surplus = len(text) - self._window
        if surplus > 0:
            for character in text[:surplus]:
                alphabet.release(character)
            text = text[surplus:]
        self._text = text
        return text


def _is_again(last: Step, step: Step) -> bool:
    """Whether the step has the very same objects as the last one: then nothing needs to be hashed to know it."""
    same = step.got is last.got and step.asked is last.asked and step.named is last.named
    return same and not step.forgotten


def _content(step: Step) -> tuple[str, int, int] | str:
    if step.kind != "model":
        return step.signature
    return (step.signature, step.asked.known_key(), step.outcome_key())
