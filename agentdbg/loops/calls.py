"""
Judge a tool call against the earlier calls of the same tool: does it fail again, does it bring nothing new?

Exact repetitions are followed by the tape. Here nearly equal inputs are compared, with the last few calls of the tool.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from agentdbg.loops.kinds import streak_of
from agentdbg.loops.ledger import Candidate
from agentdbg.loops.similar import Vocabulary, is_near, jaccard
from agentdbg.loops.steps import COMPARED_CALLS

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step
    from agentdbg.loops.tape import Tape
    from agentdbg.loops.turns import UserTurns
    from agentdbg.loops.values import Outcome

__all__ = ["RecentCalls"]

_NEAR_PERCENT = 80
_NEAR_INPUT = _NEAR_PERCENT / 100
_REPHRASED_PERCENT = 60
_REPHRASED_INPUT = _REPHRASED_PERCENT / 100
"""Enough when the result is the same "no" every time and only words, no figures, were changed."""
_NEAR_RESULT = 0.9


class RecentCalls:
    """What the tools were asked of late."""

    __slots__ = ("_are_enough", "_recent", "_repetitions", "_tape", "_turns")

    def __init__(self, repetitions: int, recent: int, tape: Tape, turns: UserTurns) -> None:
        self._repetitions = repetitions
        self._recent = max(COMPARED_CALLS, recent)
        self._tape = tape
        self._turns = turns
        self._are_enough = False
        """Whether the last tool was called often enough of late for its calls to be compared."""

    def take(self, step: Step, lone: Step | None) -> Candidate | None:
        """
        Keep a call with the last few of its tool; the stall that it completes together with nearly equal ones.

        `lone` is the call before it when that was the tool's first.
        """
        calls = step.named.recent
        if calls is None:
            calls = step.named.recent = deque(maxlen=COMPARED_CALLS)
        if lone is not None:
            calls.append(lone)
        calls.append(step)
        wanted = self._repetitions
        self._are_enough = len(calls) >= wanted and calls[-wanted].call_number > step.call_number - COMPARED_CALLS
        # Whether a call that came often enough is a finding is decided when it turns out not to be part of a block.
        if not self._are_enough or step.streak >= wanted or step.polling:
            return None
        return self._stall(step, calls)

    def repeated(self, step: Step) -> Candidate | None:
        """The error_retry or stall that the newest call completes, which came often enough."""
        if step.polling:
            return None
        wanted = self._repetitions
        calls = streak_of(step, wanted)
        new_work = self._worked_between(calls)
        if step.failed and not new_work and calls[0].number >= self._turns.first:
            return Candidate("error_retry", [step], calls, step.streak)
        is_recent = len(calls) == wanted and (not new_work or self._is_recent(calls[0]))
        if is_recent and not self._only_confirm(calls):
            return Candidate("stall", [step], calls, step.streak, new_work=new_work)
        recent = step.named.recent
        return self._stall(step, recent) if self._are_enough and recent is not None else None

    def _stall(self, step: Step, calls: deque[Step]) -> Candidate | None:
        if not step.failed and calls[-2].number < self._turns.first:
            return None  # the user has spoken since
        is_first_time = not step.was_asked and calls[0].number >= self._tape.steps[0].number
        # Most calls ask for something else than the ones before them, which shows without a look at the result.
        if is_first_time and _asks_otherwise(step, calls):
            return None
        is_brief = step.got.is_brief()
        if is_brief and is_first_time:
            return None  # an acknowledgement of something that none of them asked
        similar = self._similar(step, calls, is_brief=is_brief)
        if len(similar) < self._repetitions or self._only_confirm(similar):
            return None
        return Candidate("stall", [step], similar, step.near, new_work=self._worked_between(similar))

    def _similar(self, step: Step, calls: deque[Step], *, is_brief: bool) -> list[Step]:
        """The calls, `step` last, that asked nearly the same and got nearly the same; as many as make a finding."""
        oldest = step.call_number - COMPARED_CALLS
        found = [step]
        key = step.arguments_key
        for other in islice(reversed(calls), 1, None):
            if other.call_number <= oldest:
                break
            if is_brief and other.arguments_key != key:
                continue
            if self._brings_nothing_new(other, step):
                found.append(other)
                step.near = max(step.near, other.near + 1, len(found))
                if len(found) == self._repetitions:
                    break
            elif other.arguments_key == key:
                break  # the same question had another answer since: that was progress
        return found[::-1]

    def _brings_nothing_new(self, earlier: Step, later: Step) -> bool:
        """Whether `later` asked nearly what `earlier` asked in the same turn and got nearly what it got."""
        if earlier.failed != later.failed or earlier.forgotten:
            return False
        is_same = earlier.arguments_key == later.arguments_key
        alike = 1.0 if is_same else jaccard(earlier.asked.words(), later.asked.words(earlier.asked))
        if alike < _REPHRASED_INPUT or not (later.failed or earlier.number >= self._turns.first):
            return False
        if alike < _NEAR_INPUT and not (later.got.is_negative() and _differ_in_words(earlier, later)):
            return False
        if earlier.outcome_key() == later.outcome_key():
            return True
        return not is_same and alike >= _NEAR_INPUT and _near_results(earlier.got, later.got)

    def _only_confirm(self, calls: list[Step]) -> bool:
        """
        Whether each call says in a few words that all is well after something new was done: tests run after each edit.

        What only acknowledges something new is taken for something done; and where the call itself only acknowledges,
        as one that saves what there is by now, reading something new is enough.
        """
        newest = calls[-1]
        if not newest.got.is_brief():
            return False
        is_bare = newest.got.is_bare()
        has_worked = True
        for step in reversed(self._tape.steps):
            if step in calls:
                if not has_worked:
                    return False
                if step is calls[0]:
                    return True
                has_worked = False
            elif step.is_new and step.named.is_tool and not has_worked:
                step.read()
                has_done = step.got.is_brief() or (is_bare and not step.failed)
                has_worked = has_done and not _asks_like(step, newest)
        return False

    def _is_recent(self, step: Step) -> bool:
        """Whether the call is recent enough for a stall with other work in between."""
        return step.call_number > self._tape.calls - self._recent

    def _worked_between(self, calls: list[Step]) -> bool:
        """Whether another call within reach brought something new between these."""
        first = calls[0].number
        for step in reversed(self._tape.steps):
            if step.number <= first:
                break
            if step.is_new and step.named.is_tool and step not in calls:
                step.read()
                if not step.failed and not step.got.is_bare():
                    return True
        return False


def _asks_otherwise(step: Step, calls: deque[Step]) -> bool:
    """Whether `step`, the last of the calls, has too few words in common with each of the others to repeat it."""
    before, named = calls[-2], step.named
    words = step.asked.words(before.asked)
    if words is before.asked.words():
        return False
    vocabulary = named.vocabulary
    if vocabulary is None or named.worded is not before:
        vocabulary = named.vocabulary = Vocabulary(COMPARED_CALLS - 1, _REPHRASED_PERCENT)
        for call in islice(calls, len(calls) - 1):
            vocabulary.is_far(call.asked.words())
    named.worded = step
    if vocabulary.is_far(words):
        return True
    # Few results are a "no", which is what makes fewer words in common enough.
    return not vocabulary.has_near(_REPHRASED_PERCENT if step.got.is_negative() else _NEAR_PERCENT)


def _asks_like(step: Step, other: Step) -> bool:
    return step.named is other.named and jaccard(step.words(), other.words(step)) >= _REPHRASED_INPUT


def _near_results(earlier: Outcome, later: Outcome) -> bool:
    """Whether two results say the same thing in nearly the same words and order."""
    shorter, longer = sorted((len(earlier.text), len(later.text)))
    if shorter < longer * _NEAR_RESULT - 16:
        return False
    if not is_near(earlier.more_words(), later.more_words(), _NEAR_RESULT):
        return False
    return is_near(earlier.runs(), later.runs(), _NEAR_RESULT)


def _differ_in_words(earlier: Step, later: Step) -> bool:
    """Whether the inputs were put in other words; other numbers or ids ask for something else."""
    differing = b"".join(earlier.words() ^ later.words())
    return differing.translate(None, b"0123456789") == differing
