"""
The last steps of a run, and what each of them repeats.

A step is an event that counts: a call of a tool or a model, or a state. `Window` takes one after the other and keeps as
many as any rule looks back. It writes them down as text, one character a step, so that finding a block that repeats is
searching text: `names` is equal for steps of one name, `exact` tells tool calls apart by input and result.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING

from agentdbg.events.facts import reads_something
from agentdbg.loops.step_contents import (
    NOTHING_ASKED,
    NOTHING_GOT,
    Characters,
    are_near,
    asks_for_another,
    find_period,
    overlap,
)
from agentdbg.loops.user_turns import UserTurns

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from agentdbg.loops.step_contents import Asked, Outcome

__all__ = ["MODEL", "NOTHING_SPENT", "STATE", "TOOL", "Spent", "Step", "Window"]

TOOL, MODEL, STATE = "TOOL_CALL", "LLM_CALL", "STATE_UPDATE"

Spent = tuple[int, int, float, int]
"""What a run has used up to some point: model calls, tokens, US dollars, and how many calls have a known price."""
NOTHING_SPENT: Spent = (0, 0, 0.0, 0)

_MIN_REACH = 24
_TEXTS_KEPT = 256
"""Older steps keep what was worked out from their texts and let go of these."""
_RECENT = 8
"""Nearly equal calls and answers count among the last so many."""
_NEAR_INPUT = 0.8
_REPHRASED_INPUT = 0.6
"""Enough when the result is the same "no" every time and only words, no figures, were changed."""
_NEAR_ANSWER = 0.8
_FEWEST_WORDS = 5
"""Shorter answers ("Done.", "Yes, please go on.") are alike without meaning anything."""


@dataclass(eq=False, slots=True)
class Step:
    """One event that counts, and its place among its like."""

    event_type: str
    name: InitVar[str]
    event_id: str
    ts: str
    spent: Spent
    """What the run had used before it."""
    signature: str = ""
    asked: Asked = NOTHING_ASKED
    """What a tool was asked; of a model, the calls that it asks for."""
    got: Outcome = NOTHING_GOT
    question: int = 0
    """What a model was asked: equal for prompts that say the same."""
    polling: bool = False
    judges: bool = False
    """Whether a model was asked for a verdict, with the same words as before and nothing of its own among them."""
    number: int = 0
    call_number: int = 0
    exact: str = ""
    is_new: bool = True
    """Whether no call of this tool within reach had the same input and the same result."""
    previous: Step | None = None
    """The call before it that asked and got the same, or that failed the same way."""
    streak: int = 1
    """How many calls in a row asked and got the same."""
    near: int = 1
    """How many asked and got nearly the same."""
    forgotten: bool = False
    """Whether its texts are gone."""

    def __post_init__(self, name: str) -> None:
        self.signature = self.event_type if self.event_type == STATE else f"{self.event_type}:{name}"

    @property
    def failed(self) -> bool:
        """Whether the call failed, or returned a failure."""
        return self.got.failed

    def forget(self) -> None:
        """Let go of the texts; what was worked out from them stays."""
        self.forgotten = True
        self.asked.forget()
        self.got.forget()

    def chain(self, most: int) -> list[Step]:
        """The last calls of the streak that ends with this one, oldest first, as far as they are remembered."""
        steps = [self]
        while len(steps) < most and steps[-1].previous is not None:
            steps.append(steps[-1].previous)
        return steps[::-1]


class Window:
    """The steps within reach."""

    def __init__(self, size: int, repetitions: int) -> None:
        self.size = size
        self.wanted = repetitions
        self.reach = max(2 * size, _MIN_REACH)
        self.turns = UserTurns()
        self.steps: deque[Step] = deque()
        self.newest: Step
        """The step that was appended last."""
        self.number = 0
        """How many steps there were."""
        self.calls = 0
        """How many of them were tool calls."""
        self.last_call: Step | None = None
        self.alike: list[Step] = []
        """The newest call or answer, last, after the earlier ones that asked and got nearly the same."""
        self.period = 0
        """The length of the block that the run ends with, repeated without a difference often enough; 0 for none."""
        self.goes_on = False
        """Whether the block went on with the newest step."""
        self.rounds = 0
        """How often the block has gone round by now."""
        self.polls = False
        """Whether a call in it is one that polls."""
        self.has_answered = False
        """Whether a model asked for no tools when it was last called."""
        self.names = self.exact = self._answers = ""
        self._answers_until = 0
        self._characters = Characters(self.reach)
        self._answer_characters = Characters(size)
        self._inputs: dict[tuple[str, int], _Input] = {}
        self._failing: dict[str, Step] = {}
        self._new_calls: list[Step] = []
        self.work: deque[Step] = deque(maxlen=repetitions + 1)
        """The last calls that returned something new."""
        self._recent_calls: deque[Step] = deque(maxlen=_RECENT - 1)
        self._recent_answers: deque[Step] = deque(maxlen=_RECENT)
        self._last_poll = 0
        self._recurs = False
        """Whether a step of the newest one's name is within reach."""
        self._states_in_a_row = 0
        self._steps_in_block = 0

    def last(self, number: int) -> list[Step]:
        """The last `number` steps, oldest first."""
        return [self.steps[place] for place in range(-number, 0)]

    def append(self, step: Step) -> None:
        """Take the next step of the run, and find out what it repeats."""
        self.newest = step
        step.number = self.number = self.number + 1
        self._recurs, name = self._characters.meet(step.signature, step.number)
        step.exact = name
        self.alike = []
        self._states_in_a_row = self._states_in_a_row + 1 if step.event_type == STATE else 0
        if step.event_type == TOOL:
            self._take_call(step)
        elif step.event_type == MODEL:
            self._take_answer(step)
        self.names = self._written(self.names, name)
        self.exact = self._written(self.exact, step.exact)
        self.steps.append(step)
        if len(self.steps) > _TEXTS_KEPT:
            self.steps[-_TEXTS_KEPT - 1].forget()
        if len(self.steps) > self.reach:
            self._let_go(self.steps.popleft())
        before, self.period = self.period, self._find_period()
        self.goes_on = self.period > 0 and self.period == before
        if self.period:
            self._steps_in_block = self._steps_in_block + 1 if self.goes_on else self.period * self.wanted
            self.rounds = self._steps_in_block // self.period
            self.polls = self._last_poll > step.number - self.period * self.wanted

    def begin_turn(self) -> None:
        """Begin a user's turn with the step that comes next."""
        self.turns.note(self.number + 1)
        self._recent_answers.clear()

    def new_calls(self, first: int, last: int) -> Iterator[Step]:
        """The tool calls between two steps, newest first, that asked or got something new."""
        begin = bisect_right(self._new_calls, first, key=_number)
        end = bisect_left(self._new_calls, last, key=_number)
        return (self._new_calls[place] for place in range(end - 1, begin - 1, -1))

    def answers(self) -> str:
        """The model calls and states since the last tool call, one character each: equal for the same answer."""
        since = 0 if self.last_call is None else self.last_call.number
        if since > self._answers_until or self.number > self._answers_until + self.size:
            self._answers, self._answers_until = "", max(since, self.number - self.size)
        new = self.last(self.number - self._answers_until)
        self._answers_until = self.number
        written = [self._answer_characters.meet(_answer(step), step.number)[1] for step in new]
        self._answers = self._written(self._answers, "".join(written))
        return self._answers

    def _written(self, text: str, more: str) -> str:
        text += more
        return text if len(text) < 2 * self.size else text[-self.size :]

    def _let_go(self, oldest: Step) -> None:
        """Forget that a step was there."""
        oldest.previous = None
        if oldest.event_type == TOOL:
            key = (oldest.signature, oldest.asked.key())
            if key in self._inputs and self._inputs[key].last is oldest:
                del self._inputs[key]
        if self._failing.get(oldest.signature) is oldest:
            del self._failing[oldest.signature]

    # -- tools -----------------------------------------------------------------------------------------------------

    def _take_call(self, step: Step) -> None:
        step.call_number = self.calls = self.calls + 1
        self._identify(step)
        if step.polling:
            self._last_poll = step.number
        else:
            self.alike = self._similar_calls(step)
        self._recent_calls.append(step)
        self.last_call = step
        self.turns.was_called = True
        if step.is_new:
            self._recent_answers.clear()
            self._new_calls.append(step)
            if not step.failed and not step.got.is_bare():
                self.work.append(step)
            if len(self._new_calls) > 2 * self.reach:
                del self._new_calls[: self.reach]

    def _identify(self, step: Step) -> None:
        """Give a call the character of an equal one within reach; the same question with another answer is progress."""
        key = (step.signature, step.asked.key())
        known = self._inputs.get(key)
        if known is None:
            self._inputs[key] = _Input(step)
            step.exact = self._characters.fresh()
            return
        earlier = known.last
        equal = known.take(step, step.number - self.reach)
        if equal is None:
            step.exact = self._characters.fresh()
            return
        step.exact = equal.exact
        step.is_new = False
        # Asking again because the user spoke is no loop, but what failed before they spoke still fails.
        if equal is earlier and (step.failed or earlier.number >= self.turns.first):
            step.previous, step.streak = earlier, earlier.streak + 1

    def _similar_calls(self, step: Step) -> list[Step]:
        """The recent calls, this one last, that asked and got nearly the same; as many as make a finding."""
        found = [step]
        others = [other for other in self._recent_calls if other.signature == step.signature] if self._recurs else []
        is_brief = bool(others) and not self._found_nothing(step) and step.got.is_brief()
        key, failed = step.asked.key(), step.got.failed
        for other in reversed(others):
            is_same = other.asked.key() == key
            if not is_same and (is_brief or other.got.failed != failed):
                continue  # an acknowledgement of something else, or another outcome
            if self._brings_nothing_new(other, step):
                found.append(other)
                step.near = max(step.near, other.near + 1)
                if len(found) == self.wanted:
                    break
            elif is_same:
                break  # the same question had another answer since: that was progress
        step.near = max(step.near, len(found))
        return found[::-1]

    def _brings_nothing_new(self, earlier: Step, later: Step) -> bool:
        """Whether `later` asked nearly what `earlier` asked in the same turn and got nearly what it got."""
        if earlier.failed != later.failed or earlier.forgotten:
            return False
        if not later.failed and earlier.number < self.turns.first:
            return False
        if earlier.asked.key() == later.asked.key():
            return earlier.got.key() == later.got.key()
        alike = overlap(earlier.asked.words(), later.asked.words())
        if alike < _REPHRASED_INPUT:
            return False
        is_no = later.got.is_negative() or self._found_nothing(later)
        if alike < _NEAR_INPUT and not (is_no and _differ_in_words(earlier, later)):
            return False
        is_same = earlier.got.key() == later.got.key() or (alike >= _NEAR_INPUT and are_near(earlier.got, later.got))
        # One thing after the other may be looked up in vain.
        may_be_another = is_no and (alike < _NEAR_INPUT or not later.failed)
        return is_same and not (may_be_another and asks_for_another(earlier.asked.text, later.asked.text))

    def _found_nothing(self, step: Step) -> bool:
        """Whether a call that is meant to give something gave nothing; of any other that is success."""
        return step.got.is_nothing() and reads_something(step.signature.partition(":")[2])

    # -- models ----------------------------------------------------------------------------------------------------

    def _take_answer(self, step: Step) -> None:
        self.has_answered = not step.asked.text
        failing = self._failing.pop(step.signature, None)
        if step.failed:
            if failing is not None and failing.got.key() == step.got.key():
                step.previous, step.streak = failing, failing.streak + 1
            self._failing[step.signature] = step
        elif not step.asked.text:  # an answer that asks for tools is judged by what these return
            self.alike = self._similar_answers(step)
            self._recent_answers.append(step)

    def _similar_answers(self, step: Step) -> list[Step]:
        """The recent answers to the same question, this one last, in nearly the same words."""
        found = [step]
        is_fresh = False
        for other in reversed(self._recent_answers if self._recurs else ()):
            if other.question != step.question or other.signature != step.signature or other.forgotten:
                # What another speaker said for the first time is news to those who speak after it.
                is_other = other.is_new and other.signature != step.signature
                is_fresh |= is_other and len(other.got.first_words()) >= _FEWEST_WORDS
                continue
            heard = other.got.first_words()
            if len(heard) < _FEWEST_WORDS or overlap(step.got.first_words(), heard) < _NEAR_ANSWER:
                continue
            step.is_new = False
            if other.number < self.turns.first or is_fresh:
                break
            found.append(other)
            step.near = max(step.near, other.near + 1)
            if len(found) == self.wanted:
                break
        step.near = max(step.near, len(found))
        return found[::-1]

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _find_period(self) -> int:
        """Look for the shortest block since the user spoke: with the last tool call in it, else of answers alone."""
        length = min(self.number - self.turns.spoken + 1, self.size)
        call = self.last_call
        since_call = self.number if call is None else self.number - call.number
        if call is not None and not call.is_new and (since_call + 1) * self.wanted <= length:
            period = find_period(self.exact, self.wanted, length, since_call + 1)
            if period:
                return period
        length = min(length, since_call)
        if length < self.wanted or self._states_in_a_row >= self.wanted:
            return 0
        return find_period(self.answers(), self.wanted, length)


def _number(step: Step) -> int:
    return step.number


def _answer(step: Step) -> Hashable:
    if step.event_type == STATE:
        return step.signature
    return step.signature, step.question, step.asked.key(), step.got.key()


def _differ_in_words(earlier: Step, later: Step) -> bool:
    """Whether the inputs were put in other words; other numbers or ids ask for something else."""
    differing = b"".join(earlier.asked.words() ^ later.asked.words())
    return differing.translate(None, b"0123456789") == differing


class _Input:
    """What a tool was asked: the last call for it, and the last one for each result."""

    __slots__ = ("_by_outcome", "last")

    def __init__(self, step: Step) -> None:
        self.last = step
        self._by_outcome: dict[int, Step] = {}

    def take(self, step: Step, oldest: int) -> Step | None:
        """Take the next call for it; the last one within reach that had the same result."""
        known = self._by_outcome
        known[self.last.got.key()] = self.last
        self.last = step
        equal = known.get(step.got.key())
        if len(known) > 2 * (step.number - oldest):
            self._by_outcome = {key: call for key, call in known.items() if call.number >= oldest}
        return equal if equal is not None and equal.number >= oldest else None
