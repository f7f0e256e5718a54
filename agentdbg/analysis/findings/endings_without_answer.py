"""
Runs that ended well by their own account, and have no answer to show for it, or an error in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings.finding import Evidence, Finding
from agentdbg.analysis.last_word import last_word

if TYPE_CHECKING:
    from agentdbg.analysis.findings.watched_run import RunEnd
    from agentdbg.analysis.last_word import Numbered
    from agentdbg.events import Event

__all__ = ["EndingsWithoutAnswer"]


class EndingsWithoutAnswer:
    """Remembers the last calls of the run."""

    types = frozenset({"LLM_CALL", "TOOL_CALL", "RUN_END"})

    def __init__(self) -> None:
        self._model: Numbered | None = None
        self._last: Numbered | None = None
        self._end: Numbered | None = None
        self._uses_tools = False

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:  # noqa: ARG002
        if event["event_type"] == "RUN_END":
            self._end = (number, event)
            return
        self._last = (number, event)
        if event["event_type"] == "LLM_CALL":
            self._model = self._last
        else:
            self._uses_tools = True

    def finish(self, end: RunEnd) -> list[Finding]:
        if self._end is None or end.is_running or end.run_failed:
            return []
        found = last_word(self._end, self._model, self._last, uses_tools=self._uses_tools)
        if found is None or found.severity is None:
            return []
        evidence = Evidence()
        for place in (self._end, self._last):
            if place is not None and place[0] == found.line["n"]:
                evidence.add(place[0], place[1]["event_id"])
        return [Finding(found.kind, found.severity, found.line, evidence)]
