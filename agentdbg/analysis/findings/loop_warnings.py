"""
Loops: what the recorder found while the run went on, or, for a run that nobody judged, what the detector finds now.

The detector decides from the events alone, so both say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings.finding import Evidence, Finding, severity_rank
from agentdbg.analysis.sentences import line
from agentdbg.analysis.wording import one_line
from agentdbg.loops import LoopDetector

if TYPE_CHECKING:
    from agentdbg.analysis.findings.finding import Severity
    from agentdbg.analysis.findings.watched_run import RunEnd
    from agentdbg.events import Event

__all__ = ["LoopWarnings"]


class LoopWarnings:
    """Collects the findings of warning and up."""

    types = frozenset({"RUN_START", "LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "LOOP_WARNING"})

    def __init__(self) -> None:
        self._detector: LoopDetector | None = LoopDetector()
        self._told: list[tuple[int, dict[str, Any]]] = []
        self._number = 0

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        self._number = number
        if event["event_type"] == "RUN_START":
            if payload.get("agentdbg_version"):
                self._detector = None  # a run of ours was judged while it was written
        elif event["event_type"] == "LOOP_WARNING":
            self._detector = None
            self._told.append((number, payload))
        elif self._detector is not None:
            finding = self._detector.observe(event)
            if finding is not None:
                self._told.append((number, finding.payload()))

    def finish(self, end: RunEnd) -> list[Finding]:  # noqa: ARG002
        if self._detector is not None and (held := self._detector.finish()) is not None:
            self._told.append((self._number, held.payload()))
        found = [_finding(number, payload) for number, payload in self._told if _severity(payload) != "info"]
        return [finding for finding in found if not any(_outgrew(other, finding) for other in found)]


def _finding(number: int, payload: dict[str, Any]) -> Finding:
    explanation = one_line(str(payload.get("explanation") or payload.get("pattern") or "The run repeats itself."), 300)
    ids = payload.get("evidence_event_ids")
    evidence = Evidence([number], [str(item) for item in ids[:20]] if isinstance(ids, list) else [], 0)
    evidence.count = len(ids) if isinstance(ids, list) else 0
    figures: dict[str, Any] = {
        key: payload[key] for key in ("kind", "pattern", "repetitions", "spent") if payload.get(key) is not None
    }
    return Finding("loop", _severity(payload), line(number, explanation), evidence, figures)


def _outgrew(later: Finding, earlier: Finding) -> bool:
    """Whether a loop turned out to be a worse one: its calls are part of those of a more severe finding."""
    calls = [set(str(finding.figures.get("pattern")).split(" -> ")) for finding in (later, earlier)]
    return severity_rank(later.severity) > severity_rank(earlier.severity) and calls[1] <= calls[0]


def _severity(payload: dict[str, Any]) -> Severity:
    severity = payload.get("severity")
    return severity if severity in ("info", "critical") else "warning"
