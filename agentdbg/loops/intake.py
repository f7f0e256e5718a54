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
from agentdbg.loops.signatures import says_it_failed, spoken
from agentdbg.loops.steps import Step
from agentdbg.loops.tape import TEXTS_KEPT, Tape
from agentdbg.loops.turns import UserTurns, is_cut
from agentdbg.loops.values import MAX_COMPARED_BYTES, Input, compared_input, unread_call, unread_reply, unread_result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.loops.aside import Key
    from agentdbg.loops.turns import Heard
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
        self._turns = UserTurns()
        self._tape = Tape(window, reach, self._turns)
        self._calls = RecentCalls(repetitions, window * 2 // 3, self._tape, self._turns)
        self._replies = RecentReplies(repetitions, self._turns)
        self._aside = PutAside(reach, TEXTS_KEPT)
        self._ledger = Ledger(window)
        self._tool_is_new = False
        self._states_in_a_row = 0
        self._names_period = 0
        self._last_tool = 0
        self._last_call: Step | None = None
        self._asked_nothing = False
        self._new_answer: Step | None = None
        """The last answer, if it is like none of those before it that are still remembered."""

    def _put_aside(self, key: Key, event_id: str, ts: str, payload: dict[str, Any], meta: dict[str, Any]) -> bool:
        """Keep a call of a new name as it came; False for what has to be looked into at once."""
        aside, ledger = self._aside, self._ledger
        if key in aside.calls or ledger.current is not None or key[0] == "state":
            return False
        unread: Unread | None
        spent = ledger.spent
        polling = False
        if key[0] == "tool":
            unread = unread_call(payload)
            if unread is None:
                return False
            polling = (meta and meta.get("polling")) or key[1] in self._ignored
        else:
            unread = unread_reply(payload)
            if unread is None or payload.get("prompt") is not None:  # in which a person may have spoken
                return False
            ledger.spend(payload)
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
            step = Step(event_id, ts, tape.named(key), spent)
            if isinstance(unread, tuple):
                step.asked, step.unread = Input(unread[0]), unread[1]
            else:
                step.unread = unread
            step.polling = polling
            tape.append(step)
            if step.named.is_tool:
                self._last_tool = step.number
                self._last_call = step
                self._turns.was_called = True
                self._tool_is_new = True
                if self._replies.kept:
                    self._replies.clear()
            else:
                self._asked_nothing = True
                self._new_answer = None
                self._replies.remember(step)

    def _look_into_call(self, step: Step, payload: dict[str, Any], meta: dict[str, Any]) -> Candidate | None:
        """Take a tool call that may repeat another; the finer finding it completes, if any."""
        named = step.named
        self._turns.was_called = True
        asked = step.asked = compared_input(payload.get("args"), named.asked)
        named.asked = asked if len(asked.text) <= MAX_COMPARED_BYTES else None
        key = step.arguments_key = asked.key
        by_input = named.by_input
        unread = step.unread = unread_result(payload, by_input is not None and key not in by_input)
        if unread is None:
            step.hold(asked, self._tape.recall.result(payload))
        elif says_it_failed(payload.get("result")):
            step.failed = True
        if named.name in self._ignored or (meta and meta.get("polling")):
            step.polling = True
        return self._take_tool_call(step)

    def _look_into_answer(self, step: Step, payload: dict[str, Any], heard: Heard | None) -> Candidate | None:
        """
        The same for a model call, and for a state, of which nothing finer comes.

        `heard` is what the prompt says, if somebody has listened to it.
        """
        if step.named.kind == "state":
            self._take_state(step)
            return None
        step.unread = unread_reply(payload)
        if step.unread is None:
            said, asked_for = self._tape.recall.reply(payload)
            step.hold(asked_for, said)
        heard = heard or self._hear(payload)
        number = self._tape.number + 1
        step.question = heard.question
        if heard.spoken:
            self._turns.note(number)
            self._replies.clear()
        if is_cut(payload.get("prompt")):
            step.question = -number  # nobody knows whether it was asked before
            if self._asked_nothing and self._last_tool < number - 1:
                # The model had answered in words, and the end of the prompt is not stored: the user probably spoke.
                self._turns.begin(number)
        finer = self._take_model_call(step)
        self._ledger.spend(payload)
        return finer

    def _take_tool_call(self, step: Step) -> Candidate | None:
        """The finer finding that a call completes, which is the newest step from here on."""
        lone = step.named.lone
        self._tape.append(step)
        self._last_tool = step.number
        self._last_call = step
        self._states_in_a_row = 0
        is_new = self._tool_is_new = step.is_new
        if is_new and self._replies.kept:
            self._replies.clear()
        return self._calls.take(step, lone) if step.recurs else None

    def _hear(self, payload: dict[str, Any]) -> Heard:
        """What the prompt of a model call says."""
        prompt, response = payload.get("prompt"), payload.get("response")
        heard = self._turns.hear(prompt, self._last_call)
        if type(prompt) is str:
            self._turns.answer(response if type(response) is str else spoken(response)[0].decode(errors="replace"))
        return heard

    def _take_model_call(self, step: Step) -> Candidate | None:
        """The finer finding that an answer completes, which is the newest step from here on."""
        self._asked_nothing = asks_nothing = type(step.unread) is str or not step.asked.text
        self._tape.append(step)
        self._states_in_a_row = 0
        self._new_answer = None
        if step.failed:
            calls = self._replies.failures(step)
            return Candidate("error_retry", [step], calls, step.streak) if len(calls) >= self._repetitions else None
        calls = self._replies.echoes(step, asks_nothing)
        if len(calls) == 1:
            self._new_answer = step if step.recurs else None
        elif len(calls) >= self._repetitions:
            return Candidate("echo", [step], calls[::-1], step.near)
        return None

    def _take_state(self, step: Step) -> None:
        self._tape.append(step)
        self._states_in_a_row += 1
