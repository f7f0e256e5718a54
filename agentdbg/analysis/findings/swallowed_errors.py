"""
The same error again and again, while the run goes on as if nothing were wrong.

Three times the same words from the same call is no bad luck any more. Ids and clocks in the words do not count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings.finding import Evidence, Finding
from agentdbg.analysis.sentences import code, line, quote

if TYPE_CHECKING:
    from agentdbg.analysis.errors import Failure
    from agentdbg.analysis.findings.failures import Failures
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
    """Groups failed calls and spans by name and error."""

    types = frozenset({"LLM_CALL", "TOOL_CALL", "STATE_UPDATE"})

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._groups: dict[tuple[str, str], tuple[Failure, Evidence]] = {}

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:  # noqa: ARG002
        failure = self._failures.current
        if failure is None:
            return
        key = (event["name"], _VOLATILE.sub("…", failure.text))
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= _MOST_GROUPS:
                return
            group = self._groups[key] = (failure, Evidence())
        group[1].add(number, event["event_id"])

    def finish(self, end: RunEnd) -> list[Finding]:
        found = []
        ending = end.error if end.run_failed else None
        for (name, _), (failure, evidence) in self._groups.items():
            if evidence.count >= _OFTEN:
                is_end = ending is not None and failure.is_part_of(ending)
                went_on = "; the last time it ended the run: " if is_end else ", and the run went on each time: "
                said = line(
                    evidence.numbers[0],
                    code(name),
                    f" failed {evidence.count:,} times with the same error{went_on}",
                    quote(failure.text),
                )
                found.append(Finding("swallowed_error", "warning", said, evidence, {"error": failure.text}))
        return found
