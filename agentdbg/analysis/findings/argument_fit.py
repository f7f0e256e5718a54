"""
Calls that do not fit what was declared: arguments a tool's schema does not allow, and tools that were never offered.

The schemas are those the model was given (`tools` of the latest model call). A call that worked all the same is worth
a note; one that failed was probably made wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.findings.finding import Evidence, Finding
from agentdbg.analysis.findings.tool_schemas import declared_tools, misfit
from agentdbg.analysis.sentences import code, line
from agentdbg.analysis.values import parse_embedded
from agentdbg.events.facts import call_failed

if TYPE_CHECKING:
    from agentdbg.analysis.findings.finding import Severity
    from agentdbg.analysis.findings.watched_run import RunEnd
    from agentdbg.events import Event

__all__ = ["ArgumentFit"]

_MOST_GROUPS = 200


class _Misfits:
    """Calls of one tool that are wrong in one way."""

    def __init__(self) -> None:
        self.evidence = Evidence()
        self.failed = 0


class ArgumentFit:
    """Holds calls against the schemas of their tools."""

    types = frozenset({"LLM_CALL", "TOOL_CALL"})

    def __init__(self) -> None:
        self._given: Any = None
        self._tools: dict[str, Any] = {}
        self._is_whole = False
        self._groups: dict[tuple[str, str], _Misfits] = {}

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        if event["event_type"] == "TOOL_CALL":
            if event["name"] in self._tools:
                problem = misfit(parse_embedded(payload.get("args")), self._tools[event["name"]])
                if problem is not None:
                    self._note(number, event, event["name"], problem, failed_call=call_failed(payload))
            return
        given = payload.get("tools")
        if not given:
            return
        if given != self._given:
            self._given = given
            self._tools, self._is_whole = declared_tools(given)
        if self._is_whole and self._tools and not call_failed(payload):
            for name in _asked_for(payload.get("response")):
                if name not in self._tools:
                    self._note(number, event, name, "", failed_call=True)

    def _note(self, number: int, event: Event, tool: str, problem: str, *, failed_call: bool) -> None:
        group = self._groups.get((tool, problem))
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                return
            group = self._groups[tool, problem] = _Misfits()
        group.evidence.add(number, event["event_id"])
        group.failed += failed_call

    def finish(self, end: RunEnd) -> list[Finding]:  # noqa: ARG002
        found = []
        for (tool, problem), group in self._groups.items():
            count, number = group.evidence.count, group.evidence.numbers[0]
            often = "" if count == 1 else f" {count:,} times"
            if not problem:
                said = line(number, "The model asked for ", code(tool), f"{often}, a tool it was not offered.")
                found.append(Finding("unknown_tool", "warning", said, group.evidence, {"tool": tool}))
                continue
            outcome = f", and failed {group.failed:,} times" if group.failed else ""
            if group.failed == count:
                outcome = ", and failed" if count == 1 else ", and failed each time"
            said = line(number, code(tool), f" was called{often} with arguments that do not fit{outcome}: {problem}.")
            severity: Severity = "warning" if group.failed else "info"
            figures = {"tool": tool, "problem": problem, "failed": group.failed}
            found.append(Finding("arguments_misfit", severity, said, group.evidence, figures))
        return found


def _asked_for(response: Any) -> list[str]:
    """The names of the tools an answer asks for."""
    calls = _part(response, "tool_calls")
    if isinstance(calls, list):  # the usual form, read without the search for all the others
        named = [_part(_part(call, "function"), "name") for call in calls]
        if all(isinstance(name, str) for name in named):
            return named
    return [call.name for call in conversation.answer(response).calls]


def _part(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
