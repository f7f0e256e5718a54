"""
The walk of every event of a run: enrich → redact → guard → append, here and nowhere else.

What may run the user's code (redaction calls their `__repr__`) happens before the lock is taken; under the lock there
is only counting, judging and one write. What stopped a run is on disk when the caller sees the exception. An
interruption (a signal handler's exception) may come anywhere. Before the lock it costs the event, which is counted as
dropped. Under it the event is finished first: an event that was counted is written, and the other way round.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.events import new_id, utc_timestamp
from agentdbg.interruptions import is_not_ours
from agentdbg.recorder.counters import Counters
from agentdbg.recorder.described_errors import describe_error
from agentdbg.recorder.limits import Guards, Limits, detector_of
from agentdbg.recorder.payloads import States, error_fields, llm_fields, own_type, tool_fields, whole_ms
from agentdbg.recorder.prices import PriceTable
from agentdbg.recorder.run_clock import RunClock
from agentdbg.recorder.run_log import NO_META, RunLog, redactor_of
from agentdbg.recorder.stopping import Stop, stop_fields

if TYPE_CHECKING:
    from agentdbg.config import Config
    from agentdbg.exceptions import AgentDbgGuardrailExceeded
    from agentdbg.loops import LoopFinding
    from agentdbg.recorder.limits import Verdict

__all__ = ["EventWalk"]

_REFRESH_SECONDS = 1.0
_CALL_START_BYTES = 4_000
_NO_PLACE = ""


class _Entry(NamedTuple):
    """An event that only has to be judged and written."""

    event_type: str
    event_id: str
    ts: str
    name: str
    payload: dict[str, Any]
    meta: dict[str, Any]
    line: bytes
    parent_id: str
    is_span: bool


class EventWalk:
    """What a run needs to take events in, under one lock."""

    __slots__ = (
        "_end",
        "_guards",
        "_last_event_ts",
        "_last_parent_id",
        "_log",
        "_open_calls",
        "_redactor",
        "_refreshed",
        "_short_redactor",
        "_states",
        "clock",
        "closed",
        "counters",
        "lock",
        "prices",
        "run_id",
        "start_id",
        "started_at",
        "stop",
    )

    # The verbs find here what they need: they are loaded long before a run is, these with the first run.
    llm_fields = llm_fields
    tool_fields = tool_fields
    error_fields = staticmethod(error_fields)
    own_type = staticmethod(own_type)
    whole_ms = staticmethod(whole_ms)
    describe_error = staticmethod(describe_error)

    def __init__(self, config: Config, run_id: str, folder: str, limits: Limits) -> None:
        self.run_id = run_id
        self.start_id = new_id()
        self.prices = PriceTable(config.prices)
        self.lock = threading.RLock()  # re-entrant: a signal handler or a __del__ may record in the middle of it
        self.closed = False
        self.stop: Stop | None = None
        self.counters = Counters()
        self._redactor = redactor_of(config)
        self._short_redactor = self._redactor.with_limit(min(config.max_field_bytes, _CALL_START_BYTES))
        self._guards = Guards(limits, self.counters, partial(detector_of, config))
        self._log = RunLog(folder, run_id, config, self._redactor, self.counters, limits.as_dict())
        self._states = States(self._redactor, config.max_field_bytes)
        self._open_calls: dict[str, str] = {}
        """The calls that have begun and not ended. Those with a kind have a place among those a limit allows."""
        self._end: tuple[str | None, int | None, str] = (None, None, "running")
        self._refreshed = 0.0
        self._start_clocks()

    def emit(
        self,
        event_type: str,
        name: Any,
        fields: dict[str, Any],
        meta: Any,
        parent_id: str,
        given: tuple[Any, ...] | None = None,
        duration_ms: int | None = None,
        source: str | None = None,
        event_id: str | None = None,  # by name from here on: a `*` would make every call look them up
        is_span: bool = False,
        quiet: bool = False,
        sealed: tuple[dict[str, Any], bytes] | None = None,
    ) -> str | None:
        """
        Take one event through every stage and onto disk; its id, or None when it was not written.

        `given` are the values that came from outside, where all else in `fields` was made here. `quiet` keeps a stop
        from being raised here (the end of a call lets its result through; the next record raises).
        """
        will_be_tried_again = event_id is not None  # by whoever stands around a call
        try:
            # This may run the user's code, so it is never done under the lock.
            payload, encoded = sealed or self._redactor.seal_parts(fields, given)
            clean_name, name_json = self._log.name(name)
            meta_value, meta_bytes = ({}, NO_META) if meta is None else self._log.seal_meta(meta)
            event_id = event_id or new_id()
            ts = utc_timestamp()
            line = self._log.line(
                event_type, event_id, parent_id, ts, duration_ms, name_json, encoded, meta_bytes, source
            )
        except BaseException as error:
            if not will_be_tried_again and is_not_ours(error):  # what is ours is counted where it ends
                self.count_fault()
            raise
        is_written = self._commit(
            _Entry(event_type, event_id, ts, clean_name, payload, meta_value, line, parent_id, is_span)
        )
        if is_written is None:
            return None
        if self.stop is not None and not quiet:
            self.stop.raise_here()
        return event_id if is_written else None

    def _commit(self, entry: _Entry) -> bool | None:
        """
        Judge an event and write it, also when it is interrupted meanwhile.

        False when it could not be written; None when the run is over.
        """
        with self.lock:  # `acquire` and `try` would be quicker, but an interruption between the two leaves it locked
            if self.closed or (self.counters.is_shared and self.counters.ended_elsewhere()):
                self._count_late()
                return None
            before, stop = self.counters.snapshot(), self.stop
            kind = self._open_calls.get(entry.event_id)
            try:
                return self._judge_and_write(entry)
            except BaseException:
                if not self._log.holds(entry.line):
                    self.counters.restore(before)
                    self.stop = stop
                    if kind is not None:
                        self._open_calls[entry.event_id] = kind
                    self._guards.look_anew()
                    self._judge_and_write(entry)
                raise

    def _judge_and_write(self, entry: _Entry) -> bool:
        kind = self._open_calls.pop(entry.event_id, None)
        if kind:
            self._guards.release(kind)
        elapsed_s = self.clock.elapsed_s()
        verdict = self._guards.judge_parts(
            entry.event_type,
            entry.event_id,
            entry.ts,
            entry.name,
            entry.payload,
            entry.meta,
            elapsed_s,
            entry.is_span,
        )
        self._last_event_ts = entry.ts
        self._last_parent_id = entry.parent_id
        line = entry.line
        if verdict is not None:
            line += self._lines_after(verdict, entry.parent_id)
        is_written = self._log.append(line)
        if elapsed_s - self._refreshed > _REFRESH_SECONDS:
            self._refresh(elapsed_s)
        return is_written

    def emit_state(
        self, name: str, state: Any, diff: Any, extra: dict[str, Any], meta: Any = None, **place: Any
    ) -> str | None:
        """A STATE_UPDATE, with its difference to the state of that name before it."""
        name = self.clean_name(name)
        return self.emit("STATE_UPDATE", name, {}, meta, sealed=self._states.seal(name, state, diff, extra), **place)

    # Calls that are being made.

    def begin_call(
        self,
        call_id: str,
        kind: str,
        name: Any,
        given: Any,
        parent_id: str,
        meta: Any = None,
        takes_place: bool = True,
    ) -> None:
        """
        Take a place for a call and write its CALL_START; raises when a limit leaves no place.

        A call that is answered without being made takes none.
        """
        clean_name, name_json = self._log.name(name)
        fields = {"kind": kind, "name": clean_name, "input": given}
        encoded = self._short_redactor.seal_parts(fields, (given,))[1]
        payload = b'{"call_id":"%b",%b' % (call_id.encode(), encoded[1:])  # ours, and never the same twice
        meta_bytes = self._log.seal_meta(meta)[1]
        line = self._log.line("CALL_START", new_id(), parent_id, utc_timestamp(), None, name_json, payload, meta_bytes)
        with self.lock:
            if self._is_over():
                self._count_late()
                return
            before, stop = self.counters.snapshot(), self.stop
            try:
                is_asked = stop is None and takes_place
                refusal = self._guards.reserve(kind, self.clock.elapsed_s()) if is_asked else None
                if refusal is not None:
                    line = self._stop_line(refusal, parent_id)
                    self._log.append(line)
                elif stop is None:
                    self._open_calls[call_id] = kind if takes_place else _NO_PLACE
                    self.counters.count_type("CALL_START")
                    self._log.append(line)
                    return
            except BaseException:
                if not self._log.holds(line):  # nothing has begun
                    self.counters.restore(before)
                    self.stop = stop
                    self._open_calls.pop(call_id, None)
                raise
        self._go_on_after_stop(call_id, kind if takes_place else _NO_PLACE)

    def take_place(self, call_id: str, kind: str, parent_id: str) -> None:
        """Take a place for a call that began without one; raises when a limit leaves none."""
        with self.lock:
            refusal = None if self.stop is not None else self._guards.reserve(kind, self.clock.elapsed_s())
            if refusal is not None:
                self._log.append(self._stop_line(refusal, parent_id))
            elif self.stop is None:
                self._open_calls[call_id] = kind
                return
        self._go_on_after_stop(call_id, kind)

    def _go_on_after_stop(self, call_id: str, kind: str) -> None:
        """Raise the stop, unless it is just being handled here: then this call is part of the cleanup."""
        assert self.stop is not None
        self.stop.raise_here()
        with self.lock:
            if kind:
                self._guards.take_place(kind)
            self._open_calls[call_id] = kind

    def is_open(self, call_id: str) -> bool:
        """Whether a call has begun whose end is not recorded."""
        return call_id in self._open_calls

    def release_call(self, call_id: str) -> None:
        """Give back the place of a call whose end will not be recorded."""
        with self.lock:
            kind = self._open_calls.pop(call_id, None)
            if kind:
                self._guards.release(kind)

    # What others ask.

    def has_written(self, event_id: str) -> bool:
        """Whether an event is in the file; for whoever was interrupted while it was written."""
        with self.lock:
            return self._log.holds(event_id.encode())

    def clean_name(self, name: Any) -> str:
        """A name as it is stored."""
        return self._log.name(name)[0]

    def count_fault(self) -> None:
        """A fault of ours, or an interruption, kept an event from being written."""
        self.counters.dropped += 1

    def _is_over(self) -> bool:
        return self.closed or self.counters.ended_elsewhere()

    def _count_late(self) -> None:
        is_first = not self.counters.total("dropped")
        self.counters.dropped += 1
        self.counters.publish()
        elapsed_s = self.clock.elapsed_s()
        if self.closed and (is_first or elapsed_s - self._refreshed > _REFRESH_SECONDS):
            self._refresh(elapsed_s)

    # Writing.

    def _start_clocks(self) -> None:
        """Both at once, after our own preparations: a run is as long as the time between its two ends."""
        self.started_at, self.clock = utc_timestamp(), RunClock()
        self._last_event_ts = self.started_at
        self._last_parent_id = self.start_id

    def _lines_after(self, verdict: Verdict, parent_id: str) -> bytes:
        """What is written behind an event because of it."""
        lines = b"" if verdict.finding is None else self._finding_line(verdict.finding)
        if verdict.stop is not None and self.stop is None:
            lines += self._stop_line(verdict.stop, parent_id)
        return lines

    def _finding_line(self, finding: LoopFinding) -> bytes:
        self.counters.loop_warnings += 1
        return self._log.extra_line("LOOP_WARNING", finding.pattern, finding.payload(), self._last_parent_id)

    def _last_finding_line(self) -> bytes:
        """What the detector was holding back, once nothing more can come of it."""
        finding = self._guards.last_finding()
        return b"" if finding is None else self._finding_line(finding)

    def _stop_line(self, exceeded: AgentDbgGuardrailExceeded, parent_id: str) -> bytes:
        exceeded.run_id = self.run_id
        self.stop = Stop(exceeded, self.run_id)
        self.counters.stops += 1
        self.counters.limited_events += 1
        fields = stop_fields(exceeded)
        self.counters.add("ERROR", fields)
        return self._last_finding_line() + self._log.extra_line("ERROR", type(exceeded).__name__, fields, parent_id)

    def _refresh(self, elapsed_s: float) -> None:
        self._refreshed = elapsed_s
        self._log.refresh(self._last_event_ts, *self._end)
