"""
Watch a run go by and say when it repeats itself.

`LoopDetector` takes one stored event after the other and gives at most one finding for each. The finding is decided
from the events alone, so a log read again gives what was given when it was written.

A finding that could turn out to be part of a block still forming waits until the block is complete, and the finding
obsolete, or broken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.events.facts import is_span
from agentdbg.loops.ledger import Ledger, rank_of
from agentdbg.loops.loop_rules import RULES, repetition
from agentdbg.loops.repeated_text import has_period
from agentdbg.loops.step_contents import read_answer, read_call
from agentdbg.loops.step_window import MODEL, STATE, TOOL, Step, Window
from agentdbg.loops.user_turns import is_cut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.events import Event
    from agentdbg.loops.ledger import ActiveLoop, LoopFinding
    from agentdbg.loops.loop_rules import Loop

__all__ = ["LoopDetector"]

_COUNTED = frozenset({TOOL, MODEL, STATE})
_MAX_WINDOW = 10_000
_LONGEST_GUESS = 12
"""A block that has not begun to repeat is waited for only up to this length."""


class _Held(NamedTuple):
    """A finding that waits, and the block length with which its steps could still become an exact repetition."""

    loop: Loop
    finding: LoopFinding
    period: int


class LoopDetector:
    """Finds the loops of one run, online."""

    def __init__(self, window: int = 12, repetitions: int = 3, ignore_tools: Iterable[str] = ()) -> None:
        size = max(4, min(int(window), _MAX_WINDOW))
        self._window = Window(size, max(2, int(repetitions)))
        self._ledger = Ledger(size)
        self._ignored = frozenset(f"{TOOL}:{name}" for name in ignore_tools)
        self._held: _Held | None = None
        self._is_severe = self._is_known = False
        """Whether the block that goes round is a warning or worse, and whether it was told by its own name."""
        self._told_names = 0
        """The length of a block of names that repeats and was told; 0 for none."""

    @property
    def active(self) -> ActiveLoop | None:
        """The warning or critical loop that the newest event belongs to, with its repetitions so far."""
        return self._ledger.active

    def observe(self, event: Event) -> LoopFinding | None:
        """Take the next event of the run; the finding it completes, if any."""
        parts = (event["event_type"], event["event_id"], event["ts"], event["name"], event["payload"])
        return self.take(*parts, event.get("meta") or {})

    def take(
        self, event_type: str, event_id: str, ts: str, name: str, payload: dict[str, Any], meta: dict[str, Any]
    ) -> LoopFinding | None:
        """Like `observe`, for an event whose dict does not exist yet."""
        if event_type not in _COUNTED or is_span(event_type, meta):
            return None
        step = Step(event_type, name, event_id, ts, self._ledger.spent)
        if event_type == TOOL:
            step.asked, step.got = read_call(payload)
            step.polling = bool(meta.get("polling")) or step.signature in self._ignored
        elif event_type == MODEL:
            step.asked, step.got = read_answer(payload)
            self._listen(step, payload.get("prompt"))
            self._ledger.spend(payload)
        self._ledger.active = None
        self._window.append(step)
        return self._judge()

    def finish(self) -> LoopFinding | None:
        """What was still held back when the run ended; to be asked for once, before RUN_END."""
        held, self._held = self._held, None
        return None if held is None else self._ledger.tell(held.loop, held.finding)

    def _listen(self, step: Step, prompt: Any) -> None:
        """Find out what a model was asked, and whether a person spoke."""
        window, call = self._window, self._window.last_call
        heard = window.turns.hear(prompt, step.got, None if call is None else call.got)
        step.question = heard.question
        if heard.spoken:
            window.begin_turn()
        if is_cut(prompt):
            step.question = -window.number - 1  # nobody knows whether it was asked before
            if window.has_answered and (call is None or call.number < window.number):
                # The model had answered in words, and the end of the prompt is not stored: the user probably spoke.
                window.turns.begin(window.number + 1)

    def _judge(self) -> LoopFinding | None:
        window, ledger = self._window, self._ledger
        if window.goes_on and self._is_severe:
            ledger.go_on(window.number, window.rounds)
            return None
        if window.goes_on and window.polls and self._is_known:
            return None
        loop = self._apply_rules()
        if window.period and loop is not None:
            self._held = None
            finding = None if ledger.is_told(loop) else ledger.tell(loop, ledger.finding(loop, window.newest))
            self._is_severe, self._is_known = rank_of(loop) > 1, ledger.knows(loop)
            return finding
        released = self._release()
        if released is not None or loop is None or ledger.is_told(loop):
            return released
        return self._tell_or_hold(loop)

    def _apply_rules(self) -> Loop | None:
        """What the first rule finds that finds something."""
        window, told = self._window, self._told_names
        for rule in RULES:
            if rule is repetition and told and not window.period and window.names[-1] == window.names[-1 - told]:
                return None  # names that were told to repeat only go on
            loop = rule(window)
            if loop is not None:
                is_known = rule is repetition and not window.period and self._ledger.knows(loop)
                self._told_names = loop.period if is_known else 0
                return loop
        self._told_names = 0
        return None

    def _tell_or_hold(self, loop: Loop) -> LoopFinding | None:
        finding = self._ledger.finding(loop, self._window.newest)
        period = self._forming(loop, 1)
        if not period:
            return self._ledger.tell(loop, finding)
        if self._held is None or rank_of(self._held.loop) < rank_of(loop):
            self._held = _Held(loop, finding, period)
        return None

    def _release(self) -> LoopFinding | None:
        """The finding that waited, if its steps can no longer become a block."""
        held = self._held
        if held is None:
            return None
        period = self._forming(held.loop, held.period)
        self._held = held._replace(period=period) if period else None
        if period or self._ledger.is_told(held.loop):
            return None
        return self._ledger.tell(held.loop, held.finding)

    def _forming(self, loop: Loop, shortest: int) -> int:
        """
        The length of a block that all steps of the loop could belong to, going by what followed; 0 for none.

        Once a length is ruled out it stays ruled out, so the search goes on from the last answer.
        """
        window, begun = self._window, loop.steps[0].number
        length = window.number - begun + 1
        if length > window.size or begun < window.turns.spoken or _is_settled(loop):
            return 0
        has_call = window.last_call is not None and window.last_call.number >= begun
        span = (window.exact if has_call else window.answers())[-length:]
        longest = window.size // window.wanted
        for period in range(shortest, min(longest, length - 1) + 1):
            if has_period(span, period):
                return period
        return length if length <= min(longest, _LONGEST_GUESS) else 0


def _is_settled(loop: Loop) -> bool:
    """Whether a block would be told as the same: of states alone, or one failing call with only models between."""
    if all(step.event_type == STATE for step in loop.steps):
        return True
    between = loop.steps[-1].call_number - loop.steps[0].call_number
    return loop.kind == "error_retry" and between < len(loop.steps)
