"""
Take the events of a run in: what each asked and got, and where it stands among its like.

`Intake` keeps what the rules look at, and says of a call or an answer whether it fails again or brings nothing new.
Whether anything is told is for the detector to judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.loops.aside import PutAside
from agentdbg.loops.calls import RecentCalls
from agentdbg.loops.echoes import RecentReplies
from agentdbg.loops.ledger import Candidate, Ledger
from agentdbg.loops.signatures import says_it_failed
from agentdbg.loops.steps import Step
from agentdbg.loops.tape import TEXTS_KEPT, Tape
from agentdbg.loops.turns import UserTurns, is_cut
from agentdbg.loops.values import MAX_COMPARED_BYTES, Input, compared_input, unread_call, unread_reply, unread_result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.loops.aside import Key
    from agentdbg.loops.values import Unread

__all__ = ["Intake"]

_MIN_REACH = 24


class Intake:
    """What is known of a run up to its newest event."""

    def __init__(self, window: int, repetitions: int, ignore_tools: Iterable[str]) -> None:
        self._window = window
        self._repetitions = repetitions
        self._longest_block = window // repetitions
        self._ignored = frozenset(ignore_tools)
        reach = max(2 * window, _MIN_REACH)
        self._tape = Tape(window, reach)
        self._calls = RecentCalls(repetitions, window * 2 // 3, self._tape)
        self._replies = RecentReplies(repetitions)
        self._aside = PutAside(reach, TEXTS_KEPT)
        self._turns = UserTurns()
        self._ledger = Ledger(window)
        self._tool_is_new = False
        self._are_enough = False
        """Whether the last tool was called often enough of late for its calls to be compared."""
        self._turn = 0
        self._turn_began = 0
        self._states_in_a_row = 0
        self._names_period = 0
        self._last_tool = 0
        self._last_call: Step | None = None
        self._asked_nothing = False
        self._new_answer: Step | None = None
        """The last answer, if it is like none of those before it that are still remembered."""

    def _put_aside(self, key: Key, event_id: str, ts: str, payload: dict[str, Any], meta: dict[str, Any]) -> bool:
        """Keep a call of a new name as it came; False for what has to be looked into at once."""
        unread: Unread | None
        spent = self._ledger.spent
        polling = False
        if key[0] == "tool":
            unread = unread_call(payload)
            if unread is None:
                return False
            polling = (meta and meta.get("polling")) or key[1] in self._ignored
        else:
            unread = unread_reply(payload)
            if unread is None:
                return False
            self._ledger.spend(payload)
        aside = self._aside
        aside.texts.append(unread)
        aside.calls[key] = event_id, ts, spent, bool(polling)
        if len(aside.calls) > aside.most:
            aside.shorten()
        return True

    def _take_in(self) -> None:
        """Take in the calls that were put aside: there was nothing to compare them with, so they are only kept."""
        aside, tape = self._aside, self._tape
        aside.shorten()
        tape.skip(aside.out_of_reach, aside.tools_out_of_reach)
        self._states_in_a_row = self._names_period = 0
        for key, (event_id, ts, spent, polling), unread in aside.take_out():
            step = Step(event_id, ts, tape.named(key), self._turn, spent)
            step.unread = unread
            step.polling = polling
            tape.append(step)
            if step.named.is_tool:
                self._last_tool = step.number
                self._last_call = step
                self._tool_is_new = True
                if self._replies.kept:
                    self._replies.clear()
            else:
                self._asked_nothing = True
                self._new_answer = None
                self._replies.remember(step)

    def _look_into(
        self, step: Step, name: str, payload: dict[str, Any], meta: dict[str, Any], spoke: bool
    ) -> Candidate | None:
        """Take an event that may repeat another; the finer finding it completes, if any."""
        named = step.named
        if named.is_tool:
            compared = compared_input(payload.get("args"), named.asked)
            asked, step.arguments_key = compared
            named.asked = compared if len(asked) <= MAX_COMPARED_BYTES else None
            result = unread_result(payload)
            if result is None:
                step.hold(Input(asked, step.arguments_key), self._tape.recall.result(payload))
            else:
                step.unread = (asked, result)
                step.failed = says_it_failed(result)
            if (meta and meta.get("polling")) or name in self._ignored:
                step.polling = True
            return self._take_tool_call(step)
        if step.kind == "model":
            got, asked_for = self._tape.recall.reply(payload)
            step.hold(asked_for, got)
            self._note_turn(step, payload, spoke)
            finer = self._take_model_call(step)
            self._ledger.spend(payload)
            return finer
        self._take_state(step)
        return None

    def _take_tool_call(self, step: Step) -> Candidate | None:
        """The finer finding that a call completes, which is the newest step from here on."""
        lone = step.named.lone
        self._tape.append(step)
        self._last_tool = step.number
        self._last_call = step
        self._states_in_a_row = 0
        self._tool_is_new = step.is_new
        if step.is_new and self._replies.kept:
            self._replies.clear()
        if not step.recurs:
            return None
        self._are_enough = self._calls.keep(step, lone)
        # Whether a call that came often enough is a finding is decided when it turns out not to be part of a block.
        return self._repeated(step) if step.streak < self._repetitions and self._are_enough else None

    def _repeated(self, step: Step) -> Candidate | None:
        return None if step.polling else self._calls.repeated(step, are_enough=self._are_enough)

    def _note_turn(self, step: Step, payload: dict[str, Any], spoke: bool) -> None:
        if spoke:
            self._begin_turn(step)
            self._turn_began = self._tape.number
        elif self._asked_nothing and self._last_tool < self._tape.number and is_cut(payload.get("prompt")):
            # The model had answered in words, and the end of the prompt is not stored: the user probably spoke.
            self._begin_turn(step)

    def _take_model_call(self, step: Step) -> Candidate | None:
        """The finer finding that an answer completes, which is the newest step from here on."""
        self._asked_nothing = not step.asked.text
        self._tape.append(step)
        self._states_in_a_row = 0
        self._new_answer = None
        if step.failed:
            calls = self._replies.failures(step)
            return Candidate("error_retry", [step], calls, step.streak) if len(calls) >= self._repetitions else None
        calls = self._replies.echoes(step)
        if len(calls) >= self._repetitions:
            return Candidate("echo", [step], calls[::-1], step.near)
        if len(calls) == 1 and step.recurs:
            self._new_answer = step
        return None

    def _take_state(self, step: Step) -> None:
        self._tape.append(step)
        self._states_in_a_row += 1

    def _begin_turn(self, step: Step) -> None:
        step.turn = self._turn = self._turn + 1
        self._replies.clear()
