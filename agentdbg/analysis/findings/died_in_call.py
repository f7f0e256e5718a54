"""
The call a process was in when it ended without closing its run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings.finding import Evidence, Finding
from agentdbg.analysis.sentences import code, line, quote
from agentdbg.analysis.values import argument_text
from agentdbg.analysis.wording import clock_time, cut, one_line

if TYPE_CHECKING:
    from agentdbg.analysis.findings.watched_run import RunEnd
    from agentdbg.events import Event

__all__ = ["DiedInCall"]


class DiedInCall:
    """Keeps the calls that have begun and not ended."""

    types = frozenset({"CALL_START", "LLM_CALL", "TOOL_CALL"})

    def __init__(self) -> None:
        self._open: dict[str, tuple[int, Event]] = {}

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        if event["event_type"] == "CALL_START":
            call_id = payload.get("call_id")
            if isinstance(call_id, str):
                self._open[call_id] = (number, event)
        else:
            self._open.pop(event["event_id"], None)

    def finish(self, end: RunEnd) -> list[Finding]:
        if not end.went_away:
            return []
        evidence = Evidence()
        if self._open:
            *outer, (number, event) = self._open.values()
            evidence.add(number, event["event_id"])
            for before, start in outer:
                evidence.add(before, start["event_id"])
            name = code(event["payload"].get("name") or event["name"])
            given = _shown(event["payload"].get("input"))
            said = line(
                number,
                "The process ended inside ",
                name,
                f", which had begun at {clock_time(event.get('ts'))}",
                *((" with ", quote(given)) if given else ()),
                ".",
            )
        elif end.last is not None:
            number, event = end.last
            evidence.add(number, event["event_id"])
            said = line(
                number,
                "The process ended without closing the run. The last thing it recorded was ",
                code(event["name"]),
                f", at {clock_time(event.get('ts'))}.",
            )
        else:
            return []
        return [Finding("died_in_call", "critical", said, evidence, {"open_calls": len(self._open)})]


def _shown(given: Any) -> str:
    if isinstance(given, dict):
        return cut(argument_text(given, 120), 120)
    return one_line(given, 120) if isinstance(given, str) else ""
