"""
What failed by itself, what came first and what it led to, what failed again and again, and the call a process died in.

An exception leaves every span around the call that raised it, and may be recorded once more at the end; frameworks wrap
it on the way. All that is one failure, and it belongs to the innermost. Later errors are often only consequences, so
the first one is where to look. Three times the same words from the same call is no bad luck any more.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.call_results import Failure, failure_of
from agentdbg.analysis.findings.evidence import Evidence, Finding
from agentdbg.analysis.value_text import argument_text
from agentdbg.analysis.wording import clock_time, code, count_noun, cut, line, one_line, quote
from agentdbg.events.facts import call_failed, is_span

if TYPE_CHECKING:
    from agentdbg.analysis.call_results import Failure
    from agentdbg.analysis.findings.evidence import RunEnd, Severity
    from agentdbg.analysis.wording import VerdictPart
    from agentdbg.events import Event

__all__ = ["DiedInCall", "Failures", "FirstFailure", "SwallowedErrors"]

_MOST_PARENTS = 10_000
_MOST_INSIDE = 20
_MOST_RECENT = 50


class Failures:
    """Takes every event in order; `current` is what the latest one says of a failure."""

    def __init__(self) -> None:
        self.current: Failure | None = None
        self._around_model: dict[str, str | None] = {}
        self._inside: dict[str, list[Failure]] = {}
        self._recent: deque[Failure] = deque(maxlen=_MOST_RECENT)

    def observe(self, event: Event, payload: dict[str, Any]) -> None:
        """Take the next event."""
        event_type = event["event_type"]
        self.current = None
        if event_type == "LLM_CALL":
            self._around_model[event["event_id"]] = event.get("parent_id")
            _bound(self._around_model)
        if event_type in ("LLM_CALL", "TOOL_CALL"):
            if call_failed(payload):
                self.current = failure_of(payload)
                self._note(event, self.current)
        elif event_type == "ERROR":
            failure = failure_of(payload)
            self.current = None if any(before.is_part_of(failure) for before in self._recent) else failure
        elif is_span(event_type, event.get("meta")):
            self._span(event, payload)

    def _span(self, event: Event, payload: dict[str, Any]) -> None:
        inside = self._inside.pop(event["event_id"], [])
        if call_failed(payload):
            failure = failure_of(payload)
            self._note(event, failure)
            if not any(inner.is_part_of(failure) for inner in inside):
                self.current = failure

    def _note(self, event: Event, failure: Failure) -> None:
        """Remember what failed for the span around it; a tool stands where the model call does that asked for it."""
        self._recent.append(failure)
        around = event.get("parent_id")
        around = self._around_model.get(around, around) if around else None
        if around:
            inside = self._inside.setdefault(around, [])
            inside.append(failure)
            del inside[:-_MOST_INSIDE]
            _bound(self._inside)


def _bound(memory: dict[str, Any]) -> None:
    if len(memory) > _MOST_PARENTS:
        del memory[next(iter(memory))]


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
        self._is_the_same = True
        """Whether what worked was given the same as what failed."""
        self._tried_again = 0
        self._evidence = Evidence()

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        failure = self._failures.current
        if failure is None:
            has_failed = call_failed(payload)  # a span, with what failed inside it
            if has_failed or self._first is None or self._worked_at is not None or event["event_type"] == "ERROR":
                return
            before = self._first[1]
            if event["name"] == before["name"]:
                self._worked_at = number
                self._is_the_same = event["event_type"] != "TOOL_CALL" or payload.get("args") == before["payload"].get(
                    "args"
                )
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
            what = "The same call" if self._is_the_same else f"Another call of {self._name()}"
            return [f"{what} worked at #{self._worked_at}{again}."], "info"
        if self._followed:
            return [f"{count_noun(self._followed, 'more failure')} followed."], "info"
        return ["The run went on without it."], "info"

    def _name(self) -> str:
        return "" if self._first is None else self._first[1]["name"]


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

    def observe(self, number: int, event: Event, _payload: dict[str, Any]) -> None:
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
