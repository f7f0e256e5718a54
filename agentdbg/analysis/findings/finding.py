"""
One thing found in a run: its kind, how bad it is, a sentence for a person, and the events and numbers that prove it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agentdbg.analysis.sentences import text_of

if TYPE_CHECKING:
    from agentdbg.analysis.sentences import Line

__all__ = ["Evidence", "Finding", "Severity", "severity_rank"]

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
