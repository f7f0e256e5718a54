"""
The figures of a run, counted from its columns: calls, failures, findings, tokens, and where the time went.

`Tally` counts each event once and can be asked again after more have come, so a live run costs what is new and not
what is there. It opens only events that failed, and of those a bounded number.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import compress, islice
from operator import lt
from typing import TYPE_CHECKING, Any, TypedDict

from agentdbg.analysis.call_results import Failure, failure_of
from agentdbg.analysis.run_columns import (
    CALL_KINDS,
    CALL_START,
    END,
    ENDED,
    ERROR,
    EXCEPTION,
    LLM,
    LOOP,
    NO_VALUE,
    SEVERITIES,
    SPAN,
    START,
    TOOL,
    lacks_times,
    payload_of,
)
from agentdbg.analysis.wording import number_or_none, timestamp_ms
from agentdbg.events.facts import COST_DIGITS, KnownFailures, error_of

if TYPE_CHECKING:
    from agentdbg.analysis.run_columns import RunColumns
    from agentdbg.events import RunMeta

__all__ = ["Coverage", "FailedCalls", "Figures", "RecordedError", "Tally", "figures"]

_FAILURES_OPENED = 500
"""Beyond this many the sentence says `over 500 times`; opening every failed call of a million would take seconds."""
_FIGURES = re.compile(
    r"((?i:\b(?:http(?:/[\d.]+)?|status|code|errno|error)\W{0,3}\d+\b)|^[45]\d\d\b|\b[45]\d\d(?= [A-Z]))"
    r"|(?<![\w.-])(?=[\w.-]*\d)[\w.-]+"
)
"""Pages, ports, seconds and ids, by which one error differs from the next; but not the code of an answer or error."""
_ALIKE = 80
"""Letters by which an error is known; what it quotes of the call that failed comes behind them."""
_AT_ONCE = 4_096
_IS_MODEL = bytes(kind == LLM for kind in range(256))
_IS_CALL = bytes(kind in CALL_KINDS for kind in range(256))


class Figures(TypedDict):
    """What stands on one line under the verdict; null where nothing is known."""

    duration_ms: int | None
    llm_calls: int
    tool_calls: int
    errors: int
    loops: int
    tokens_in: int | None
    tokens_out: int | None
    total_tokens: int | None
    cost_usd: float | None
    model_ms: int
    tool_ms: int
    waiting_ms: int | None


@dataclass
class FailedCalls:
    """Calls, or spans, of one name that failed with one error, or with errors that differ in their figures alone."""

    name: str
    failure: Failure
    kind: int
    numbers: list[int] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)

    @property
    def is_one_error(self) -> bool:
        return len(self.texts) <= 1


@dataclass(frozen=True)
class RecordedError:
    """An ERROR event, opened."""

    number: int
    failure: Failure
    payload: dict[str, Any]

    @property
    def guardrail(self) -> str | None:
        found = self.payload.get("guardrail")
        return found if isinstance(found, str) and found else None

    @property
    def threshold(self) -> float | None:
        return _amount(self.payload.get("threshold"))

    @property
    def actual(self) -> float | None:
        return _amount(self.payload.get("actual"))


def _amount(value: Any) -> float | None:
    return None if number_or_none(value) is None else float(value)


class Coverage:
    """How much of the time something was going on: the length of a union of intervals."""

    def __init__(self) -> None:
        self.total = 0
        self._starts = array("I")
        self._ends = array("I")

    def add_all(self, starts: list[int], ends: list[int]) -> None:
        """Many intervals, as if each were added."""
        if not starts:
            return
        self._make_room(max(ends))
        # Mostly one thing is done after the other, and then there is nothing to join.
        if (not self._ends or self._ends[-1] < starts[0]) and all(map(lt, ends, starts[1:])):
            self._starts.extend(starts)
            self._ends.extend(ends)
            self.total += sum(ends) - sum(starts)
        else:
            for start, end in zip(starts, ends, strict=True):
                self.add(start, end)

    def _make_room(self, end: int) -> None:
        """Take more bytes for each moment once there is one after seven weeks."""
        if end >= 1 << 32 and self._ends.typecode == "I":
            self._starts, self._ends = array("Q", self._starts), array("Q", self._ends)

    def add(self, start: int, end: int) -> None:
        self._make_room(end)
        starts, ends = self._starts, self._ends
        if not ends or start > ends[-1]:
            starts.append(start)
            ends.append(end)
            self.total += end - start
        elif start >= starts[-1]:
            if end > ends[-1]:
                self.total += end - ends[-1]
                ends[-1] = end
        else:
            self._add_before(start, end)

    def _add_before(self, start: int, end: int) -> None:
        """An interval that began before the latest one: it may swallow several."""
        starts, ends = self._starts, self._ends
        first, behind = bisect_left(ends, start), bisect_right(starts, end)
        if first < behind:
            start, end = min(start, starts[first]), max(end, ends[behind - 1])
            self.total -= sum(ends[first:behind]) - sum(starts[first:behind])
        starts[first:behind] = array(starts.typecode, (start,))
        ends[first:behind] = array(ends.typecode, (end,))
        self.total += end - start


class Tally:
    """Everything counted so far. Call `catch_up` before reading it."""

    def __init__(self, columns: RunColumns) -> None:
        self.columns = columns
        self.counted = 0
        self.llm_calls = 0
        self.tool_calls = 0
        self.failed_calls = 0
        self.loops = {"info": 0, "warning": 0, "critical": 0}
        self.findings: list[int] = []
        """The numbers of loop findings of warning and up."""
        self.failures: dict[tuple[str, str], FailedCalls] = {}
        self.failures_unopened = 0
        self.errors: list[RecordedError] = []
        self.errors_unopened = 0
        self.repeated_errors = 0
        """ERROR events that only repeat what a failed call already said."""
        self._known_failures = KnownFailures()
        self._opened: list[tuple[int, Failure]] = []
        """The failed calls and spans that were looked at."""
        self.start: int | None = None
        self.end: int | None = None
        self.first_llm: int | None = None
        self.last_llm: int | None = None
        self.last_call: int | None = None
        self.last_span: int | None = None
        self.largest_llm: int | None = None
        self.last_ms = 0
        self._largest_tokens = -1
        self._open: set[int] = set()
        self._types: Counter[int] = Counter()
        self._model = Coverage()
        self._busy = Coverage()

    def catch_up(self) -> Tally:
        """Count what has come since the last time."""
        columns, begin, total = self.columns, self.counted, self.columns.total
        if begin < total:
            self._types.update(columns.type[begin:total])
            for start in range(begin, total, _AT_ONCE):
                self._count_calls(start, min(start + _AT_ONCE, total))
            self._visit_rare(begin, total)
            self.counted = total
        self._open = {number for number in self._open if columns.status[number - 1] != ENDED}
        return self

    @property
    def type_counts(self) -> dict[str, int]:
        return {self.columns.types[position]: count for position, count in self._types.most_common()}

    @property
    def open_calls(self) -> list[int]:
        """CALL_STARTs whose call has not ended, oldest first."""
        return sorted(self._open)

    @property
    def model_ms(self) -> int:
        return self._model.total

    @property
    def tool_ms(self) -> int:
        """Time in tools while no model was answering."""
        return self._busy.total - self._model.total

    @property
    def busy_ms(self) -> int:
        return self._busy.total

    def groups(self) -> list[FailedCalls]:
        """Failed calls by name and error, the most frequent first, then the earliest."""
        return sorted(self.failures.values(), key=lambda group: (-len(group.numbers), group.numbers[0]))

    def count_errors(self) -> int:
        """Failed calls and recorded errors, what was recorded twice counted once."""
        return self.failed_calls + len(self.errors) + self.errors_unopened - self.repeated_errors

    def _count_calls(self, begin: int, total: int) -> None:
        columns = self.columns
        kinds = bytes(columns.kind[begin:total])
        starts = list(columns.start_ms[begin:total])
        ends = [
            start if length == NO_VALUE else start + length
            for start, length in zip(starts, columns.duration_ms[begin:total], strict=True)
        ]
        for number in _positions(kinds, END, begin):
            ends[number - begin - 1] = starts[number - begin - 1]
        self.last_ms = max(self.last_ms, *ends)
        is_call, is_model = kinds.translate(_IS_CALL), kinds.translate(_IS_MODEL)
        self._busy.add_all(list(compress(starts, is_call)), list(compress(ends, is_call)))
        self.tool_calls += kinds.count(TOOL)
        if LLM not in kinds:
            return
        self._model.add_all(list(compress(starts, is_model)), list(compress(ends, is_model)))
        self.llm_calls += kinds.count(LLM)
        self.first_llm = self.first_llm or begin + kinds.find(LLM) + 1
        self.last_llm = begin + kinds.rfind(LLM) + 1
        tokens = list(compress(columns.tokens[begin:total], is_model))
        most = max(set(tokens) - {NO_VALUE}, default=-1)
        if most > self._largest_tokens:
            models = compress(range(begin + 1, total + 1), is_model)
            self._largest_tokens, self.largest_llm = most, next(islice(models, tokens.index(most), None))

    def _visit_rare(self, begin: int, total: int) -> None:
        columns = self.columns
        kinds = bytes(columns.kind[begin:total])
        statuses = bytes(columns.status[begin:total])
        for number in _positions(kinds, LOOP, begin):
            severity = SEVERITIES[columns.severity[number - 1]] or "warning"
            self.loops[severity] += 1
            if severity != "info":
                self.findings.append(number)
        self.start = self.start or next(iter(_positions(kinds, START, begin)), None)
        for number in _positions(kinds, END, begin):
            self.end = number
        self._open.update(_positions(kinds, CALL_START, begin))
        last_call = max(kinds.rfind(LLM), kinds.rfind(TOOL))
        if last_call >= 0:
            self.last_call = begin + last_call + 1
        if SPAN in kinds:
            self.last_span = begin + kinds.rfind(SPAN) + 1
        for number in _positions(statuses, ERROR, begin):
            kind = columns.kind[number - 1]
            if kind in CALL_KINDS or kind == SPAN:
                self._open_failure(number, kind)
            elif kind == EXCEPTION:
                self._open_error(number)

    def _open_failure(self, number: int, kind: int) -> None:
        self.failed_calls += kind in CALL_KINDS
        if len(self._opened) >= _FAILURES_OPENED:
            self.failures_unopened += 1
            return
        event = self.columns.event(number)
        failure = failure_of(event.get("payload"))
        if kind == SPAN:
            inside = [inner for at, inner in self._opened if self._span_around(at) == number]
            is_passed_on = any(inner.is_part_of(failure) for inner in inside)
        else:
            is_passed_on = False
            self._known_failures.remember(error_of(payload_of(event)))
        self._opened.append((number, failure))
        if not is_passed_on:
            name = str(event.get("name") or "a call")
            alike = _FIGURES.sub(lambda found: found[1] or "0", failure.text)[:_ALIKE]
            group = self.failures.setdefault((name, alike), FailedCalls(name, failure, kind))
            group.numbers.append(number)
            group.texts.add(failure.text)

    def _span_around(self, number: int) -> int:
        """What an event stands directly inside; a tool stands where the model call does that asked for it."""
        around = self.columns.parent_n[number - 1]
        if around and self.columns.kind[around - 1] == LLM:
            return self.columns.parent_n[around - 1]
        return around

    def _open_error(self, number: int) -> None:
        payload: Any = self.columns.event(number).get("payload")
        error = RecordedError(number, failure_of(payload), payload if isinstance(payload, dict) else {})
        if len(self.errors) >= _FAILURES_OPENED:
            # The last one is the one that may have ended the run, so it takes the place of the one before.
            self.errors_unopened += 1
            self.errors[-1] = error
        else:
            self.errors.append(error)
        self.repeated_errors += self._known_failures.told(error.payload)

    def failed_with(self, failure: Failure) -> FailedCalls | None:
        """The calls that failed with this very error."""
        if not failure.error_type and not failure.message:
            return None
        calls = (group for group in reversed(self.failures.values()) if group.kind in CALL_KINDS)
        return next((group for group in calls if failure.text in group.texts), None)


def _positions(column: bytes, code: int, begin: int) -> list[int]:
    """The numbers of the events that have `code` in this stretch of a column."""
    found = []
    at = column.find(code)
    while at >= 0:
        found.append(begin + at + 1)
        at = column.find(code, at + 1)
    return found


def figures(tally: Tally, run: RunMeta, now_ms: int | None = None) -> Figures:
    """The figures as they stand. Of a run that has ended they are those of run.json, as in a list of runs."""
    columns = tally.columns
    length = run_duration_ms(tally, run, now_ms)
    counted: Any = {
        "llm_calls": tally.llm_calls,
        "tool_calls": tally.tool_calls,
        "errors": tally.count_errors(),
        "total_tokens": columns.total_tokens,
        "cost_usd": None if columns.cost_usd is None else round(columns.cost_usd, COST_DIGITS),
    }
    if run.get("status") != "running":
        known: dict[str, Any] = {**run.get("counts", {}), **run}
        counted.update((name, known[name]) for name in counted if name in known)
    return {
        "duration_ms": length,
        "llm_calls": counted["llm_calls"],
        "tool_calls": counted["tool_calls"],
        "errors": counted["errors"],
        "loops": tally.loops["warning"] + tally.loops["critical"],
        "tokens_in": columns.tokens_in,
        "tokens_out": columns.tokens_out,
        "total_tokens": counted["total_tokens"],
        "cost_usd": counted["cost_usd"],
        "model_ms": tally.model_ms,
        "tool_ms": tally.tool_ms,
        "waiting_ms": None if length is None else max(length - tally.busy_ms, 0),
    }


def run_duration_ms(tally: Tally, run: RunMeta, now_ms: int | None = None) -> int | None:
    """How long the run took, or has been running; None where nobody recorded times, as in other tools' traces."""
    if lacks_times(run.get("metadata")):
        return None
    if run.get("status") == "running":
        began = timestamp_ms(run.get("started_at")) or tally.columns.started_ms
        return tally.last_ms if now_ms is None or not began else max(now_ms - began, tally.last_ms)
    length = run.get("duration_ms")
    return length if isinstance(length, int) else tally.last_ms
