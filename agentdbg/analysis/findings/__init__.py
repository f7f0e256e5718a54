"""
What a run shows besides its events: where it first went wrong, errors nobody looked at, results that were no answers,
a prompt that outgrew its model, where the time went.

`find` reads the events of a run once, in order, and keeps little of them, so it can be given a file's reader. Only what
the log proves is said; few findings that are right are worth more than many. One file each watches for one kind.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from agentdbg.analysis.findings.argument_fit import ArgumentFit
from agentdbg.analysis.findings.evidence import Evidence, Finding, RunEnd, Severity, severity_rank
from agentdbg.analysis.findings.failures import DiedInCall, Failures, FirstFailure, SwallowedErrors
from agentdbg.analysis.findings.fruitless_calls import FruitlessCalls
from agentdbg.analysis.findings.poor_answers import CutAnswers, EndingsWithoutAnswer, UnusableResults
from agentdbg.analysis.findings.spending import ContextGrowth, LoopWarnings, TimeSpent
from agentdbg.analysis.known_outcome import outcome_in_metadata, outcome_of_payload, outcome_of_run
from agentdbg.analysis.suspects import WEAK, RunStory, rank
from agentdbg.analysis.verdict import ANSWERED
from agentdbg.analysis.wording import line, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.analysis.beside import Beside
    from agentdbg.analysis.known_outcome import KnownOutcome
    from agentdbg.analysis.report import Summary
    from agentdbg.analysis.suspects import Suspect
    from agentdbg.analysis.verdict import RunState, Verdict
    from agentdbg.analysis.wording import Line
    from agentdbg.events import Event, RunMeta

__all__ = [
    "Examination",
    "Finding",
    "Severity",
    "add_to_summary",
    "add_to_verdict",
    "examine",
    "find",
    "headline_lines",
    "is_said_by",
]

_MOST_VERDICT_LINES = 3
_MOST_IN_HEADLINE = 2
_ABOUT_COSTS = frozenset({"time_spent", "context_growth", "context_dropped"})
_DENIED = frozenset({"contradicts_result", "claims_undone", "wrong_sum"})
"""Suspects whose words the log, or arithmetic, denies, which is a problem in any run."""
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


class Examination(NamedTuple):
    """All that was found in a run: findings, the steps to look at first, and whether it did its task."""

    findings: list[Finding]
    suspects: list[Suspect]
    outcome: KnownOutcome | None
    state: RunState
    beside: Beside | None = None
    """How it differs from a run of the same task that passed, where somebody looked for one."""

    def as_json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "outcome": None if self.outcome is None else self.outcome.as_json(),
            "beside": None if self.beside is None else self.beside.as_json(),
            "suspects": [suspect.as_json() for suspect in self.suspects],
            "findings": [finding.as_json() for finding in self.findings],
        }


def find(events: Iterable[Event], run: RunMeta | None = None) -> list[Finding]:
    """Everything found in a run, the worst first, then in the order it happened; see `examine`."""
    return examine(events, run).findings


def examine(events: Iterable[Event], run: RunMeta | None = None) -> Examination:
    """
    Everything found in a run, the steps to look at first, and its state.

    `run` tells how the run stands (still running, or ended by a process that went away) and how it was marked; without
    it the events decide.
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
        FruitlessCalls(),
        DiedInCall(),
        EndingsWithoutAnswer(),
        TimeSpent(),
    ]
    interested: dict[str, list[Watcher]] = defaultdict(list)
    for watcher in watchers:
        for event_type in watcher.types:
            interested[event_type].append(watcher)
    end, story = RunEnd(run), RunStory()
    outcome = outcome_of_run(run)
    number = 0
    for number, event in enumerate(events, 1):
        payload: Any = event.get("payload")
        if not isinstance(payload, dict):
            continue
        event_type = event["event_type"]
        outcome = _later_outcome(outcome, event, payload)
        end.observe(number, event, payload)
        failures.observe(event, payload)
        story.observe(number, event, payload)
        for watcher in interested.get(event_type, ()):
            watcher.observe(number, event, payload)
    end.total = number
    found = _once([finding for watcher in watchers for finding in watcher.finish(end)])
    found.sort(key=lambda finding: (-severity_rank(finding.severity), finding.number or 0))
    return _concluded(found, story, end, outcome)


def _once(found: list[Finding]) -> list[Finding]:
    """Without a second warning of one loop: the same calls, found another way."""
    loops: list[Finding] = []
    for finding in sorted(found, key=lambda one: -severity_rank(one.severity)):
        if finding.kind == "loop" and not any(_calls_of(finding) <= _calls_of(known) for known in loops):
            loops.append(finding)
    return [finding for finding in found if finding.kind != "loop" or finding in loops]


def _calls_of(loop: Finding) -> set[str]:
    return set(str(loop.figures.get("pattern")).split(" -> "))


def _later_outcome(known: KnownOutcome | None, event: Event, payload: dict[str, Any]) -> KnownOutcome | None:
    """What is known of the outcome after one more event: a mark stays, and the last recorded outcome counts."""
    if known is not None and known.source == "mark":
        return known
    if event["event_type"] == "OUTCOME":
        return outcome_of_payload(payload) or known
    if known is None and event["event_type"] == "RUN_START":
        return outcome_in_metadata(event.get("meta"))
    return known


def _concluded(found: list[Finding], story: RunStory, end: RunEnd, outcome: KnownOutcome | None) -> Examination:
    if end.is_running:
        return Examination(found, [], outcome, "running")
    if outcome is not None and outcome.passed and not end.run_failed:
        return Examination([finding for finding in found if finding.kind in _ABOUT_COSTS], [], outcome, "ok")
    has_failed = end.run_failed or (outcome is not None and not outcome.passed)
    suspects = rank(story, has_failed=has_failed)
    found += [_as_finding(suspect) for suspect in suspects if _tells_more(suspect, found)]
    found.sort(key=lambda finding: -severity_rank(finding.severity))
    if end.run_failed:
        return Examination(found, suspects, outcome, "failed")
    has_problems = has_failed or any(finding.severity != "info" for finding in found)
    return Examination(found, suspects, outcome, "problems" if has_problems else "ok")


def _tells_more(suspect: Suspect, found: Sequence[Finding]) -> bool:
    """Whether a suspect is worth a finding of its own: it has a ground, and no finding points at its events."""
    said = {number for finding in found if finding.kind not in _ABOUT_COSTS for number in finding.evidence.numbers}
    return suspect.kind not in WEAK and said.isdisjoint(suspect.numbers)


def _as_finding(suspect: Suspect) -> Finding:
    evidence = Evidence(list(suspect.numbers), list(suspect.event_ids), len(suspect.numbers))
    severity: Severity = "warning" if suspect.kind in _DENIED else "info"
    return Finding(suspect.kind, severity, suspect.line, evidence, {"suspect": suspect.rank})


def headline_lines(findings: Sequence[Finding], *, saw_nothing: bool = False) -> list[Line]:
    """
    The sentences a verdict should add to its own: warnings and worse that it does not already speak of.

    A verdict that `saw_nothing` wrong by itself speaks of none.
    """
    said: frozenset[str] = frozenset() if saw_nothing else _SAID_BY_VERDICT
    severe = [finding for finding in findings if finding.severity != "info" and finding.kind not in said]
    return [finding.line for finding in severe[:_MOST_IN_HEADLINE]]


def add_to_verdict(verdict: Verdict, examined: Examination) -> None:
    """
    Let a verdict say what was found besides its own lines, as far as there is room, and how the run stands.

    A run that ended by itself is amber only if it has problems: what it recovered from is told, and nothing more. What
    is wrong comes before what the run answered.
    """
    verdict["state"] = examined.state
    beside = _beside_lines(examined)
    if verdict["word"] not in ("Finished", "Finished with problems"):
        verdict["lines"] = [*verdict["lines"][:1], *beside, *verdict["lines"][1:]]
        return
    lines = [] if examined.outcome is None else [line(None, examined.outcome.sentence)]
    has_problems, saw_nothing = examined.state == "problems", verdict["tone"] == "ok"
    own = verdict["lines"] if has_problems or examined.outcome is None else verdict["lines"][:1]
    more = headline_lines(examined.findings, saw_nothing=saw_nothing) if has_problems else []
    own = [one for one in own if not _is_quoted(text_of(one), more)]
    told = [*more, *own] if saw_nothing else [*own, *more]
    verdict["lines"] = [*lines, *beside, *told][: _MOST_VERDICT_LINES + len(beside)]
    verdict["tone"] = "warn" if has_problems else "ok"
    verdict["word"] = "Finished with problems" if has_problems else "Finished"


def _is_quoted(sentence: str, lines: list[Line]) -> bool:
    """Whether a sentence says only what the run answered, and one of the lines quotes just that."""
    answer = sentence.removeprefix(ANSWERED)
    if answer == sentence:
        return False
    quotes = [part["text"].removesuffix("…") for one in lines for part in one["parts"] if part["style"] == "quote"]
    return any(quote and answer.startswith(quote) for quote in quotes)


def _beside_lines(examined: Examination) -> list[Line]:
    """How the run differs from one that passed, the first line with the name of that run."""
    if examined.beside is None:
        return []
    first, *rest = examined.beside.lines
    parts = line(first["n"], f"Compared with {examined.beside.run_id[:8]}, which passed: ")["parts"]
    return [{**first, "parts": [*parts, *first["parts"]]}, *rest]


def add_to_summary(summary: Summary, examined: Examination) -> None:
    """Let a summary say what was found: its verdict, the suspects, what is known of the outcome."""
    add_to_verdict(summary["verdict"], examined)
    summary["outcome"] = None if examined.outcome is None else examined.outcome.as_json()
    summary["beside"] = None if examined.beside is None else examined.beside.as_json()
    summary["suspects"] = [suspect.as_json() for suspect in examined.suspects]


def is_said_by(lines: Sequence[Line], finding: Finding) -> bool:
    """Whether a verdict's lines say what the finding says: about the same event, in the verdict's own words."""
    return finding.kind in _SAID_BY_VERDICT and finding.number in {line["n"] for line in lines}
