"""
One run while it lasts: every event walks enrich → redact → guard → append here, and nowhere else.

`ActiveRun.emit` is that walk. What may run the user's code (redaction calls their `__repr__`) happens before the lock
is taken; under the lock there is only counting, judging and one write. What stopped a run is on disk when the caller
sees the exception.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.events import new_id, utc_timestamp
from agentdbg.faults import contain, tell_once
from agentdbg.loading import undisturbed
from agentdbg.recorder.cleaning import redactor_of
from agentdbg.recorder.counters import Counters
from agentdbg.recorder.errors import FailedCalls, describe_error, is_clean_exit
from agentdbg.recorder.event_lines import NO_META, fit_payload, join_objects
from agentdbg.recorder.guardrails import Guards, Limits, detector_of
from agentdbg.recorder.limits import choose_limits
from agentdbg.recorder.payloads import error_fields, llm_fields, own_type, tool_fields, whole_ms
from agentdbg.recorder.prices import PriceTable
from agentdbg.recorder.run_log import RunLog
from agentdbg.recorder.run_summary import end_summary, start_fields
from agentdbg.recorder.states import States
from agentdbg.recorder.stopping import STOPPED_IN_A_CHILD, Stop, is_stop, stop_fields
from agentdbg.storage.layout import run_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentdbg.config import Config
    from agentdbg.exceptions import AgentDbgGuardrailExceeded
    from agentdbg.loops import LoopFinding
    from agentdbg.recorder.deadline import Deadline
    from agentdbg.recorder.guardrails import Verdict

__all__ = ["ActiveRun", "choose_limits"]

_REFRESH_SECONDS = 1.0
_CALL_START_BYTES = 4_000


class ActiveRun:
    """The state of one run, under one lock."""

    # Beyond thirty attributes CPython looks each up the slow way, and an event asks for twenty of them.
    __slots__ = (
        "__weakref__",
        "_deadline",
        "_end",
        "_failed_calls",
        "_guards",
        "_is_leaving",
        "_last_event_ts",
        "_last_parent_id",
        "_limits",
        "_log",
        "_pid",
        "_redactor",
        "_refreshed",
        "_short_redactor",
        "_started",
        "_states",
        "before_end",
        "capture_args",
        "closed",
        "counters",
        "is_process_wide",
        "lock",
        "may_stay_open",
        "name",
        "path",
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

    def __init__(
        self, config: Config, name: str, limits: Limits, start: Mapping[str, Any], meta: Mapping[str, Any] | None = None
    ) -> None:
        self.run_id = new_id()
        self.start_id = new_id()
        self.path = run_dir(config.data_dir, self.run_id)
        self.capture_args = config.capture_args
        self.prices = PriceTable(config.prices)
        self.lock = threading.RLock()  # re-entrant: a signal handler or a __del__ may record in the middle of it
        self.closed = False
        self.is_process_wide = False
        self.may_stay_open = False
        """Whether the run may last until the program exits: the process's own run, and that of a generator."""
        self.stop: Stop | None = None
        self.before_end: dict[Any, Callable[[], None]] = {}
        """What must still be recorded, or waited for, before RUN_END is written; removed by whoever put it there."""
        self.counters = Counters()
        self._pid = os.getpid()
        self._limits = limits
        self._redactor = redactor_of(config)
        for problem in self._redactor.problems:
            tell_once(problem, problem)
        self._short_redactor = self._redactor.with_limit(min(config.max_field_bytes, _CALL_START_BYTES))
        self._guards = Guards(limits, self.counters, partial(detector_of, config))
        self._log = RunLog(str(self.path), self.run_id, config, self._redactor, self.counters, limits.as_dict())
        self._states = States(self._redactor, config.max_field_bytes)
        self._failed_calls = FailedCalls()
        self._deadline: Deadline | None = None
        self._is_leaving = False
        self._end: tuple[str | None, int | None, str] = (None, None, "running")
        self._begin(name, start, meta)

    # The walk.

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
        kind: str | None = None,
        quiet: bool = False,
        sealed: tuple[dict[str, Any], bytes] | None = None,
    ) -> str | None:
        """
        Take one event through every stage and onto disk; its id, or None when the run is over.

        `given` are the values that came from outside, where all else in `fields` was made here. `kind` gives back the
        place a call had taken. `quiet` keeps a stop from being raised here (the end of a call lets its result through;
        the next record raises).
        """
        # This may run the user's code, so it is never done under the lock.
        payload, encoded = sealed or self._redactor.seal_parts(fields, given)
        clean_name, name_json = self._log.name(name)
        meta_value, meta_bytes = ({}, NO_META) if meta is None else self._log.seal_meta(meta)
        event_id = event_id or new_id()
        ts = utc_timestamp()
        line = self._log.line(event_type, event_id, parent_id, ts, duration_ms, name_json, encoded, meta_bytes, source)
        with self.lock:  # `acquire` and `try` would be quicker, but an interruption between the two leaves it locked
            if self.closed or (self.counters.is_shared and self.counters.ended_elsewhere()):
                self._count_late()
                return None
            if kind is not None:
                self._guards.release(kind)
            elapsed_s = time.monotonic() - self._started
            verdict = self._guards.judge_parts(
                event_type, event_id, ts, clean_name, payload, meta_value, elapsed_s, is_span, encoded
            )
            self._last_event_ts = ts
            self._last_parent_id = parent_id
            if verdict is not None:
                line += self._lines_after(verdict, parent_id)
            self._log.append(line)
            if elapsed_s - self._refreshed > _REFRESH_SECONDS:
                self._refresh(elapsed_s)
        if self.stop is not None and not quiet:
            self.stop.raise_here()
        return event_id

    def emit_state(
        self, name: str, state: Any, diff: Any, extra: dict[str, Any], meta: Any = None, **place: Any
    ) -> str | None:
        """A STATE_UPDATE, with its difference to the state of that name before it."""
        name = self.clean_name(name)
        return self.emit("STATE_UPDATE", name, {}, meta, sealed=self._states.seal(name, state, diff, extra), **place)

    def begin_call(self, kind: str, name: Any, given: Any, parent_id: str, meta: Any = None) -> str:
        """Take a place for a call and write its CALL_START; raises when a limit leaves no place."""
        call_id = new_id()
        clean_name, name_json = self._log.name(name)
        fields = {"kind": kind, "name": clean_name, "input": given}
        encoded = self._short_redactor.seal_parts(fields, (given,))[1]
        payload = b'{"call_id":"%b",%b' % (call_id.encode(), encoded[1:])  # ours, and never the same twice
        meta_bytes = self._log.seal_meta(meta)[1]
        line = self._log.line("CALL_START", new_id(), parent_id, utc_timestamp(), None, name_json, payload, meta_bytes)
        with self.lock:
            if self._is_over():
                self._count_late()
                return call_id
            if self.stop is None:
                refusal = self._guards.reserve(kind, time.monotonic() - self._started)
                if refusal is None:
                    self.counters.count_type("CALL_START")
                    self._log.append(line)
                    return call_id
                self._log.append(self._stop_line(refusal, parent_id))
        assert self.stop is not None
        self.stop.raise_here()
        with self.lock:  # the stop is just being handled here, so this call is part of the cleanup
            self._guards.take_place(kind)
        return call_id

    def release_call(self, kind: str) -> None:
        """Give back the place of a call whose end will not be recorded."""
        with self.lock:
            self._guards.release(kind)

    # Beginning and end.

    def _begin(self, name: str, start: Mapping[str, Any], meta: Mapping[str, Any] | None) -> None:
        self.name = self.clean_name(name)
        argv = self._redactor.clean_argv(getattr(sys, "argv", None) or [])
        payload = self._redactor.seal(start_fields(self.name, argv, start, self._limits.as_dict())).encoded
        metadata = self._log.seal_meta(meta)[1]
        # Both clocks at once, after our own preparations: a run is as long as the time between its two ends.
        self.started_at, self._started = utc_timestamp(), time.monotonic()
        self._last_event_ts = self.started_at
        self._last_parent_id = self.start_id
        self._log.begin(self.start_id, name, self.started_at, payload, metadata)
        self._refresh(0.0)
        if self._limits.max_duration_s is not None:
            with undisturbed():
                from agentdbg.recorder.deadline import Deadline  # noqa: PLC0415 -- ctypes only for those who need it

            self._deadline = Deadline(self, self._limits.max_duration_s)

    def finish(self, error: BaseException | None = None, outcome: Mapping[str, Any] | None = None) -> None:
        """Write RUN_END and give everything back. Only the process that started the run does so, and only once."""
        if self.closed or os.getpid() != self._pid:
            return
        with self.lock:
            self._is_leaving = True
            if self._deadline is not None:
                self._deadline.cancel()
        self._settle()
        failure = None if error is None or is_clean_exit(error) else self._record_failure(error)
        if failure is None and self.stop is not None:
            failure = describe_error(self.stop.exceeded)
        elif failure is None and self.counters.total("stops"):
            failure = dict(STOPPED_IN_A_CHILD)
        status = "ok" if failure is None else "error"
        known = dict(outcome or {}) if failure is None else {**(outcome or {}), "error": failure}
        rest = self._redactor.seal(known).encoded
        if self._states.last is not None:
            rest = fit_payload(join_objects(rest, b'{"final_state":%b}' % self._states.last))
        with self.lock:
            if self._end[0] is not None:  # another thread was faster
                return
            self.closed = True
            held_back = self._last_finding_line()
            ended_at, duration_ms = utc_timestamp(), int((time.monotonic() - self._started) * 1000)
            summary = encoding.encode({"status": status, "summary": end_summary(self.counters, duration_ms)})
            payload = join_objects(summary, rest)
            line = self._log.line("RUN_END", new_id(), self.start_id, ended_at, duration_ms, '"run_end"', payload)
            self.counters.count_type("RUN_END")
            self._last_event_ts = ended_at
            self._log.append(held_back + line)
            self.counters.mark_ended()
            self._end = (ended_at, duration_ms, status)
            self._refresh(duration_ms / 1000)
            self._log.close()

    def _settle(self) -> None:
        for settle in list(self.before_end.values()):
            try:
                settle()
            except Exception as fault:  # noqa: BLE001 -- one that fails must not keep the others from it
                contain(fault, "record what was still open when the run ended", self.count_fault)
        self.before_end.clear()

    def _record_failure(self, error: BaseException) -> dict[str, Any]:
        """The ERROR event of what ended the run, unless it is a stop whose ERROR stands there already."""
        if self.stop is not None and is_stop(error, self.run_id):
            return describe_error(self.stop.exceeded)
        failure = describe_error(error)
        with self.lock:
            if line := self._last_finding_line():
                self._log.append(line)
        call_id = self._failed_calls.call_of(error)
        fields = {**failure, "context": None, "fatal": True, **({} if call_id is None else {"call_id": call_id})}
        self.emit("ERROR", failure["error_type"], fields, None, self.start_id, quiet=True)
        return failure

    # Stopping.

    def stop_overdue(self) -> AgentDbgGuardrailExceeded | None:
        """Stop the run because its time is over; None when it has ended or was stopped already."""
        with self.lock:
            if self._is_leaving or self._is_over() or self.stop is not None:
                return None
            exceeded = self._guards.overdue(time.monotonic() - self._started)
            if exceeded is not None:
                self._log.append(self._stop_line(exceeded, self.start_id))
            return exceeded

    def public_form(self, error: BaseException) -> BaseException | None:
        """What the caller should see in place of `error` at the edge of the run; None: `error` itself."""
        if self.stop is None:
            return None
        if (instead := self.stop.instead_of(error)) is not None:
            return instead
        is_cancelling = type(error).__name__ == "CancelledError"
        if is_cancelling and self._deadline is not None and self._deadline.take_back_cancelling():
            return self.stop.public()
        return None

    def remember_failure(self, error: BaseException, call_id: str) -> None:
        """A call recorded this exception."""
        self._failed_calls.remember(error, call_id)

    # Forking, and what comes too late.

    def prepare_fork(self) -> None:
        """Called before the process forks: nobody writes while it does, and the counts are shared from here on."""
        self.lock.acquire()
        self._guards.settle()
        self.counters.share()

    def continue_after_fork(self, *, in_child: bool) -> None:
        """Called after the process forked, in the parent and in the child."""
        if in_child:
            self.lock = threading.RLock()
            self.counters.continue_in_child()
            self._deadline = None
        else:
            self.lock.release()

    def is_ours(self) -> bool:
        """Whether this process started the run, and not the one it was forked from."""
        return os.getpid() == self._pid

    @property
    def status(self) -> str:
        """running, ok or error."""
        return self._end[2]

    def event_count(self) -> int:
        """How many events were recorded, the marks of calls that began left out."""
        return sum(number for event_type, number in self.counters.by_type().items() if event_type != "CALL_START")

    def clean_name(self, name: Any) -> str:
        """A name as it is stored."""
        return self._log.name(name)[0]

    def count_fault(self) -> None:
        """A fault of ours kept an event from being written."""
        self.counters.dropped += 1

    def refresh_late(self) -> None:
        """At exit: let run.json tell how much came after the end."""
        if self.closed and os.getpid() == self._pid and self.counters.total("dropped"):
            self._refresh(time.monotonic() - self._started)

    def _is_over(self) -> bool:
        return self.closed or self.counters.ended_elsewhere()

    def _count_late(self) -> None:
        is_first = not self.counters.total("dropped")
        self.counters.dropped += 1
        self.counters.publish()
        elapsed_s = time.monotonic() - self._started
        if self.closed and (is_first or elapsed_s - self._refreshed > _REFRESH_SECONDS):
            self._refresh(elapsed_s)

    # Writing.

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
        self._guards.settle()
        self._log.refresh(self._last_event_ts, *self._end)
