"""
Recorded runs, opened to be replayed: the tape, its calls, and how the run ended.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.control.chance import Moment
from agentdbg.control.recorded import RecordedCall, Recording, counted_calls
from agentdbg.tape.decoder import CannotRebuild, decode_value
from agentdbg.tape.tape_reader import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentdbg.control.inputs import LiveInputs
    from agentdbg.tape.tape_reader import TapeReader

__all__ = ["MISSING", "CannotRebuild", "RecordedRun", "shown_input"]

_STOPS = ("AgentDbgGuardrailExceeded", "AgentDbgLoopAbort")
_DATED = re.compile(r" - \d{4}-\d{2}-\d{2} \d{2}:\d{2}$")


class RecordedRun:
    """One run that is replayed."""

    def __init__(self, tape: TapeReader, meta: Mapping[str, Any], end: Mapping[str, Any] | None) -> None:
        self.tape = tape
        self.run_id: str = str(meta.get("run_id") or tape.head.get("run_id") or "")
        self.name = str(meta.get("run_name") or "")
        self.meta = meta
        self.end = end
        """The payload of its RUN_END; None when its process was killed."""
        self.counted, numbers = counted_calls(tape.calls)
        """By turn: whether people count it."""
        self.recording = Recording(map(_recorded, range(len(tape.calls)), numbers, tape.calls))

    @property
    def undated_name(self) -> str:
        """Its name without the time that a name that nobody gave ends in."""
        return undated(self.name)

    @property
    def why_it_stops(self) -> str | None:
        """Why it may end before the program does: a limit stopped it, or (no words) it was killed; else None."""
        if self.end is None:
            return ""
        error = self.end.get("error")
        if not isinstance(error, dict) or error.get("error_type") not in _STOPS:
            return None
        return f"a limit had stopped the run ({error.get('message')})"

    @property
    def seconds(self) -> float:
        """How long it took."""
        return float(self.meta.get("duration_ms") or 0) / 1000

    def moment_of(self, call: RecordedCall) -> Moment | None:
        """When a call was made; None when the tape does not say when it began."""
        started = self.tape.head.get("started")
        if not isinstance(started, (int, float)):
            return None
        owner = self.meta.get("owner")
        process = owner.get("pid") if isinstance(owner, dict) else None
        return Moment(started, started + call.began_ms / 1000, self.recording.computed_ms(call) / 1000, process)

    def input_of(self, call: RecordedCall) -> Any:
        """The input as plain JSON, redacted."""
        return self.tape.value(call.tape_call.input)

    def value(self, reference: Any, inputs: LiveInputs) -> Any:
        """A recorded value as Python has it, with the live secrets in it. Raises CannotRebuild."""
        return decode_value(inputs.filled(self.tape.value(reference)))


def undated(name: str) -> str:
    """A run's name without the time at its end."""
    return _DATED.sub("", name)


def _recorded(turn: int, number: int, call: Any) -> RecordedCall:
    return RecordedCall(
        turn=turn,
        number=number,
        event_id=call.event_id or (call.kind == "tool" and call.stands_behind) or "",
        kind=call.kind,
        name=call.name,
        lane=call.lane,
        place=call.place,
        digest=call.first_digest or "",
        input_hash=call.input_hash,
        is_servable=call.servable,
        is_late=call.late,
        began_ms=call.started_ms,
        ended_ms=call.ended_ms,
        source=call.source,
        begun=call.begun,
        had_begun=call.had_begun,
        round=call.round,
        tape_call=call,
    )


def shown_input(kind: str, given: Any) -> dict[str, Any]:
    """An input under the paths that people use: `args.query`, `messages[0].content`, `model`."""
    if kind == "http" and isinstance(given, dict):
        body = given.get("body")
        rest = {key: value for key, value in given.items() if key != "body"}
        return {**rest, **body} if isinstance(body, dict) else given
    if kind == "llm":
        if isinstance(given, dict):
            return given
        return {"messages" if isinstance(given, list) else "prompt": given}
    return {"args": given}
