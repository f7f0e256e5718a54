"""
What a verdict draws on: the counted run, the few events that have to be opened, and what its worst loop cost.

Each event is opened once and only when asked for. A loop's finding is written once, early in the loop; what came after
it belongs to the loop for as long as the same calls go on. Only what the log shows is claimed: the calls by name, the
arguments by equality.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.call_results import Failure, failure_of
from agentdbg.analysis.run_answer import LastWord, last_word
from agentdbg.analysis.run_columns import CALL_KINDS, ERROR, LLM, NO_VALUE, SPAN, STATE, TOOL, payload_of
from agentdbg.analysis.stats import FailedCalls, RecordedError, Tally, run_duration_ms
from agentdbg.analysis.value_text import is_cut
from agentdbg.events.facts import cost_of, error_of

if TYPE_CHECKING:
    from agentdbg.analysis.run_columns import RunColumns
    from agentdbg.events import Event, RunMeta

__all__ = ["MANY", "Case", "LoopCost", "measure_loop"]

MANY = 3
"""As many equal failures are trouble, not bad luck."""


@dataclass
class Case:
    """What the sentences draw on, each part looked up once and only when needed."""

    tally: Tally
    run: RunMeta
    now_ms: int | None

    @cached_property
    def groups(self) -> list[FailedCalls]:
        """What failed, the most frequent first; not the spans that only passed on what ended the run."""
        ending = self.ending if self.run.get("status") == "error" else None
        found = self.tally.groups()
        if ending is None:
            return found
        return [group for group in found if group.kind != SPAN or not ending.is_part_of(group.failure)]

    @cached_property
    def run_ms(self) -> int | None:
        """How long the run took; None where that is not known, as in a trace of a tool that records no times."""
        return run_duration_ms(self.tally, self.run, self.now_ms)

    @cached_property
    def end_payload(self) -> dict[str, Any]:
        return payload_of(self.tally.columns.event(self.tally.end)) if self.tally.end is not None else {}

    @cached_property
    def fatal(self) -> RecordedError | None:
        """The recorded error that ended the run."""
        errors = self.tally.errors
        return next((error for error in reversed(errors) if error.payload.get("fatal") or error.guardrail), None) or (
            errors[-1] if errors and self.run.get("status") == "error" else None
        )

    @property
    def died(self) -> bool:
        """Whether the process went away without ending the run."""
        return self.tally.end is None and (bool(self.run.get("status_reason")) or self.tally.columns.complete)

    @cached_property
    def ending(self) -> Failure | None:
        """The error that ended the run, from its ERROR event or from its end."""
        if self.fatal is not None:
            return self.fatal.failure
        return failure_of(self.end_payload) if error_of(self.end_payload) is not None else None

    @cached_property
    def last_word(self) -> LastWord | None:
        """What the run ended with instead of an answer."""
        tally = self.tally
        places = (tally.end, tally.last_llm, tally.last_call, tally.last_span)
        end, model, last, span = (
            None if number is None else (number, tally.columns.event(number)) for number in places
        )
        return last_word(end, model, last, span, uses_tools=bool(tally.tool_calls))

    @property
    def is_live(self) -> bool:
        return self.run.get("status") == "running"

    @cached_property
    def loop(self) -> LoopCost | None:
        """The worst finding of warning and up, the first of its severity."""
        severity = self.tally.columns.severity
        worst = max(self.tally.findings, key=lambda number: (severity[number - 1], -number), default=None)
        return None if worst is None else measure_loop(self.tally.columns, worst)

    @cached_property
    def open_call(self) -> tuple[int, Event] | None:
        """The call the run is in, or was in when its process went away: the one that began last."""
        for number in reversed(self.tally.open_calls):
            return number, self.tally.columns.event(number)
        return None

    def last_call_before(self, number: int) -> tuple[int, str] | None:
        kinds = self.tally.columns.kind
        for before in range(number - 1, max(number - 200, 0), -1):
            if kinds[before - 1] in CALL_KINDS:
                return before, str(self.tally.columns.event(before)["name"])
        return None


_FOLLOW = 400
_MOST_OPENED = 1_000
_COUNTED = frozenset({LLM, TOOL, STATE})


@dataclass(frozen=True)
class LoopCost:
    """One loop: where it stands in the run, which calls make a round, and the sums over it."""

    number: int
    payload: dict[str, Any]
    first: int
    last: int
    round_names: tuple[str, ...]
    same_arguments_of: tuple[str, ...]
    """The tools of the round that got the same arguments each time, from `same_arguments_since` on."""
    same_arguments_since: int | None
    calls: int
    tokens: int | None
    cost_usd: float | None
    milliseconds: int
    at_the_end: bool
    """Whether the run's latest calls still belong to it."""

    @property
    def kind(self) -> str:
        kind = self.payload.get("kind")
        return kind if isinstance(kind, str) else "cycle"


def measure_loop(columns: RunColumns, number: int) -> LoopCost:
    """Measure the loop that the finding with this number tells of."""
    payload = payload_of(columns.event(number))
    evidence = _evidence(columns, payload, number)
    signatures = str(payload.get("pattern") or "").split(" -> ")
    first = evidence[0] if evidence else number
    last, at_the_end = _follow(columns, number, signatures, evidence, payload.get("kind"))
    tools = [at for at in evidence if columns.kind[at - 1] == TOOL]
    inside = range(first - 1, last)
    tokens = [columns.tokens[at] for at in inside if columns.tokens[at] != NO_VALUE]
    round_names = _round_names(columns, signatures, tools)
    since = _same_arguments(columns, first, last, round_names) if tools else {}
    length = columns.duration_ms[last - 1]
    end = columns.start_ms[last - 1] + (0 if length == NO_VALUE else length)
    return LoopCost(
        number=number,
        payload=payload,
        first=first,
        last=last,
        round_names=round_names,
        same_arguments_of=tuple(since),
        same_arguments_since=max(since.values(), default=None),
        calls=sum(columns.kind[at] in (LLM, TOOL) for at in inside),
        tokens=sum(tokens) if tokens else None,
        cost_usd=_dollars(columns, first, last),
        milliseconds=max(end - columns.start_ms[first - 1], 0),
        at_the_end=at_the_end,
    )


def _dollars(columns: RunColumns, first: int, last: int) -> float | None:
    """What the model calls from `first` to `last` cost; None where nobody knows or they are too many to open."""
    if columns.cost_usd is None:
        return None
    calls = [number for number in range(first, last + 1) if columns.kind[number - 1] == LLM]
    if len(calls) > _MOST_OPENED:
        return None
    costs = [cost_of(payload_of(columns.event(number))) for number in calls]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _same_arguments(columns: RunColumns, first: int, last: int, names: tuple[str, ...]) -> dict[str, int]:
    """For each tool that kept its arguments to the end of the loop, the call from which on it did."""
    newest: dict[str, int] = {}
    for at in range(last, max(first, last - _FOLLOW) - 1, -1):
        if columns.kind[at - 1] == TOOL:
            newest.setdefault(str(columns.event(at)["name"]), at)
    since = {name: _same_since(columns, newest[name], first) for name in dict.fromkeys(names) if name in newest}
    return {name: at for name, at in since.items() if at is not None}


def _same_since(columns: RunColumns, number: int, first: int) -> int | None:
    """The call from which on all calls of a tool, up to this one, had its arguments; None if this is the only one."""
    name, args = columns.event(number)["name"], payload_of(columns.event(number)).get("args")
    since = number
    for _ in range(_FOLLOW):
        before = columns.previous_call(since)
        if before is None or before < first or columns.event(before)["name"] != name:
            break
        if payload_of(columns.event(before)).get("args") != args:
            break
        since = before
    # Of what was cut nobody knows whether it was the same.
    return None if since == number or is_cut(args) else since


def _evidence(columns: RunColumns, payload: dict[str, Any], number: int) -> list[int]:
    """The numbers of the events a finding rests on, in order."""
    ids = payload.get("evidence_event_ids")
    listed = [payload.get("first_event_id"), *(ids if isinstance(ids, list) else ())]
    found = {columns.number_of(event_id) for event_id in listed if isinstance(event_id, str)}
    return sorted(at for at in found if at is not None and at < number)


def _follow(
    columns: RunColumns, number: int, signatures: list[str], evidence: list[int], kind: Any
) -> tuple[int, bool]:
    """The last event of the loop, and whether the run has not left it since."""
    # The model is called in healthy stretches too, so where tools repeat they alone decide.
    deciding = {name for name in signatures if name.startswith("TOOL_CALL:")} or set(signatures)
    distances = [after - before for before, after in pairwise(evidence)]
    patience = 2 * max(distances, default=len(signatures)) + 2
    last = evidence[-1] if evidence else number
    opened = 0
    since = 0
    at = number
    while at < columns.total and since <= patience:
        at += 1
        if columns.kind[at - 1] not in _COUNTED:
            continue
        if opened >= _FOLLOW:
            # A loop this long is settled by its tail: if that still repeats, all of it did or came back to it.
            tail = range(max(columns.total - 2 * patience, at), columns.total + 1)
            members = [later for later in tail if _belongs(columns, later, deciding, kind)]
            return (members[-1], True) if members else (last, False)
        opened += 1
        if _belongs(columns, at, deciding, kind):
            last, since = at, 0
        else:
            since += 1
    return last, since <= patience


def _belongs(columns: RunColumns, at: int, deciding: set[str], kind: Any) -> bool:
    if columns.kind[at - 1] not in _COUNTED:
        return False
    if kind == "error_retry" and columns.status[at - 1] != ERROR and columns.kind[at - 1] == TOOL:
        return False
    if kind == "cycle" and columns.kind[at - 1] == TOOL and columns.same_as(at) is None:
        return False
    event = columns.event(at)
    event_type = event["event_type"]
    return (f"{event_type}:{event['name']}" if event_type != "STATE_UPDATE" else event_type) in deciding


def _round_names(columns: RunColumns, signatures: list[str], tools: list[int]) -> tuple[str, ...]:
    """The tools of one round in order; the models only where no tool takes part."""
    named = [name.partition(":")[2] or name for name in signatures if name.startswith("TOOL_CALL:")]
    if len(named) == 1 and len(tools) >= 2 and 1 < tools[-1] - tools[-2] <= 12:
        # A finding that names one call: what was done between two of them is the rest of the round.
        between = [at for at in range(tools[-2] + 1, tools[-1]) if columns.kind[at - 1] == TOOL]
        named = [str(columns.event(at)["name"]) for at in between[:4]] + named
    return tuple(named or [name.partition(":")[2] or name for name in signatures if name])
