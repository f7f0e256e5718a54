"""
Answers that ended at the model's limit, in the middle of what they were saying.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings.finding import Evidence, Finding
from agentdbg.analysis.sentences import code, line

if TYPE_CHECKING:
    from agentdbg.analysis.findings.watched_run import RunEnd
    from agentdbg.events import Event

__all__ = ["CutAnswers"]

_CUT = ("length", "max_tokens", "max_output_tokens", "model_length", "MAX_TOKENS")


class CutAnswers:
    """Counts the model calls whose answer was cut off."""

    types = frozenset({"LLM_CALL"})

    def __init__(self) -> None:
        self._cut: dict[str, Evidence] = {}

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        if payload.get("stop_reason") in _CUT:
            self._cut.setdefault(event["name"], Evidence()).add(number, event["event_id"])

    def finish(self, end: RunEnd) -> list[Finding]:  # noqa: ARG002
        found = []
        for name, evidence in self._cut.items():
            number = evidence.numbers[0]
            often = "" if evidence.count == 1 else f", the first of {evidence.count:,}"
            said = line(number, "An answer of ", code(name), f" was cut off at the limit of its length{often}.")
            found.append(Finding("answer_cut", "warning", said, evidence))
        return found
