"""
Runs as Chrome's trace event JSON, which Perfetto and chrome://tracing open.

Each run is a process and each of its lanes a thread. Calls and spans are complete events, everything else is an
instant, tokens and cost are counters. Long texts are cut, and say so: a timeline shows where to look, the log has it
all.

Lay the calls and spans of a run out in lanes, so that in each lane one lies wholly inside another or wholly beside it.

That is what viewers of thread timelines ask for, and it is not what a run is: calls run in parallel, and a tool hangs
under a model call that had ended before. What lies inside its nearest enclosing span stays in that span's lane; what
runs beside something else there moves to a free lane.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.run_columns import (
    CALL_START,
    END,
    ENDED,
    EXCEPTION,
    KINDS,
    LLM,
    LOOP,
    NO_VALUE,
    SPAN,
    START,
    TOOL,
)
from agentdbg.analysis.tree import ancestors
from agentdbg.analysis.wording import as_json, one_line
from agentdbg.encoding import encode_json
from agentdbg.events.facts import cost_of, tokens_of
from agentdbg.index.events import EventIndex
from agentdbg.interop.exports.run_content import events_of, part_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.analysis.run_columns import RunColumns
    from agentdbg.events import Event
    from agentdbg.interop.exports.run_content import Progress, Put, Run

__all__ = ["Lanes", "write"]

_LONGEST = 1_000
_NO_TOKENS = {"in": 0, "out": 0}


def write(runs: Sequence[Run], put: Put, progress: Progress) -> None:
    """Write the runs as one trace, on one clock."""
    put(b'{"displayTimeUnit":"ms","otherData":{"recorded by":"AgentDbg"},"traceEvents":[\n')
    before = b""
    for position, run in enumerate(runs):
        for event in _RunTrace(run, position + 1).events(part_of(progress, position, len(runs))):
            put(before + encode_json(event))
            before = b",\n"
    put(b"\n]}\n")


class _RunTrace:
    """The trace events of one run."""

    def __init__(self, run: Run, pid: int) -> None:
        self._run = run
        self._pid = pid
        self._index = EventIndex(run.folder, run.run_id)
        self._index.extend()
        self._lanes = Lanes(self._index)
        self._tokens = dict(_NO_TOKENS)
        self._cost_usd = 0.0

    def events(self, progress: Progress) -> Iterator[dict[str, Any]]:
        yield from self._names()
        yield self._whole_run()
        for number, event in enumerate(events_of(self._run.folder, self._run.run_id, progress), 1):
            if number > self._index.total:  # a live run has grown meanwhile
                break
            kind = self._index.kind[number - 1]
            if kind in (START, END) or (kind == CALL_START and self._index.status[number - 1] == ENDED):
                continue  # said by the whole run, and by the call itself
            yield self._happening(number, kind, event)
            if kind == LLM:
                yield from self._counters(number, event["payload"])
        self._index.close()

    def _names(self) -> Iterator[dict[str, Any]]:
        name = f"{one_line(self._run.meta['run_name'] or 'unnamed', 120)} ({self._run.run_id[:8]})"
        yield self._named("process_name", 0, {"name": name})
        yield self._named("process_sort_index", 0, {"sort_index": self._pid})
        for lane in range(self._lanes.count):
            yield self._named("thread_name", lane, {"name": f"parallel {lane}" if lane else "run"})
            yield self._named("thread_sort_index", lane, {"sort_index": lane})

    def _named(self, what: str, lane: int, args: dict[str, Any]) -> dict[str, Any]:
        return {"ph": "M", "name": what, "pid": self._pid, "tid": lane + 1, "args": args}

    def _whole_run(self) -> dict[str, Any]:
        meta = self._run.meta
        args = {key: meta.get(key) for key in ("run_id", "status", "status_reason", "started_at", "counts", "metadata")}
        return {
            "ph": "X",
            "name": one_line(meta["run_name"] or "run", 120),
            "cat": "run",
            "pid": self._pid,
            "tid": 1,
            "ts": self._index.started_ms * 1000,
            "dur": self._lanes.whole_ms * 1000,
            "args": {key: _cut(value) for key, value in args.items() if value},
        }

    def _happening(self, number: int, kind: int, event: Event) -> dict[str, Any]:
        payload = event["payload"]
        name = payload.get("name") if kind == CALL_START else event["name"]
        trace_event: dict[str, Any] = {
            "ph": "X",
            "name": one_line(str(name or KINDS[kind]), 120),
            "cat": KINDS[kind],
            "pid": self._pid,
            "tid": self._lanes.lane_at(number) + 1,
            "ts": (self._index.started_ms + self._lanes.start_ms[number - 1]) * 1000,
        }
        if self._lanes.is_slice(number):
            trace_event["dur"] = (self._lanes.end_ms[number - 1] - self._lanes.start_ms[number - 1]) * 1000
        else:
            trace_event.update(ph="i", s="t")
        trace_event["args"] = _args(number, event, kind)
        return trace_event

    def _counters(self, number: int, payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Tokens and cost so far, at the end of each model call."""
        common = {
            "ph": "C",
            "pid": self._pid,
            "tid": 1,
            "ts": (self._index.started_ms + self._lanes.end_ms[number - 1]) * 1000,
        }
        tokens_in, tokens_out, _ = tokens_of(payload)
        if tokens_in is not None or tokens_out is not None:
            self._tokens["in"] += tokens_in or 0
            self._tokens["out"] += tokens_out or 0
            yield {**common, "name": "tokens", "args": dict(self._tokens)}
        cost = cost_of(payload)
        if isinstance(cost, (int, float)) and not isinstance(cost, bool):
            self._cost_usd += cost
            yield {**common, "name": "cost_usd", "args": {"usd": self._cost_usd}}


def _args(number: int, event: Event, kind: int) -> dict[str, Any]:
    """What a viewer shows of a selected event; what is not known is left out."""
    payload = event["payload"]
    told: dict[str, Any] = {"event": number, "event_id": event["event_id"], "parent_id": event["parent_id"]}
    if kind == LLM:
        tokens_in, tokens_out, _ = tokens_of(payload)
        latest = conversation.turns(payload.get("prompt"), last=1)
        said = conversation.answer(payload.get("response"))
        told |= {"tokens in": tokens_in, "tokens out": tokens_out, "cost_usd": cost_of(payload)}
        told |= {"stop_reason": payload.get("stop_reason"), "last message": latest[0].text if latest else None}
        told |= {"answer": said.text, "calls": ", ".join(call.name for call in said.calls)}
    elif kind == TOOL:
        told |= {"args": payload.get("args"), "result": payload.get("result")}
    elif kind == CALL_START:
        told |= {"input": payload.get("input"), "never returned": True}
    elif kind == LOOP:
        told |= {key: payload.get(key) for key in ("severity", "kind", "pattern", "repetitions", "explanation")}
    elif kind != EXCEPTION:
        told["payload"] = payload
    if kind == EXCEPTION or payload.get("error"):
        told["error"] = failure_of(payload).text
    told["source"] = payload.get("source")
    return {key: _cut(value) for key, value in told.items() if value not in (None, "", {})}


def _cut(value: Any) -> Any:
    """Numbers as they are, everything else as text of a bearable length."""
    if isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else as_json(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… {len(text) - _LONGEST:,} characters left out"


_OUT_BY_MS = 2
"""Ends are cut to milliseconds and lengths measured by another clock, so a child may stick out by this much."""
_NO_LANE = 0xFFFFFFFF


class Lanes:
    """The place of every event that takes time: `lane`, `start_ms` and `end_ms`, each at `number - 1`."""

    def __init__(self, columns: RunColumns) -> None:
        self._columns = columns
        total = columns.total
        self.lane = array("I", [_NO_LANE]) * total
        self.start_ms = array("Q", columns.start_ms)
        self.end_ms = array("Q", columns.start_ms)
        self.count = 1
        self.whole_ms = 0
        """How long the run is: until the last thing in it has ended."""
        self._measure()
        self._place()

    def is_slice(self, number: int) -> bool:
        """Whether the event takes time and has a place of its own."""
        return self.lane[number - 1] != _NO_LANE

    def lane_at(self, number: int) -> int:
        """The lane of an event, or of what it happened in."""
        for other in (number, *ancestors(self._columns, number)):
            if self.is_slice(other):
                return int(self.lane[other - 1])
        return 0

    def _measure(self) -> None:
        columns = self._columns
        for at in range(columns.total):
            if columns.kind[at] in (LLM, TOOL, SPAN) and columns.duration_ms[at] != NO_VALUE:
                self.end_ms[at] += columns.duration_ms[at]
            self.whole_ms = max(self.whole_ms, self.end_ms[at])
        for at in range(columns.total):
            if self._never_ended(at):
                self.end_ms[at] = self.whole_ms

    def _never_ended(self, at: int) -> bool:
        return self._columns.kind[at] == CALL_START and self._columns.status[at] != ENDED

    def _place(self) -> None:
        columns = self._columns
        taking_time = [
            at + 1
            for at in range(columns.total)
            if (columns.kind[at] in (LLM, TOOL, SPAN) and columns.duration_ms[at] != NO_VALUE) or self._never_ended(at)
        ]
        # What encloses comes before what it encloses; of two equal ones the span, which is written last.
        taking_time.sort(key=lambda number: (self.start_ms[number - 1], -self.end_ms[number - 1], -number))
        open_in: list[list[int]] = [[]]
        for number in taking_time:
            around = self._fit_into_surroundings(number)
            home = 0 if around == 0 else self.lane[around - 1]
            lane = self._free_lane(number, around, home, open_in)
            self.lane[number - 1] = lane
            open_in[lane].append(number)
        self.count = len(open_in)

    def _fit_into_surroundings(self, number: int) -> int:
        """The nearest ancestor that encloses the event, 0 for the run itself; what sticks out a little is drawn in."""
        at = number - 1
        for ancestor in ancestors(self._columns, number):
            if not self.is_slice(ancestor):
                continue
            start, end = self.start_ms[ancestor - 1], self.end_ms[ancestor - 1]
            if start <= self.start_ms[at] + _OUT_BY_MS and self.end_ms[at] <= end + _OUT_BY_MS:
                self.start_ms[at] = min(max(self.start_ms[at], start), end)
                self.end_ms[at] = max(min(self.end_ms[at], end), self.start_ms[at])
                return ancestor
        return 0

    def _free_lane(self, number: int, around: int, home: int, open_in: list[list[int]]) -> int:
        if self._follows(number, around, open_in[home]):
            return home
        start = self.start_ms[number - 1]
        for lane in range(1, len(open_in)):
            stack = open_in[lane]
            while stack and self.end_ms[stack[-1] - 1] <= start:
                stack.pop()
            if lane != home and not stack:
                return lane
        open_in.append([])
        return len(open_in) - 1

    def _follows(self, number: int, around: int, stack: list[int]) -> bool:
        """Whether all that came before it in its surroundings has ended; a little overlap is drawn apart."""
        at = number - 1
        inside = stack[stack.index(around) + 1 :] if around in stack else stack[:]
        latest = max((self.end_ms[other - 1] for other in inside), default=0)
        if latest > self.start_ms[at] + _OUT_BY_MS or (around and around not in stack):
            return False
        del stack[len(stack) - len(inside) :]
        self.start_ms[at] = max(self.start_ms[at], latest)
        self.end_ms[at] = max(self.end_ms[at], self.start_ms[at])
        return True
