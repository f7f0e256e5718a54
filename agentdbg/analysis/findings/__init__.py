"""
What a run shows besides its events: where it first went wrong, errors nobody looked at, results that were no answers,
a prompt that outgrew its model, where the time went.

`find` reads the events of a run once, in order, and keeps little of them, so it can be given a file's reader. Only what
the log proves is said; few findings that are right are worth more than many. One file each watches for one kind.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.analysis.findings.argument_fit import ArgumentFit
from agentdbg.analysis.findings.evidence import Finding, RunEnd, Severity, severity_rank
from agentdbg.analysis.findings.failures import DiedInCall, Failures, FirstFailure, SwallowedErrors
from agentdbg.analysis.findings.poor_answers import CutAnswers, EndingsWithoutAnswer, UnusableResults
from agentdbg.analysis.findings.spending import ContextGrowth, LoopWarnings, TimeSpent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.analysis.verdict import Verdict
    from agentdbg.analysis.wording import Line
    from agentdbg.events import Event, RunMeta

__all__ = ["Finding", "Severity", "add_to_verdict", "find", "headline_lines", "is_said_by"]

_MOST_VERDICT_LINES = 3
_SAID_BY_VERDICT = frozenset(
    {"first_failure", "swallowed_error", "loop", "died_in_call", "no_answer", "error_as_answer"}
)


class Watcher(Protocol):
    """Looks at the events of the types it names, in order, and says at the end what it found."""

    types: frozenset[str]

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        """Take one event; numbers count from 1 in file order."""

    def finish(self, end: RunEnd) -> list[Finding]:
        """What was found."""


def find(events: Iterable[Event], run: RunMeta | None = None) -> list[Finding]:
    """
    Everything found in a run, the worst first, then in the order it happened.

    `run` tells how the run stands (still running, or ended by a process that went away); without it the events decide.
    """
    failures = Failures()
    watchers: list[Watcher] = [
        FirstFailure(failures),
        SwallowedErrors(failures),
        UnusableResults(),
        ArgumentFit(),
        ContextGrowth(),
        CutAnswers(),
        LoopWarnings(),
        DiedInCall(),
        EndingsWithoutAnswer(),
        TimeSpent(),
    ]
    interested: dict[str, list[Watcher]] = defaultdict(list)
    for watcher in watchers:
        for event_type in watcher.types:
            interested[event_type].append(watcher)
    end = RunEnd(run)
    number = 0
    for number, event in enumerate(events, 1):
        payload: Any = event.get("payload")
        if not isinstance(payload, dict):
            continue
        event_type = event["event_type"]
        end.observe(number, event, payload)
        failures.observe(event, payload)
        for watcher in interested.get(event_type, ()):
            watcher.observe(number, event, payload)
    end.total = number
    found = [finding for watcher in watchers for finding in watcher.finish(end)]
    return sorted(found, key=lambda finding: (-severity_rank(finding.severity), finding.number or 0))


def headline_lines(findings: Sequence[Finding], most: int = 2) -> list[Line]:
    """The sentences a verdict should add to its own: warnings and worse that it does not already speak of."""
    severe = [finding for finding in findings if finding.severity != "info" and finding.kind not in _SAID_BY_VERDICT]
    return [finding.line for finding in severe[:most]]


def add_to_verdict(verdict: Verdict, lines: Sequence[Line]) -> None:
    """Let a verdict say what was found besides its own lines, as far as there is room; doubt turns its edge amber."""
    room = _MOST_VERDICT_LINES - len(verdict["lines"])
    if room > 0 and lines:
        verdict["lines"] = [*verdict["lines"], *lines[:room]]
        if verdict["tone"] == "ok":
            verdict["tone"] = "warn"


def is_said_by(lines: Sequence[Line], finding: Finding) -> bool:
    """Whether a verdict's lines say what the finding says: about the same event, in the verdict's own words."""
    return finding.kind in _SAID_BY_VERDICT and finding.number in {line["n"] for line in lines}
