"""
The walk of every event to the disk: seal → judge → append → refresh, here and nowhere else.

A verb, an importer or the receiver hands over a `Draft`. What may run the user's code (redaction calls their
`__repr__`) happens before the lock is taken; under the lock there is only counting, judging and one write. What stopped
a run is on disk when the caller sees the exception. An interruption (a signal handler's exception) may come anywhere.
Before the lock it costs the event, which is counted as dropped. Under it the event is finished first: an event that was
counted is written, and the other way round.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.encoding import encode_json
from agentdbg.events import new_id, utc_timestamp
from agentdbg.interruptions import is_not_ours
from agentdbg.recorder.described_errors import describe_error
from agentdbg.recorder.limits import Budget, Limits, RunClock, detector_of
from agentdbg.recorder.payloads import States, error_fields, llm_fields, own_type, tool_fields, whole_ms
from agentdbg.recorder.prices import PriceTable
from agentdbg.recorder.run_log import RunLog, fit_payload, join_objects, redactor_of
from agentdbg.recorder.stopping import Stop, stop_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentdbg.config import Config
    from agentdbg.exceptions import AgentDbgGuardrailExceeded
    from agentdbg.loops import LoopFinding
    from agentdbg.recorder.limits import Verdict
    from agentdbg.tape.tape_writer import TapeCall, TapeWriter

__all__ = ["Draft", "EventWalk"]

_REFRESH_SECONDS = 1.0
_CALL_START_BYTES = 4_000


class Draft(NamedTuple):
    """An event as its caller knows it, before it is sealed."""

    event_type: str
    name: Any
    fields: dict[str, Any]
    meta: Any
    parent_id: str
    budget: Budget | None = None
    """What it is spent from; None: the run's own."""
    given: tuple[Any, ...] | None = None
    """The values that came from outside, where all else in `fields` was made here; None: any may have."""
    duration_ms: int | None = None
    source: str | None = None
    event_id: str | None = None
    ts: str | None = None
    """When it happened; None: now."""
    is_span: bool = False
    is_told: bool = False
    """Whether it was an event of ours before: it is stored as it is, and loops have been looked for."""
    taped: TapeCall | None = None
    """What the tape gets of the call whose end this is."""


class _Entry(NamedTuple):
    """An event that only has to be judged and written."""

    draft: Draft
    event_id: str
    ts: str
    name: str
    payload: dict[str, Any]
    meta: dict[str, Any]
    line: bytes
    chain: tuple[Budget, ...]


class EventWalk:
    """What a run needs to take events in, under one lock."""

    __slots__ = (
        "_end",
        "_last_event_ts",
        "_last_parent_id",
        "_log",
        "_make_id",
        "_open_calls",
        "_redactor",
        "_refreshed",
        "_short_redactor",
        "_states",
        "_told_loops",
        "budget",
        "clock",
        "closed",
        "counters",
        "forked_at",
        "lock",
        "prices",
        "run_id",
        "start_id",
        "started_at",
    )

    # The verbs find here what they need: they are loaded long before a run is, these with the first run.
    llm_fields = llm_fields
    tool_fields = tool_fields
    error_fields = staticmethod(error_fields)
    own_type = staticmethod(own_type)
    whole_ms = staticmethod(whole_ms)
    describe_error = staticmethod(describe_error)
    draft = Draft

    def __init__(
        self,
        config: Config,
        run_id: str,
        folder: str,
        limits: Limits,
        *,
        start_id: str | None = None,
        make_id: Callable[[str], str] | None = None,
        names: dict[str, tuple[str, str]] | None = None,
        batch_bytes: int = 0,
    ) -> None:
        self.run_id = run_id
        self.start_id = start_id or new_id()
        self.prices = PriceTable(config.prices)
        self.lock = threading.RLock()  # re-entrant: a signal handler or a __del__ may record in the middle of it
        self.forked_at = 0.0
        """In a forked child: when that began. What was open then is the parent's to end."""
        self.closed = False
        self.clock = RunClock()
        self.budget = Budget(limits, partial(detector_of, config), self.clock)
        self.counters = self.budget.counters
        self._redactor = redactor_of(config)
        self._short_redactor = self._redactor.with_limit(min(config.max_field_bytes, _CALL_START_BYTES))
        self._log = RunLog(
            folder,
            run_id,
            config,
            self._redactor,
            self.counters,
            limits.as_dict(),
            names=names,
            batch_bytes=batch_bytes,
        )
        self._states = States(self._redactor, config.max_field_bytes)
        self._make_id = make_id
        """Makes the ids of what is written because of other events ("loop", "error"), where they are to be stable."""
        self._open_calls: dict[str, tuple[str, tuple[Budget, ...]]] = {}
        """The calls that have begun and not ended. Those with a kind have a place among those a limit allows."""
        self._told_loops: set[tuple[str, str]] = set()
        self._end: tuple[str | None, int | None, str] = (None, None, "running")
        self._refreshed = 0.0
        self._start_clocks()

    @property
    def stop(self) -> Stop | None:
        """The limit that ended the run, if one did."""
        return self.budget.stop

    # Seal.

    def emit(self, draft: Draft, *, quiet: bool = False) -> str | None:
        """
        Take one event through every stage and onto disk; its id, or None when it was not written.

        `quiet` keeps a stop from being raised here (the end of a call lets its result through; the next record raises).
        """
        try:
            entry = self._seal(draft)
        except BaseException as error:
            # What has an id is tried again by whoever stands around a call; what is ours is counted where it ends.
            if draft.event_id is None and is_not_ours(error):
                self.count_fault()
            raise
        is_written = self._commit(entry)
        if is_written is None:
            return None
        if not quiet:
            self._raise_stop(entry.chain)
        return entry.event_id if is_written else None

    def _seal(self, draft: Draft) -> _Entry:
        """Redact an event and make its line. This may run the user's code, so it is never done under the lock."""
        log = self._log
        name, name_json = log.name(draft.name)
        if draft.event_type == "STATE_UPDATE" and not draft.is_span:
            payload, payload_json = self._states.seal(name, draft.fields, is_told=draft.is_told)
        else:
            payload, payload_json = self._redactor.seal_parts(draft.fields, draft.given)
        meta, meta_json = log.seal_meta(draft.meta)
        event_id, ts = draft.event_id or new_id(), draft.ts or utc_timestamp()
        line = log.line(
            draft.event_type,
            event_id,
            draft.parent_id,
            ts,
            draft.duration_ms,
            name_json,
            payload_json,
            meta_json,
            draft.source,
        )
        chain = (draft.budget or self.budget).chain
        return _Entry(draft, event_id, ts, name, payload, meta, line, chain)

    # Judge.

    def _commit(self, entry: _Entry) -> bool | None:
        """
        Judge an event and write it, also when it is interrupted meanwhile.

        False when it could not be written; None when the run is over.
        """
        with self.lock:  # `acquire` and `try` would be quicker, but an interruption between the two leaves it locked
            if self._is_over():
                self._count_late()
                return None
            before = [(budget, budget.snapshot()) for budget in entry.chain]
            call, told_loops = self._open_calls.get(entry.event_id), self._told_loops.copy()
            try:
                return self._judge_and_write(entry)
            except BaseException:
                if not self._log.holds(entry.line):
                    for budget, counted in before:
                        budget.restore(counted)
                        budget.look_anew()
                    self._told_loops = told_loops
                    if call is not None:
                        self._open_calls[entry.event_id] = call
                    self._judge_and_write(entry)
                raise

    def _judge_and_write(self, entry: _Entry) -> bool:
        self._end_call(entry.event_id)
        draft, lines = entry.draft, entry.line
        for budget in entry.chain:
            verdict = budget.judge(
                draft.event_type, entry.event_id, entry.ts, entry.name, entry.payload, entry.meta, draft.is_span
            )
            if verdict is not None and not draft.is_told:
                lines += self._lines_after(verdict, budget, entry)
        self._last_event_ts = entry.ts
        self._last_parent_id = draft.parent_id
        if draft.taped is not None and self._log.tape is not None:
            self._log.tape.write(draft.taped, entry.event_id)  # first, so that no event on disk lacks its values
        is_written = self._append(lines, entry.chain)
        if not self._log.is_batched and self.clock.elapsed_s() - self._refreshed > _REFRESH_SECONDS:
            self._refresh()
        return is_written

    def _end_call(self, call_id: str) -> None:
        if call_id in self._open_calls:
            kind, chain = self._open_calls.pop(call_id)
            for budget in chain:
                budget.reserve(kind, -1)

    def _lines_after(self, verdict: Verdict, budget: Budget, entry: _Entry) -> bytes:
        """What is written behind an event because of it."""
        lines = b""
        if verdict.finding is not None and (budget is self.budget or verdict.finding.severity != "info"):
            lines = self._finding_line(verdict.finding, entry.draft.parent_id, entry.ts)
        if verdict.stop is not None and not any(outer.stop for outer in budget.chain):
            lines += self._stop_line(verdict.stop, budget, entry.draft.parent_id, entry.ts)
        return lines

    def _finding_line(self, finding: LoopFinding, parent_id: str, ts: str) -> bytes:
        told = (finding.pattern, finding.severity)
        if told in self._told_loops:  # by a span with limits of its own, or by the run around it
            return b""
        self._told_loops.add(told)
        line = self._extra_line("LOOP_WARNING", "loop", finding.pattern, finding.payload(), parent_id, ts)
        self.counters.loop_warnings += 1
        return line

    def _last_finding_line(self, ts: str) -> bytes:
        """What the detector was holding back, once nothing more can come of it."""
        finding = self.budget.last_finding()
        return b"" if finding is None else self._finding_line(finding, self._last_parent_id, ts)

    def _stop_line(self, exceeded: AgentDbgGuardrailExceeded, budget: Budget, parent_id: str, ts: str) -> bytes:
        exceeded.run_id, exceeded.span_id = self.run_id, budget.span_id
        budget.stop = Stop(exceeded)
        budget.counters.stops += 1
        for spent in budget.chain:
            spent.counters.limited_events += 1
        fields = stop_fields(exceeded)
        self.counters.add("ERROR", fields)
        held_back = self._last_finding_line(ts) if budget is self.budget else b""
        return held_back + self._extra_line("ERROR", "error", type(exceeded).__name__, fields, parent_id, ts)

    def _extra_line(
        self, event_type: str, kind: str, name: str, fields: dict[str, Any], parent_id: str, ts: str
    ) -> bytes:
        """The line of an event of our own making, counted."""
        event_id = new_id() if self._make_id is None else self._make_id(kind)
        self.counters.count_type(event_type)
        payload = self._redactor.seal_parts(fields)[1]
        return self._log.line(event_type, event_id, parent_id, ts, None, self._log.name(name)[1], payload)

    # Append, and refresh.

    def _append(self, lines: bytes, chain: tuple[Budget, ...]) -> bool:
        is_written = self._log.append(lines)
        if not is_written:
            self.counters.dropped += self._log.take_dropped()
        for budget in chain:
            if budget.counters.is_shared:
                budget.counters.publish()
        return is_written

    def _refresh(self) -> None:
        self._refreshed = self.clock.elapsed_s()
        self._log.refresh(self._last_event_ts, *self._end)

    # The end.

    def conclude(self, failure: Mapping[str, Any] | None, outcome: Mapping[str, Any] | None) -> tuple[str, bytes]:
        """How the run ended: its status, and what RUN_END says besides the summary."""
        known = dict(outcome or {}) if failure is None else {**(outcome or {}), "error": failure}
        rest = self._redactor.seal_parts(known)[1]
        if self._states.last is not None and "final_state" not in known:
            rest = fit_payload(join_objects(rest, b'{"final_state":%b}' % self._states.last))
        return "ok" if failure is None else "error", rest

    def write_end(self, end_id: str, rest: bytes, end: tuple[str, int, str], *, is_told: bool = False) -> None:
        """Write RUN_END unless it is there, and the last run.json; `end` is when, after how long, and how."""
        was_tried, self.closed = self.closed, True
        ended_at, duration_ms, status = self._end = end
        if not (was_tried and self._log.holds(end_id.encode())):
            held_back = b"" if is_told else self._last_finding_line(ended_at)
            ending: dict[str, Any] = {"status": status, "summary": self._log.end_summary(duration_ms)}
            if self.clock.paused_s >= 0.001:
                ending["paused_ms"] = int(self.clock.paused_s * 1000)
            payload = join_objects(encode_json(ending), rest)
            line = self._log.line("RUN_END", end_id, self.start_id, ended_at, duration_ms, '"run_end"', payload)
            self._append(held_back + line, self.budget.chain)
        self.counters.count_end()
        self._last_event_ts = ended_at
        self._log.flush()
        self._refresh()
        self._log.close()

    @property
    def tape(self) -> TapeWriter | None:
        """What keeps the whole values of calls; None when nobody wants them kept."""
        return self._log.tape

    def keep(self, taped: TapeCall, event_id: str | None) -> bool:
        """Put a call onto the tape that has no event of its own, as an HTTP exchange; False when it is not there."""
        with self.lock:
            return self._log.tape is not None and not self._is_over() and self._log.tape.write(taped, event_id)

    # What others ask.

    def has_written(self, event_id: str) -> bool:
        """Whether an event is in the file; for whoever was interrupted while it was written."""
        with self.lock:
            return self._log.holds(b'"event_id":"%b"' % event_id.encode())  # others may name it as their parent

    def clean_name(self, name: Any) -> str:
        """A name as it is stored."""
        return self._log.name(name)[0]

    def count_fault(self) -> None:
        """A fault of ours, or an interruption, kept an event from being written."""
        self.counters.dropped += 1

    def _raise_stop(self, chain: tuple[Budget, ...]) -> None:
        """Raise the stop of whatever was stopped here, the outermost first."""
        for budget in chain:
            if budget.stop is not None:
                budget.stop.raise_here(was_left=budget.is_over)

    def _is_over(self) -> bool:
        return self.closed or (self.counters.is_shared and self.counters.ended_elsewhere())

    def _count_late(self) -> None:
        is_first = not self.counters.total("dropped")
        self.counters.dropped += 1
        self.counters.publish()
        if self.closed and (is_first or self.clock.elapsed_s() - self._refreshed > _REFRESH_SECONDS):
            self._refresh()

    def _start_clocks(self) -> None:
        """Both at once, after our own preparations: a run is as long as the time between its two ends."""
        self.started_at = utc_timestamp()
        self.clock.start()
        self._last_event_ts = self.started_at
        self._last_parent_id = self.start_id
