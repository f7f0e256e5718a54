"""
The same error again and again, while the run goes on as if nothing were wrong.

Three times the same words from the same call is no bad luck any more. Ids and clocks in the words do not count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.errors import Failure, failure_of
from agentdbg.analysis.findings.finding import Evidence, Finding
from agentdbg.analysis.sentences import code, line, quote
from agentdbg.events.facts import call_failed

if TYPE_CHECKING:
    from agentdbg.analysis.findings.watched_run import RunEnd
    from agentdbg.events import Event

__all__ = ["SwallowedErrors"]

_OFTEN = 3
_MOST_GROUPS = 1_000
_VOLATILE = re.compile(
    r"\b0x[0-9a-fA-F]{6,16}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b(?=[a-f]*[0-9])[0-9a-f]{16,64}\b|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\dZ]*"
)


class SwallowedErrors:
    """Groups failed calls by name and error."""

    types = frozenset({"LLM_CALL", "TOOL_CALL"})

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], tuple[Failure, Evidence]] = {}

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        if not call_failed(payload):
            return
        failure = failure_of(payload)
        key = (event["name"], _VOLATILE.sub("…", failure.text))
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                return
            group = self._groups[key] = (failure, Evidence())
        group[1].add(number, event["event_id"])

    def finish(self, end: RunEnd) -> list[Finding]:  # noqa: ARG002 -- every watcher is told the end
        found = []
        for (name, _), (failure, evidence) in self._groups.items():
            if evidence.count >= _OFTEN:
                said = line(
                    evidence.numbers[0],
                    code(name),
                    f" failed {evidence.count:,} times with the same error, and the run went on each time: ",
                    quote(failure.text),
                )
                found.append(Finding("swallowed_error", "warning", said, evidence, {"error": failure.text}))
        return found
