"""
The last events as strings, one character an event, for finding blocks in.

`names` is what the documents' rule looks at. `exact` tells tool calls apart by input and result and leaves a model's
words out, since they differ between identical calls. `quiet` holds the model calls since the last tool call and tells
their answers apart.

Nothing is compared before it can matter: a call's input is hashed when its tool is called again, its result when that
input recurs.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.loops.blocks import Alphabet
from agentdbg.loops.quiet import QuietStretch
from agentdbg.loops.steps import Named

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step

__all__ = ["Tape"]

_TEXT_KEPT = 256
"""Older steps keep their hashes and let go of their text."""
_NAMED_BETWEEN_SWEEPS = 128
_SIGNATURES = {"tool": "TOOL_CALL:", "model": "LLM_CALL:", "state": "STATE_UPDATE"}


class Tape:
    """The steps within reach, and the strings that stand for the newest of them."""

    __slots__ = (
        "_alphabet",
        "_is_quiet",
        "_longest",
        "_made",
        "_named",
        "_spare",
        "_unwritten",
        "_window",
        "_written",
        "names",
        "quiet",
        "reach",
        "steps",
    )

    def __init__(self, window: int, reach: int) -> None:
        self._window = window
        self._longest = 2 * window
        self.reach = reach
        self._is_quiet = False
        self._alphabet = Alphabet()
        self._named: dict[str, dict[str, Named]] = {"tool": {}, "model": {}, "state": {}}
        self._spare: list[Named] = []
        """Names let go, to be used for others: each keeps its character, which nothing stands for any more."""
        self._made = 0
        self.steps: deque[Step] = deque()
        self.names = self._written = ""
        self._unwritten: list[str] = []
        self.quiet = QuietStretch(window)

    def named(self, kind: str, name: str) -> Named:
        """The one of that kind and name; kept for a while after its last step is gone, since most come back."""
        if type(name) is not str:
            name = f"{name}"
        all_named = self._named[kind]
        named = all_named.get(name)
        if named is None:
            self._made += 1
            if self._made > _NAMED_BETWEEN_SWEEPS and self._made > self.reach:
                self._sweep()
            signature = _SIGNATURES[kind] + name
            if self._spare:
                named = self._spare.pop()
                named.kind = kind
                named.signature = signature
            else:
                named = Named(kind, signature, self._alphabet.take_unnamed())
            all_named[name] = named
        return named

    @property
    def exact(self) -> str:
        """One character a step; put together only when asked for, since a call that is new asks for nothing."""
        unwritten = self._unwritten
        if unwritten:
            self._written = written = (self._written + "".join(unwritten))[-self._longest :]
            unwritten.clear()
            return written
        return self._written

    def append(self, step: Step) -> None:
        """Add the newest step and link it to the last one that asked the same."""
        named = step.named
        named.present += 1
        if step.kind != "tool":
            self.quiet.append(step)
            self._is_quiet = True
        else:
            if self._is_quiet:
                self.quiet = QuietStretch(self._window)
                self._is_quiet = False
            if step.recurs:
                self._identify(step, named)
            else:
                named.lone = step
                named.alike = 1
        self.names = names = self.names + step.name
        self._unwritten.append(step.exact)
        if len(names) >= self._longest:
            self.names = names[-self._window :]
            self._written = self.exact[-self._window :]
        steps = self.steps
        steps.append(step)
        size = len(steps)
        if size > _TEXT_KEPT:
            old = steps[-_TEXT_KEPT - 1]
            if old.named.lone is old:
                old.named.lone = None
            old.forget_text()
        if size > self.reach:
            self._evict(steps.popleft())

    def last(self, number: int) -> list[Step]:
        """The last `number` steps, oldest first."""
        steps = self.steps
        return [steps[index] for index in range(len(steps) - number, len(steps))]

    def oldest(self) -> int:
        """The number of the oldest step within reach."""
        return self.steps[0].number

    def _identify(self, step: Step, named: Named) -> None:
        """Give the step the character of an equal call, if there is one within reach."""
        by_input = named.by_input
        step.arguments_key = key = step.asked.key or step.asked.known_key()
        lone = named.lone
        if lone is not None:
            named.lone = None
            lone.read()
            lone.arguments_key = lone.asked.known_key()
            by_input[lone.arguments_key] = lone
        earlier = by_input.get(key)
        by_input[key] = step
        if earlier is None:
            step.exact = self._alphabet.take_unnamed()
            return
        step.was_asked = True
        if earlier.forgotten and earlier.known_outcome_key is None:
            step.exact = self._alphabet.take_unnamed()
            return
        if earlier.outcome_key() != step.outcome_key():
            # The same question with another answer is progress.
            self._tell_apart(earlier, step)
            return
        step.is_new = False
        self._share(step, earlier.exact)
        # Asking again because the user spoke is no loop, but what failed before they spoke still fails.
        if earlier.turn == step.turn or step.failed:
            step.previous = earlier
            step.streak = earlier.streak + 1

    def _tell_apart(self, earlier: Step, step: Step) -> None:
        """Give a call whose last answer was another one the character of an older one with this answer, if any."""
        alphabet = self._alphabet
        alphabet.name(earlier.exact, (step.signature, step.arguments_key, earlier.outcome_key()))
        content = (step.signature, step.arguments_key, step.outcome_key())
        character = alphabet.known.get(content)
        if character is None:
            step.exact = alphabet.take(content)
            return
        step.is_new = False
        self._share(step, character)

    def _share(self, step: Step, character: str) -> None:
        step.exact = character
        if character == step.name:
            step.named.alike += 1
        else:
            self._alphabet.take_again(character)

    def _evict(self, step: Step) -> None:
        """Undo what the oldest step added when it was appended."""
        named = step.named
        named.present -= 1
        if named.lone is step:  # nothing came after it that it could have been compared with
            named.lone = None
            return
        if step.kind == "tool":
            step.previous = None
            if step.exact != step.name:
                self._alphabet.release(step.exact)
            else:
                named.alike -= 1
                if not named.alike:
                    self._alphabet.unname(step.exact)
            by_input = named.by_input
            if by_input.get(step.arguments_key) is step:
                del by_input[step.arguments_key]

    def _sweep(self) -> None:
        """Let go of the names that have no step within reach; now and then, since most of them come back."""
        self._made = 0
        for all_named in self._named.values():
            gone = [name for name, named in all_named.items() if not named.present]
            self._spare += [all_named.pop(name) for name in gone]
