"""
What checks look at, and what they say.

How a run ended, what failed, what was called, what changed something, what it answered, what it spent. A result says
whether a check holds, in a sentence, with the events that prove it and the difference that caused it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.effects import NO_RULES, EffectRules, SideEffect, read_effects
from agentdbg.analysis.findings import Finding, find
from agentdbg.analysis.made_ids import with_origins
from agentdbg.analysis.result_signs import error_in_result
from agentdbg.analysis.run_answer import ANSWER_TOOLS, spoken
from agentdbg.analysis.run_columns import lacks_times, payload_of
from agentdbg.analysis.wording import cut, number_or_none
from agentdbg.events.facts import KnownFailures, RunTotals, call_failed, cost_of, error_of, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from agentdbg.events import Event, RunMeta

__all__ = [
    "TOTALS",
    "AnswerReader",
    "CallSpent",
    "CheckResult",
    "Concern",
    "EventRef",
    "Failed",
    "RunFacts",
    "ToolCall",
    "diff_text",
    "gather",
    "joined",
    "numbered",
    "quoted",
]

_JUDGED_ELSEWHERE = frozenset({"loop", "first_failure", "died_in_call"})
"""Findings that other rules look at: loops, and how the run ended."""
TOTALS = ("steps", "llm_calls", "tool_calls", "total_tokens", "cost_usd", "duration_ms", "errors")
"""What is counted of a run; steps are model calls and tool calls together."""


class EventRef(NamedTuple):
    """An event by its number in the file, counted from 1, and its id."""

    number: int
    event_id: str


class Failed(NamedTuple):
    """An error of the run: a call that failed, or an error recorded by itself, which has no `call`."""

    event: EventRef
    call: str
    text: str

    @property
    def said(self) -> str:
        return f"{self.call}: {self.text}" if self.call else self.text


class ToolCall(NamedTuple):
    """One call of a tool. A call that never returned has no end in the file."""

    event: EventRef
    name: str
    failed: bool = False
    returned: bool = True
    started: int = 0
    """The number of the event that tells of its start, where there is one, else its own."""
    problem: str = ""
    """What it failed with, or the error that its result reports."""


class Concern(NamedTuple):
    """Something a good run may not have: its kind, the tool or model it is about, the event, and a sentence."""

    kind: str
    about: str
    event: EventRef
    sentence: str

    @property
    def key(self) -> tuple[str, str]:
        """What makes two of them the same."""
        return self.kind, self.about


class CallSpent(NamedTuple):
    """One call, of a model or of a tool, and what it spent; None where a model's call does not say."""

    event: EventRef
    name: str
    is_llm: bool
    tokens: int | None = 0
    cost_usd: float | None = 0.0
    duration_ms: int = 0


@dataclass(frozen=True)
class RunFacts:
    """One run as the checks see it."""

    run_id: str
    run_name: str
    started_at: str
    status: str
    ending: str = ""
    """Why the run did not end well, in the words of whatever ended it."""
    has_end: bool = True
    """Whether its end was recorded; where its process died, `ending` is a sentence of ours."""
    last_event: EventRef | None = None
    errors: tuple[Failed, ...] = ()
    findings: tuple[Finding, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    effects: tuple[SideEffect, ...] = ()
    refused: tuple[SideEffect, ...] = ()
    """Writes that were not done."""
    unknown_calls: tuple[SideEffect, ...] = ()
    """Calls of tools of which nothing says whether they have side effects."""
    answer: str = ""
    portable_answer: str = ""
    """The answer as another run may give it too: an id the run was given is told by where it comes from."""
    steps: tuple[CallSpent, ...] = ()
    totals: Mapping[str, float | None] = field(default_factory=dict)
    found_at: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """The ids and names of the events that findings point at, by their numbers."""
    damaged_lines: int = 0
    """Lines of the log that cannot be read, so that nobody knows what they held."""
    unwritten_events: int = 0
    """Events that never came into the log: the disk was full, or the run was over."""

    @property
    def loops(self) -> list[Finding]:
        """The loops of warning and worse."""
        return [finding for finding in self.findings if finding.kind == "loop"]

    def concerns(self) -> list[Concern]:
        """Findings of warning and worse besides loops, and tools that failed and never worked afterwards."""
        found = []
        for finding in self.findings:
            if finding.severity != "info" and finding.kind not in _JUDGED_ELSEWHERE:
                event_id, name = self.found_at.get(finding.number or 0, ("", ""))
                event = EventRef(finding.number or 0, event_id)
                found.append(Concern(finding.kind, name, event, finding.sentence))
        known = {concern.key for concern in found}
        return [*found, *(one for one in self._left_failed() if one.key not in known)]

    def unanswered(self) -> list[Concern]:
        """That the run ended well and without an answer: how some agents end, and a fault of those that speak."""
        if self.answer or self.status != "ok" or any(one.kind == "no_answer" for one in self.concerns()):
            return []
        return [
            Concern("no_answer", "", EventRef(0, ""), "The run ended without an answer, and the baseline's did not.")
        ]

    def _left_failed(self) -> list[Concern]:
        """Tools whose last call failed while the run ended as if nothing had happened."""
        last = {call.name: call for call in self.calls if call.returned} if self.status == "ok" else {}
        return [
            Concern(
                "swallowed_error",
                call.name,
                call.event,
                f"{quoted(call.name)} failed and was not called again, and the run ended ok: {cut(call.problem, 160)}",
            )
            for call in last.values()
            if call.problem
        ]

    def spent(self, total: str) -> float | None:
        """One of the totals, for a budget; None where it is not known."""
        # Who calls tools and no model has spent nothing. Who calls neither was perhaps not recorded.
        if total in ("total_tokens", "cost_usd") and self.steps and not self.totals.get("llm_calls"):
            return 0
        return self.totals.get(total)

    def gaps(self) -> list[str]:
        """What is not in the log, a sentence each: nobody can vouch for it."""
        said = []
        if self.damaged_lines:
            are = "line of the log is" if self.damaged_lines == 1 else "lines of the log are"
            said.append(f"{self.damaged_lines:,} {are} damaged, so nobody can say what stood there.")
        if self.unwritten_events:
            were = "event was" if self.unwritten_events == 1 else "events were"
            said.append(f"{self.unwritten_events:,} {were} never written, so nobody can say what happened there.")
        if self.last_event is None:
            said.append("The log holds no events, so nobody can say what the run did.")
        elif self.status == "ok" and not self.has_end:
            said.append("The log stops before the run's end, so nobody can say what came after.")
        return said

    def call_counts(self) -> dict[str, int]:
        """How often each tool was called, in the order of their first calls."""
        counts: dict[str, int] = {}
        for call in self.calls:
            counts[call.name] = counts.get(call.name, 0) + 1
        return counts


def gather(read: Callable[[], Iterable[Event]], run: RunMeta, rules: EffectRules = NO_RULES) -> RunFacts:
    """The facts of a run. `read` gives its events from the beginning each time, so that none need be kept."""
    watched = _Watched()
    findings = find(watched.watch(read()), run)
    found_at: dict[int, tuple[str, str]] = {}
    pointed_at = {finding.number for finding in findings}
    effects = read_effects(_noting(read(), pointed_at, found_at), rules)
    counted = watched.totals.counts()
    totals: dict[str, float | None] = {
        "steps": len(watched.steps),
        "llm_calls": counted["llm_calls"],
        "tool_calls": counted["tool_calls"],
        "total_tokens": watched.totals.tokens().total,
        "cost_usd": watched.totals.cost(),
        "duration_ms": None if lacks_times(run.get("metadata")) else run.get("duration_ms"),
        "errors": counted["errors"],
    }
    return RunFacts(
        run_id=run["run_id"],
        run_name=run["run_name"] or "unnamed",
        started_at=run["started_at"],
        status=run["status"],
        ending=_ending(run, watched, findings),
        has_end=watched.ended,
        last_event=watched.last,
        errors=tuple(watched.errors),
        findings=tuple(findings),
        # As they were called: which of two parallel ones returns first is chance, and an inner one always does.
        calls=tuple(sorted([*watched.calls, *watched.open_calls.values()], key=lambda call: call.started)),
        effects=tuple(call for call in effects.found() if call.is_known),
        refused=tuple(effects.refused()),
        unknown_calls=tuple(call for call in effects.found() if not call.is_known),
        answer=watched.answer.text(),
        portable_answer=with_origins(watched.answer.text(), effects.origins),
        steps=tuple(watched.steps),
        totals=totals,
        found_at=found_at,
        unwritten_events=run.get("dropped_events") or 0,
    )


def _noting(
    events: Iterable[Event], wanted: Container[int | None], found: dict[int, tuple[str, str]]
) -> Iterator[Event]:
    for number, event in enumerate(events, 1):
        if number in wanted:
            found[number] = event["event_id"], str(event.get("name") or "")
        yield event


class _Watched:
    """Counts events while somebody else reads them."""

    def __init__(self) -> None:
        self.answer = AnswerReader()
        self.steps: list[CallSpent] = []
        self.totals = RunTotals()
        self._known_failures = KnownFailures()
        self.errors: list[Failed] = []
        self.calls: list[ToolCall] = []
        self.open_calls: dict[str, ToolCall] = {}
        self.last: EventRef | None = None
        self.ended = False
        self.end_text = ""

    def watch(self, events: Iterable[Event]) -> Iterator[Event]:
        for number, event in enumerate(events, 1):
            self._take(EventRef(number, event["event_id"]), event, payload_of(event))
            yield event

    def _take(self, ref: EventRef, event: Event, payload: dict[str, Any]) -> None:
        event_type, name = event["event_type"], str(event.get("name") or "")
        self.last = ref
        self.answer.add(event_type, str(payload.get("tool_name") or name), payload)
        self.totals.add(event_type, payload)
        if event_type == "TOOL_CALL":
            name = str(payload.get("tool_name") or name)
            begun = self.open_calls.pop(ref.event_id, None)
            failed = call_failed(payload)
            problem = failure_of(payload).text if failed else error_in_result(payload.get("result")) or ""
            started = ref.number if begun is None else begun.started
            self.calls.append(ToolCall(ref, name, failed, started=started, problem=problem))
            self.steps.append(CallSpent(ref, name, is_llm=False, duration_ms=_duration_ms(event)))
            self._note_failed_call(ref, name, payload)
        elif event_type == "LLM_CALL":
            spent = (tokens_of(payload).total, cost_of(payload))
            self.steps.append(CallSpent(ref, name, True, *spent, duration_ms=_duration_ms(event)))
            self._note_failed_call(ref, name, payload)
        elif event_type == "CALL_START" and payload.get("kind") == "tool":
            begins = ToolCall(ref, str(payload.get("name") or name), returned=False, started=ref.number)
            self.open_calls[str(payload.get("call_id"))] = begins
        elif event_type == "ERROR":
            # An exception that a failed call has already told of is one error, not two.
            if not self._known_failures.told(payload):
                self.errors.append(Failed(ref, "", failure_of(payload).text))
        elif event_type == "RUN_END":
            self.ended = True
            self.end_text = failure_of(payload).text if error_of(payload) is not None else ""

    def _note_failed_call(self, ref: EventRef, name: str, payload: dict[str, Any]) -> None:
        if call_failed(payload):
            self._known_failures.remember(error_of(payload))
            self.errors.append(Failed(ref, name, failure_of(payload).text))


def _duration_ms(event: Event) -> int:
    return number_or_none(event.get("duration_ms")) or 0


def _ending(run: RunMeta, watched: _Watched, findings: Iterable[Finding]) -> str:
    """Why the run did not end well: what it says itself, else what the reader of its folder saw."""
    if watched.end_text:
        return watched.end_text
    in_call = next((finding.sentence for finding in findings if finding.kind == "died_in_call"), "")
    return in_call or str(run.get("status_reason") or (watched.errors[-1].text if watched.errors else ""))


_MOST_NAMED = 5
_MOST_JOINED = 12
_LONGEST_NAME = 100
_MOST_LINES = 60
_LONGEST_LINE = 400


@dataclass(frozen=True)
class CheckResult:
    """One check of one run."""

    name: str
    passed: bool
    sentence: str
    events: tuple[EventRef, ...] = ()
    diff: str = ""
    """Lines that begin with `-` for what was expected and `+` for what came."""

    def as_json(self) -> dict[str, Any]:
        """The result as plain JSON."""
        return {
            "name": self.name,
            "passed": self.passed,
            "sentence": self.sentence,
            "events": [{"n": event.number, "event_id": event.event_id} for event in self.events],
            "diff": self.diff,
        }


def numbered(events: Iterable[EventRef]) -> str:
    """` (#3, #8)`: the events a sentence speaks of, the first few of them."""
    numbers = [f"#{event.number}" for event in events]
    if not numbers:
        return ""
    more = len(numbers) - _MOST_NAMED
    return f" ({', '.join(numbers[:_MOST_NAMED])}{f' and {more} more' if more > 0 else ''})"


def diff_text(lines: Sequence[str]) -> str:
    """The lines of a difference as one text that a person can read, however many there are."""
    # What a tool is called may hold anything; a line of its own would read as another difference.
    shown = [cut(line.replace("\n", " "), _LONGEST_LINE) for line in lines[:_MOST_LINES]]
    return "\n".join([*shown, f"  {len(lines) - _MOST_LINES:,} more lines"] if len(lines) > _MOST_LINES else shown)


def quoted(name: str) -> str:
    """A recorded name between backticks; one of its own would end it early, and nothing between two is no name."""
    return f"`{cut(name, _LONGEST_NAME).replace('`', chr(39)) or chr(34) * 2}`"


def joined(names: Iterable[str]) -> str:
    """`a`, `b` and `c`; of very many the first, and how many more there are."""
    each = [quoted(name) for name in names]
    if len(each) > _MOST_JOINED:
        return f"{', '.join(each[:_MOST_JOINED])} and {len(each) - _MOST_JOINED:,} more"
    return f"{', '.join(each[:-1])} and {each[-1]}" if len(each) > 1 else "".join(each)


_LONGEST_ANSWER = 4_000


class AnswerReader:
    """Keeps what may be the answer while a run is read: what it returned, what the model said or handed in last."""

    def __init__(self) -> None:
        self._returned: str | None = None
        self._said: str | None = None

    def add(self, event_type: str, name: str, payload: dict[str, Any]) -> None:
        """Take the next event."""
        if event_type == "RUN_END":
            self._returned = spoken(payload.get("result"))
        elif event_type == "LLM_CALL":
            said = conversation.answer(payload.get("response"))
            if said.text.strip() and not said.calls:
                self._said = said.text
        elif event_type == "TOOL_CALL" and name in ANSWER_TOOLS:
            self._said = spoken(payload.get("args")) or spoken(payload.get("result")) or self._said

    def text(self) -> str:
        """The answer so far; empty if there is none."""
        return cut(self._returned or self._said or "", _LONGEST_ANSWER)
