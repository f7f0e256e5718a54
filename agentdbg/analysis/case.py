"""
What a verdict draws on: the counted run, and the few events that have to be opened, each once and only when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.columns import CALL_KINDS, SPAN
from agentdbg.analysis.errors import Failure, failure_of
from agentdbg.analysis.last_word import LastWord, last_word
from agentdbg.analysis.loop_cost import LoopCost, measure_loop
from agentdbg.analysis.stats import FailedCalls, RecordedError, Tally, payload_of, run_duration_ms
from agentdbg.events.facts import error_of

if TYPE_CHECKING:
    from agentdbg.events import Event, RunMeta

__all__ = ["MANY", "Case"]

MANY = 3
"""As many equal failures are trouble, not bad luck."""


@dataclass
class Case:
    """What the sentences draw on, each part looked up once and only when needed."""

    tally: Tally
    run: RunMeta
    now_ms: int | None

    @cached_property
    def groups(self) -> list[FailedCalls]:
        """What failed, the most frequent first; not the spans that only passed on what ended the run."""
        ending = self.ending if self.run.get("status") == "error" else None
        found = self.tally.groups()
        if ending is None:
            return found
        return [group for group in found if group.kind != SPAN or not ending.is_part_of(group.failure)]

    @cached_property
    def run_ms(self) -> int | None:
        """How long the run took; None where that is not known, as in a trace of a tool that records no times."""
        imported = (self.run.get("metadata") or {}).get("imported_from")
        if isinstance(imported, dict) and imported.get("times"):
            return None
        return run_duration_ms(self.tally, self.run, self.now_ms)

    @cached_property
    def end_payload(self) -> dict[str, Any]:
        return payload_of(self.tally.columns.event(self.tally.end)) if self.tally.end is not None else {}

    @cached_property
    def fatal(self) -> RecordedError | None:
        """The recorded error that ended the run."""
        errors = self.tally.errors
        return next((error for error in reversed(errors) if error.payload.get("fatal") or error.guardrail), None) or (
            errors[-1] if errors and self.run.get("status") == "error" else None
        )

    @property
    def died(self) -> bool:
        """Whether the process went away without ending the run."""
        return self.tally.end is None and (bool(self.run.get("status_reason")) or self.tally.columns.complete)

    @cached_property
    def ending(self) -> Failure | None:
        """The error that ended the run, from its ERROR event or from its end."""
        if self.fatal is not None:
            return self.fatal.failure
        return failure_of(self.end_payload) if error_of(self.end_payload) is not None else None

    @cached_property
    def last_word(self) -> LastWord | None:
        """What the run ended with instead of an answer."""
        tally = self.tally
        places = (tally.end, tally.last_llm, tally.last_call)
        end, model, last = (None if number is None else (number, tally.columns.event(number)) for number in places)
        return last_word(end, model, last, uses_tools=bool(tally.tool_calls))

    @property
    def is_live(self) -> bool:
        return self.run.get("status") == "running"

    @cached_property
    def loop(self) -> LoopCost | None:
        """The worst finding of warning and up, the first of its severity."""
        severity = self.tally.columns.severity
        worst = max(self.tally.findings, key=lambda number: (severity[number - 1], -number), default=None)
        return None if worst is None else measure_loop(self.tally.columns, worst)

    @cached_property
    def open_call(self) -> tuple[int, Event] | None:
        """The call the run is in, or was in when its process went away: the one that began last."""
        for number in reversed(self.tally.open_calls):
            return number, self.tally.columns.event(number)
        return None

    def last_call_before(self, number: int) -> tuple[int, str] | None:
        kinds = self.tally.columns.kind
        for before in range(number - 1, max(number - 200, 0), -1):
            if kinds[before - 1] in CALL_KINDS:
                return before, str(self.tally.columns.event(before)["name"])
        return None
