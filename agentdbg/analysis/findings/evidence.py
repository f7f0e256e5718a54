"""
One thing found in a run: its kind, how bad it is, a sentence for a person, and the events and numbers that prove it.

Beside it, how the run stands when all its events have been read: ended well, failed, went away, or still running.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agentdbg.analysis.call_results import Failure, failure_of
from agentdbg.analysis.wording import text_of
from agentdbg.events.facts import call_failed, error_of

if TYPE_CHECKING:
    from agentdbg.analysis.wording import Line
    from agentdbg.events import Event, RunMeta

__all__ = ["Evidence", "Finding", "RunEnd", "Severity", "severity_rank"]

Severity = Literal["info", "warning", "critical"]

_RANKS = {"info": 1, "warning": 2, "critical": 3}
_MOST_EVENTS = 20


def severity_rank(severity: Severity) -> int:
    """A number that grows with how bad a finding is."""
    return _RANKS[severity]


@dataclass
class Evidence:
    """The events that prove a finding: the first few, and how many there are in all."""

    numbers: list[int] = field(default_factory=list)
    event_ids: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, number: int, event_id: str) -> None:
        self.count += 1
        if len(self.numbers) < _MOST_EVENTS:
            self.numbers.append(number)
            self.event_ids.append(event_id)


@dataclass(frozen=True)
class Finding:
    """What was found. `line` is the sentence with its parts styled and the event it speaks of."""

    kind: str
    severity: Severity
    line: Line
    evidence: Evidence
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        return text_of(self.line)

    @property
    def number(self) -> int | None:
        """The event a reader should look at first."""
        return self.line["n"]

    def as_json(self) -> dict[str, Any]:
        """The finding as plain JSON."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "sentence": self.sentence,
            "event": self.number,
            "evidence": {
                "event_ids": list(self.evidence.event_ids),
                "numbers": list(self.evidence.numbers),
                "count": self.evidence.count,
                **self.figures,
            },
        }


class RunEnd:
    """What the watchers need to know of the end."""

    def __init__(self, run: RunMeta | None) -> None:
        self.is_running = run is not None and run.get("status") == "running"
        self.duration_ms = run.get("duration_ms") if run is not None else None
        self.total = 0
        self.number: int | None = None
        """RUN_END, if there is one."""
        self.last: tuple[int, Event] | None = None
        self.fatal: tuple[int, Event, Failure] | None = None
        """The recorded error that ended the run."""
        self.failure: Failure | None = None
        self._run_failed = run is not None and run.get("status") == "error"

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        event_type = event["event_type"]
        if event_type == "RUN_END":
            self.number = number
            self._run_failed = self._run_failed or call_failed(payload)
            if error_of(payload) is not None:
                self.failure = failure_of(payload)
            if self.duration_ms is None and isinstance(event.get("duration_ms"), int):
                self.duration_ms = event["duration_ms"]
        elif event_type == "ERROR" and (payload.get("fatal") or payload.get("guardrail")):
            self.fatal = (number, event, failure_of(payload))
        else:
            self.last = (number, event)

    @property
    def run_failed(self) -> bool:
        """Whether the run ended as failed."""
        return not self.is_running and (self._run_failed or self.fatal is not None or self.went_away)

    @property
    def went_away(self) -> bool:
        """Whether the process ended without ending the run."""
        return not self.is_running and self.number is None and self.total > 0

    @property
    def error(self) -> Failure | None:
        """What ended the run."""
        return self.fatal[2] if self.fatal is not None else self.failure
