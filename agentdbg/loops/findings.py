"""
What the loop detector says: one finding, and whether a loop is going on right now.

A finding is plain data. It knows how to write itself as the payload of a LOOP_WARNING and nothing else.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

__all__ = ["ActiveLoop", "Kind", "LoopFinding", "Severity", "severity_rank"]

Severity = Literal["info", "warning", "critical"]
Kind = Literal["repetition", "cycle", "error_retry", "stall", "echo"]

_RANKS: dict[str, int] = {"info": 1, "warning": 2, "critical": 3}


def severity_rank(severity: str) -> int:
    """A number that grows with how bad a finding is."""
    return _RANKS[severity]


class LoopFinding(NamedTuple):
    """One repetition worth telling a person about, as it stood when it was found."""

    pattern: str
    repetitions: int
    window_size: int
    evidence_event_ids: list[str]
    severity: Severity
    kind: Kind
    explanation: str
    evidence: list[dict[str, Any]]
    first_event_id: str
    cost: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """The payload of the LOOP_WARNING that reports this finding."""
        return {
            "pattern": self.pattern,
            "repetitions": self.repetitions,
            "window_size": self.window_size,
            "evidence_event_ids": list(self.evidence_event_ids),
            "severity": self.severity,
            "kind": self.kind,
            "explanation": self.explanation,
            "evidence": [dict(example) for example in self.evidence],
            "first_event_id": self.first_event_id,
            "spent": dict(self.cost),
        }


class ActiveLoop(NamedTuple):
    """A warning or critical loop that the newest event belongs to, and how often it has gone round by now."""

    finding: LoopFinding
    repetitions: int
