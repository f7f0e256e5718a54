"""
The last events as strings, one character an event, for finding blocks in.

`names` is what the documents' rule looks at. `exact` tells tool calls apart by input and result and leaves a model's
words out, since they differ between identical calls. `quiet` holds the model calls since the last tool call and tells
their answers apart.

Nothing is compared before it can matter: a call's input is hashed when its tool is called again, its result when that
input recurs. `exact` is put together when it is asked for.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.loops.blocks import Alphabet
from agentdbg.loops.quiet import QuietStretch
from agentdbg.loops.steps import COMPARED_CALLS, Named
from agentdbg.loops.values import Recall

if TYPE_CHECKING:
    from agentdbg.loops.aside import Key
    from agentdbg.loops.steps import Step
    from agentdbg.loops.turns import UserTurns

__all__ = ["TEXTS_KEPT", "Tape"]

TEXTS_KEPT = 256
"""Older steps keep their hashes and let go of their text."""
_NAMED_BETWEEN_SWEEPS = 128


class Tape:
    """The steps within reach, and the strings that stand for the newest of them."""

    __slots__ = (
        "_alphabet",
        "_exact",
        "_is_quiet",
        "_longest",
        "_made",
        "_turns",
        "_window",
        "_written",
        "calls",
        "known",
        "names",
        "number",
        "quiet",
        "reach",
        "recall",
        "steps",
    )

    def __init__(self, window: int, reach: int, turns: UserTurns) -> None:
        self._turns = turns
        self._window = window
        self._longest = 2 * window
        self.reach = reach
        self.number = 0
        """How many events there were."""
        self.calls = 0
        """How many of them were tool calls."""
        self.recall = Recall()
        self.steps: deque[Step] = deque()
        self.quiet = QuietStretch(window)
        self._alphabet = Alphabet()
        self.known: dict[Key, Named] = {}
        self._made = 0
        self.names = ""
        """One character a step, the same for steps of one name."""
        self._exact = ""
        self._written = 0
        """The number of the last step in `_exact`."""
        self._is_quiet = False

    def named(self, key: Key) -> Named:
        """The one of that kind and name; kept for a while after its last step is gone, since most come back."""
        named = self.known.get(key)
        if named is None:
            self._made += 1
            if self._made > _NAMED_BETWEEN_SWEEPS and self._made > self.reach:
                self._sweep()
            named = self.known[key] = Named(*key, self._alphabet.take_unnamed(), self.recall)
        return named

    @property
    def exact(self) -> str:
        """One character a step, the same for equal tool calls and for all calls of one model."""
        if self._written != self.number:
            self._write()
        return self._exact

    def append(self, step: Step) -> None:
        """Add the newest step and link it to the last one that asked the same."""
        named = step.named
        step.number = self.number = self.number + 1
        named.present += 1
        names = self.names + named.character
        self.names = names if len(names) < self._longest else names[-self._window :]
        if named.is_tool:
            step.call_number = self.calls = self.calls + 1
            if self._is_quiet:
                self.quiet.clear()
                self._is_quiet = False
            if step.recurs:
                self._identify(step, named)
            else:
                named.lone = step
                named.alike = 1
        else:
            self.quiet.waiting.append(step)
            self._is_quiet = True
        steps = self.steps
        steps.append(step)
        size = len(steps)
        if size > TEXTS_KEPT:
            forgetting = steps[-TEXTS_KEPT - 1]
            forgetting.forget()
            if forgetting.named.lone is forgetting:
                forgetting.named.lone = None
        if size > self.reach:
            oldest = steps.popleft()
            named = oldest.named
            named.present -= 1
            if named.is_tool:
                self._evict(oldest, named)

    def skip(self, events: int, calls: int) -> None:
        """Number on as if so many events had been appended, of which so many were tool calls."""
        self.number += events
        self._written += events
        self.calls += calls

    def last(self, number: int) -> list[Step]:
        """The last `number` steps, oldest first."""
        steps = self.steps
        return [steps[index] for index in range(len(steps) - number, len(steps))]

    def _write(self) -> None:
        """Put into `_exact` what came since."""
        new = min(self.number - self._written, self._longest)
        self._written = self.number
        steps = self.steps
        if new == 1:
            exact = self._exact + (steps[-1].exact or self._character(steps[-1]))
        else:
            exact = self._exact + "".join([step.exact or self._character(step) for step in self.last(new)])
        self._exact = exact if len(exact) < self._longest else exact[-self._window :]

    def _character(self, step: Step) -> str:
        """The character of a step, which most calls with a new input get only when it matters."""
        if not step.exact:
            step.exact = self._alphabet.take_unnamed()
        return step.exact

    def _identify(self, step: Step, named: Named) -> None:
        """Give the step the character of an equal call, if there is one within reach."""
        by_input = named.by_input
        if by_input is None:
            by_input = named.by_input = {}
        lone = named.lone
        if lone is not None:
            named.lone = None
            lone.read()
            lone.arguments_key = lone.asked.known_key()
            by_input[lone.arguments_key] = lone
        key = step.arguments_key
        earlier = by_input.get(key)
        by_input[key] = step
        step.exact = ""
        if earlier is None:
            return
        step.was_asked = True
        if earlier.forgotten and earlier.known_outcome_key is None:
            return
        if earlier.outcome_key() != step.outcome_key():
            # The same question with another answer is progress.
            self._tell_apart(earlier, step)
            return
        step.is_new = False
        self._share(step, self._character(earlier))
        # Asking again because the user spoke is no loop, but what failed before they spoke still fails.
        if step.failed or earlier.number >= self._turns.first:
            step.previous = earlier
            step.streak = earlier.streak + 1

    def _tell_apart(self, earlier: Step, step: Step) -> None:
        """Give a call whose last answer was another one the character of an older one with this answer, if any."""
        alphabet = self._alphabet
        signature = step.signature
        alphabet.name(self._character(earlier), (signature, step.arguments_key, earlier.outcome_key()))
        content = (signature, step.arguments_key, step.outcome_key())
        character = alphabet.known.get(content)
        if character is None:
            step.exact = alphabet.take(content)
            return
        step.is_new = False
        self._share(step, character)

    def _share(self, step: Step, character: str) -> None:
        step.exact = character
        if character == step.named.character:
            step.named.alike += 1
        else:
            self._alphabet.take_again(character)

    def _evict(self, step: Step, named: Named) -> None:
        """Undo what the oldest call added when it was appended."""
        if named.lone is step:  # nothing came after it that it could have been compared with
            named.lone = None
            return
        step.previous = None
        exact = step.exact
        if exact == named.character:
            named.alike -= 1
            if not named.alike:
                self._alphabet.unname(exact)
        elif exact:
            self._alphabet.release(exact)
        by_input = named.by_input
        if by_input is not None and by_input.get(step.arguments_key) is step:
            del by_input[step.arguments_key]

    def _sweep(self) -> None:
        """Let go of the names that have no step within reach; now and then, since most of them come back."""
        self._made = 0
        oldest = self.calls - COMPARED_CALLS
        gone = [
            key
            for key, named in self.known.items()
            if not named.present and not (named.recent and named.recent[-1].call_number > oldest)
        ]
        for key in gone:
            self._alphabet.release(self.known.pop(key).character)
