"""
The first thing that failed, and what it led to: the end of the run, more failures, another try, or nothing at all.

Later errors are often only consequences, so the first one is where to look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings.finding import Evidence, Finding
from agentdbg.analysis.sentences import code, line, quote
from agentdbg.analysis.wording import count_noun, cut
from agentdbg.events.facts import call_failed

if TYPE_CHECKING:
    from agentdbg.analysis.errors import Failure
    from agentdbg.analysis.findings.failures import Failures
    from agentdbg.analysis.findings.finding import Severity
    from agentdbg.analysis.findings.watched_run import RunEnd
    from agentdbg.analysis.sentences import VerdictPart
    from agentdbg.events import Event

__all__ = ["FirstFailure"]

_QUOTED = 200


class FirstFailure:
    """Remembers the first failed call, failed span or recorded error, and what became of it."""

    types = frozenset({"LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "ERROR"})

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._first: tuple[int, Event, Failure] | None = None
        self._latest: tuple[int, Event, Failure] | None = None
        self._followed = 0
        self._worked_at: int | None = None
        self._tried_again = 0
        self._evidence = Evidence()

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        failure = self._failures.current
        if failure is None:
            has_failed = call_failed(payload)  # a span, with what failed inside it
            is_alike = self._first is not None and event["name"] == self._first[1]["name"]
            if is_alike and self._worked_at is None and not has_failed and event["event_type"] != "ERROR":
                self._worked_at = number
            return
        self._latest = (number, event, failure)
        if self._first is None:
            self._first = self._latest
            self._evidence.add(number, event["event_id"])
            return
        self._followed += 1
        self._evidence.add(number, event["event_id"])
        if event["name"] == self._first[1]["name"] and self._worked_at is None:
            self._tried_again += 1

    def finish(self, end: RunEnd) -> list[Finding]:
        if self._first is None:
            return []
        number, event, failure = self._first
        begins, before = "The first failure was ", ""
        if self._was_survived(end) and self._latest is not None:
            # A step of an agent that failed and was followed by others is not what ended the run.
            before = f" Before it {event['name']} failed at #{number}, and the run went on."
            number, event, failure = self._latest
            begins = "What failed last was "
        opening: list[str | VerdictPart] = [begins, code(event["name"]), ": ", quote(cut(failure.text, _QUOTED))]
        if event["event_type"] == "ERROR":
            opening = [begins, quote(cut(failure.text, _QUOTED))]
        led_to, severity = self._led_to(end, failure)
        led_to.append(before)
        figures: dict[str, Any] = {
            "error": failure.text,
            "failures_after": self._followed,
            "worked_at": self._worked_at,
        }
        return [Finding("first_failure", severity, line(number, *opening, ". ", *led_to), self._evidence, figures)]

    def _was_survived(self, end: RunEnd) -> bool:
        """Whether the first failure was a span's, and the run ended with another one."""
        if self._first is None or self._latest is None or not end.run_failed or end.error is None:
            return False
        is_span = self._first[1]["event_type"] == "STATE_UPDATE"
        return is_span and not self._first[2].is_part_of(end.error) and self._latest[2].is_part_of(end.error)

    def _led_to(self, end: RunEnd, failure: Failure) -> tuple[list[str | VerdictPart], Severity]:
        ending = end.error
        if end.run_failed and ending is not None:
            if failure.is_part_of(ending):
                renamed = ending.error_type and ending.error_type != failure.error_type
                return ["It ended the run", *((" as ", code(ending.error_type)) if renamed else ()), "."], "critical"
            more = f"{count_noun(self._followed, 'failure')} followed, and the" if self._followed > 1 else "The"
            return [f"{more} run ended with ", quote(cut(ending.text, _QUOTED)), "."], "critical"
        if end.went_away:
            return ["The run went on and was never closed."], "warning"
        if self._worked_at is not None:
            again = f" after {count_noun(self._tried_again, 'more failure')}" if self._tried_again else ""
            return [f"The same call worked at #{self._worked_at}{again}."], "info"
        if self._followed:
            return [f"{count_noun(self._followed, 'more failure')} followed."], "info"
        return ["The run went on without it."], "info"
