"""
One run of a program that is replayed, and the recorded run that answers it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.control.gate import Gate
from agentdbg.control.matching import Matcher
from agentdbg.control.recorded_answers import waits_at_its_end
from agentdbg.control.telemetry import is_telemetry, may_be_telemetry

if TYPE_CHECKING:
    from agentdbg.control.recorded import RecordedCall
    from agentdbg.control.tapes import RecordedRun
    from agentdbg.recorder.deciders import Answer

__all__ = ["OpenCall", "ReplayedRun"]

_PATIENCE_S = 2.0


class ReplayedRun:
    """One run of the program, and the recorded run that answers it."""

    def __init__(self, recorded: RecordedRun, *, any_lane: bool) -> None:
        self.recorded = recorded
        self.run_id = ""
        recording = recorded.recording
        self.matcher = Matcher(recording, any_lane=any_lane)
        self.gate = Gate(recording.turns(), self._patience)
        self.counts = dict.fromkeys(("served", "edited", "mock", "live", "run_again", "observed"), 0)
        self.changed_live = 0
        """How many calls were made with another input than the program gave them."""
        self.hidden: set[int] = set()
        """Turns of the calls that nobody makes: inside a served one, or a framework's own reports."""
        self._pass_over_telemetry()

    def _pass_over_telemetry(self) -> None:
        for call in self.recorded.recording.calls:
            if call.kind == "http" and may_be_telemetry(call.name) and is_telemetry(self.recorded.input_of(call)):
                self.hidden.add(call.turn)
        self.gate.end(self.hidden)

    def _patience(self, turn: int) -> float:
        """Longer where the lane that has the turn worked for long before its call."""
        calls = self.recorded.recording.calls
        if not 0 <= turn < len(calls):
            return _PATIENCE_S
        return _PATIENCE_S + 2 * self.recorded.recording.computed_ms(calls[turn]) / 1000

    @property
    def total(self) -> int:
        """How many calls of the recording are to be made, those among them that a framework only reports."""
        recording, made = self.recorded.recording, self.matcher.made

        def is_due(call: RecordedCall) -> bool:
            if call.turn in self.hidden and call.turn not in made:
                return False
            if call.is_only_observed or self.recorded.counted[call.turn]:
                return True
            return call.turn in made and not call.is_unasked and not recording.is_answered_inside(call)

        return sum(map(is_due, recording.calls))

    @property
    def numbered(self) -> int:
        """How many calls people count, whatever the program has made so far."""
        return sum(self.recorded.counted)


class OpenCall:
    """A call between its announcement and its end."""

    __slots__ = ("answer", "call", "is_late", "is_run_again", "run")

    def __init__(self, run: ReplayedRun, call: RecordedCall, answer: Answer | None) -> None:
        self.run = run
        self.call = call
        self.answer = answer
        self.is_run_again = False
        self.is_late = answer is not None and waits_at_its_end(call.tape_call)
