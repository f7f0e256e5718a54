"""The model calls and states since the last tool call, as a string in which equal answers have one character."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.loops.blocks import Alphabet

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step

__all__ = ["QuietStretch"]


class QuietStretch:
    """Answers waiting to be compared, and the characters of those that were."""

    __slots__ = (
        "_alphabet",
        "_beginnings",
        "_characters",
        "_last",
        "_last_key",
        "_newest_is_new",
        "_released",
        "_window",
        "waiting",
    )

    def __init__(self, window: int) -> None:
        self._window = window
        self._alphabet = Alphabet()
        self._characters: list[str] = []
        self._released = 0
        """How many of them have left the window; they are taken out now and then."""
        self._last: Step | None = None
        self._last_key: tuple[str, bytes] | None = None
        self._beginnings: dict[tuple[str, bytes], tuple[Step, str]] = {}
        """
        The newest answer that begins so. While it is the only one it has a character that stands for nothing yet, which
        is kept here; from the second on, what each of them stands for is worked out.
        """
        self._newest_is_new = False
        self.waiting: deque[Step] = deque(maxlen=window)
        """Where new steps are put; they are compared only when it matters."""

    def clear(self) -> None:
        """A tool was called."""
        self.waiting.clear()
        if self._characters:
            self._begin()

    def _begin(self) -> None:
        self._alphabet = Alphabet()
        self._characters.clear()
        self._released = 0
        self._last = self._last_key = None
        self._beginnings.clear()

    def ends_with_a_new_one(self) -> bool:
        """Whether the newest step is known to be like none of the others; that nothing repeats is then clear."""
        if self.waiting:
            self._compare()
        return self._newest_is_new

    def text(self) -> str:
        """One character a step; equal answers of one model have the same."""
        if self.waiting:
            self._compare()
        return "".join(self._characters[-self._window :])

    def _compare(self) -> None:
        waiting, characters = self.waiting, self._characters
        if self._last is not None and waiting[0].number != self._last.number + 1:
            self._begin()  # so many were waiting that some are gone: nothing from before them is in the window
        last = self._last
        while waiting:
            step = waiting.popleft()
            if len(characters) - self._released >= self._window:
                self._alphabet.release(characters[self._released])
                self._released += 1
            self._newest_is_new = False
            if last is not None and _is_again(last, step):
                self._alphabet.take_again(characters[-1])
                characters.append(characters[-1])
                if self._last_key is not None:
                    self._beginnings[self._last_key] = step, self._beginnings[self._last_key][1]
            else:
                characters.append(self._character(step))
            last = step
        self._last = last
        if self._released > self._window:
            del characters[: self._released]
            self._released = 0

    def _character(self, step: Step) -> str:
        """The character of an equal answer, or a new one; nothing is worked out for one that begins like no other."""
        beginning = step.got.beginning() if step.named.kind == "model" and not step.asked.text else b""
        if not beginning:
            self._last_key = None
            return self._known_or_new(step)
        self._last_key = key = (step.named.name, beginning)
        oldest = step.number - self._window
        before, character = self._beginnings.get(key, (None, ""))
        if before is None or before.number <= oldest:
            self._newest_is_new = True
            character = self._alphabet.take_unnamed()
            self._beginnings[key] = step, character
            if len(self._beginnings) > 2 * self._window:
                self._beginnings = {key: kept for key, kept in self._beginnings.items() if kept[0].number > oldest}
            return character
        if character and not before.forgotten:
            self._alphabet.name(character, _content(before))
        self._beginnings[key] = step, ""
        return self._known_or_new(step)

    def _known_or_new(self, step: Step) -> str:
        content = _content(step)
        self._newest_is_new = content not in self._alphabet.known
        return self._alphabet.take(content)


def _is_again(last: Step, step: Step) -> bool:
    """Whether the step has the very same objects as the last one: then nothing needs to be hashed to know it."""
    same = step.named is last.named and step.got is last.got and step.asked is last.asked
    return same and step.question == last.question and not step.forgotten


def _content(step: Step) -> tuple[str, int, int, int] | str:
    if step.kind != "model":
        return step.signature
    return (step.signature, step.question, step.asked.known_key(), step.outcome_key())
