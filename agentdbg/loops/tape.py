"""
The last events as strings, one character an event, for finding blocks in.

`names` is what the documents' rule looks at. `exact` tells tool calls apart by input and result and leaves a model's
words out, since they differ between identical calls. `quiet` holds the model calls since the last tool call and tells
their answers apart.

Nothing is compared before it can matter: a call's input is hashed when its tool is called again, its result when that
input recurs. The strings are put together when they are asked for.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from agentdbg.loops.blocks import Alphabet
from agentdbg.loops.quiet import QuietStretch
from agentdbg.loops.steps import COMPARED_CALLS, Named
from agentdbg.loops.values import FORGOTTEN, FORGOTTEN_FAILURE, NOTHING_ASKED, Recall

if TYPE_CHECKING:
    from agentdbg.loops.aside import Key
    from agentdbg.loops.steps import Step

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
        "_last_names",
        "_longest",
        "_made",
        "_most_stretches",
        "_names",
        "_seen",
        "_stretches",
        "_window",
        "_written",
        "calls",
        "known",
        "number",
        "quiet",
        "reach",
        "recall",
        "steps",
    )

    def __init__(self, window: int, reach: int) -> None:
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
        self._names = self._exact = ""
        self._written = 0
        """The number of the last step that is in the strings."""
        self._is_quiet = False
        self._last_names = ""
        self._stretches: dict[str, int] = {}
        """The names of four steps in a row, and the number of the step that last ended them."""
        self._most_stretches = 4 * window
        self._seen = 0
        """Where the last four names were seen before."""

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
    def names(self) -> str:
        """One character a step, the same for steps of one name."""
        if self._written != self.number:
            self._write()
        return self._names

    @property
    def exact(self) -> str:
        """One character a step, the same for equal tool calls and for all calls of one model."""
        if self._written != self.number:
            self._write()
        return self._exact

    def append(self, step: Step) -> None:
        """Add the newest step and link it to the last one that asked the same."""
        named = step.named
        step.number = self.number = number = self.number + 1
        named.present += 1
        self._last_names = last_names = self._last_names[-3:] + named.character
        stretches = self._stretches
        self._seen = stretches.get(last_names, 0)
        stretches[last_names] = number
        if not named.is_tool:
            self.quiet.waiting.append(step)
            self._is_quiet = True
        else:
            step.call_number = self.calls = self.calls + 1
            if self._is_quiet:
                self.quiet.clear()
                self._is_quiet = False
            if step.recurs:
                self._identify(step, named)
            else:
                named.lone = step
                named.alike = 1
        if len(stretches) > self._most_stretches:
            self._stretches = {names: last for names, last in stretches.items() if last > number - self._window}
        steps = self.steps
        steps.append(step)
        size = len(steps)
        if size > TEXTS_KEPT:
            _forget_text(steps[-TEXTS_KEPT - 1])
            if size > self.reach:
                self._evict(steps.popleft())
        elif size > self.reach:
            self._evict(steps.popleft())

    def names_may_repeat(self, longest: int, repetitions: int) -> bool:
        """
        Whether the names may end with a block of up to `longest` steps that repeats; nearly always they do not.

        A block of two or more, three times, means that its last four names were there one block earlier.
        """
        if repetitions < 3 or self._seen >= self.number - longest:
            return True
        last = self._last_names
        return last[-3:] == last[-1] * 3

    def skip(self, events: int, calls: int) -> None:
        """Number on as if so many events had been appended, of which so many were tool calls."""
        self.number += events
        self._written += events
        self.calls += calls

    def last(self, number: int) -> list[Step]:
        """The last `number` steps, oldest first."""
        steps = self.steps
        return [steps[index] for index in range(len(steps) - number, len(steps))]

    def oldest(self) -> int:
        """The number of the oldest step within reach."""
        return self.steps[0].number

    def _write(self) -> None:
        """Put into the strings what came since."""
        new = self.number - self._written
        self._written = self.number
        if new == 1:
            step = self.steps[-1]
            self._names += step.named.character
            self._exact += step.exact
        else:
            steps = self.last(min(new, self._longest))
            self._names += "".join([step.named.character for step in steps])
            self._exact += "".join([step.exact for step in steps])
        if len(self._names) >= self._longest:
            self._names = self._names[-self._window :]
            self._exact = self._exact[-self._window :]

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
        signature = step.signature
        alphabet.name(earlier.exact, (signature, step.arguments_key, earlier.outcome_key()))
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

    def _evict(self, step: Step) -> None:
        """Undo what the oldest step added when it was appended."""
        named = step.named
        named.present -= 1
        if named.lone is step:  # nothing came after it that it could have been compared with
            named.lone = None
            return
        if named.is_tool:
            step.previous = None
            if step.exact != named.character:
                self._alphabet.release(step.exact)
            else:
                named.alike -= 1
                if not named.alike:
                    self._alphabet.unname(step.exact)
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


def _forget_text(step: Step) -> None:
    """Let go of the bytes; what was worked out from them stays."""
    if step.named.lone is step:
        step.named.lone = None
    step.unread = None
    step.hold(NOTHING_ASKED, FORGOTTEN_FAILURE if step.failed else FORGOTTEN)
    step.forgotten = True
