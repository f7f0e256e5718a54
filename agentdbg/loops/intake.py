"""
Take the events of a run in: what each asked and got, and where it stands among its like.

`Intake` keeps what the rules look at, and says of a call or an answer whether it fails again or brings nothing new.
Whether anything is told is for the detector to judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.loops.calls import RecentCalls
from agentdbg.loops.echoes import RecentReplies
from agentdbg.loops.ledger import Candidate, Ledger
from agentdbg.loops.tape import Tape
from agentdbg.loops.turns import UserTurns, is_cut
from agentdbg.loops.values import Recall, compared_input

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.loops.steps import Step

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
        self._calls = RecentCalls(repetitions, window * 2 // 3, reach)
        self._replies = RecentReplies(repetitions)
        self._recall = Recall()
        self._turns = UserTurns()
        self._ledger = Ledger(window)
        self._number = 0
        self._tool_is_new = False
        self._turn = 0
        self._turn_began = 0
        self._states_in_a_row = 0
        self._last_tool = 0
        self._last_call: Step | None = None
        self._asked_nothing = False
        self._answer_is_new = False

    def _first(self, step: Step, name: str, payload: dict[str, Any], meta: dict[str, Any], spoke: bool) -> None:
        """Take a call of a tool or a model that is new: there is nothing to compare it with, so it is only kept."""
        if step.kind == "tool":
            if (meta and meta.get("polling")) or name in self._ignored:
                step.polling = True
            self._append(step)
            self._last_tool = self._number
            self._last_call = step
            self._tool_is_new = True
            if self._replies.kept:
                self._replies.clear()
            self._calls.count_first(step)
        else:
            self._note_turn(payload, spoke)
            self._asked_nothing = True
            self._append(step)
            self._answer_is_new = False
            self._replies.remember(step)
            self._ledger.spend(payload)
        self._states_in_a_row = 0

    def _look_into(
        self, step: Step, name: str, payload: dict[str, Any], meta: dict[str, Any], spoke: bool
    ) -> Candidate | None:
        """Take an event that may repeat another; the finer finding it completes, if any."""
        if step.kind == "tool":
            step.hold(compared_input(payload.get("args")), self._recall.result(payload))
            if (meta and meta.get("polling")) or name in self._ignored:
                step.polling = True
            return self._take_tool_call(step)
        if step.kind == "model":
            got, asked = self._recall.reply(payload)
            step.hold(asked, got)
            self._note_turn(payload, spoke)
            finer = self._take_model_call(step)
            self._ledger.spend(payload)
            return finer
        self._take_state(step)
        return None

    def _take_tool_call(self, step: Step) -> Candidate | None:
        """The finer finding that a call completes, which is the newest step from here on."""
        lone = step.named.lone
        self._append(step)
        self._last_tool = step.number
        self._last_call = step
        self._states_in_a_row = 0
        self._tool_is_new = step.is_new
        if step.is_new and self._replies.kept:
            self._replies.clear()
        self._calls.count(step)
        if not step.recurs:
            return None
        are_enough = self._calls.keep(step, lone)
        may_repeat = (are_enough or step.streak >= self._repetitions) and not step.polling
        return self._calls.repeated(step, self._tape, are_enough=are_enough) if may_repeat else None

    def _note_turn(self, payload: dict[str, Any], spoke: bool) -> None:
        if spoke:
            self._begin_turn()
            self._turn_began = self._number
        elif self._asked_nothing and self._last_tool < self._number and is_cut(payload.get("prompt")):
            # The model had answered in words, and the end of the prompt is not stored: the user probably spoke.
            self._begin_turn()

    def _take_model_call(self, step: Step) -> Candidate | None:
        """The finer finding that an answer completes, which is the newest step from here on."""
        self._asked_nothing = not step.asked.text
        self._append(step)
        self._states_in_a_row = 0
        self._answer_is_new = False
        if step.failed:
            calls = self._replies.failures(step)
            return Candidate("error_retry", [step], calls, step.streak) if len(calls) >= self._repetitions else None
        calls = self._replies.echoes(step)
        if len(calls) >= self._repetitions:
            return Candidate("echo", [step], calls[::-1], step.near)
        self._answer_is_new = len(calls) == 1 and step.recurs and self._replies.can_tell(step, self._longest_block)
        return None

    def _take_state(self, step: Step) -> None:
        self._append(step)
        self._states_in_a_row += 1

    def _begin_turn(self) -> None:
        self._turn += 1
        self._replies.clear()

    def _append(self, step: Step) -> None:
        self._number = step.number = self._number + 1
        step.turn = self._turn
        step.spent = self._ledger.spent
        self._tape.append(step)
