"""
One run while it lasts: how it begins, stops, forks and ends. How events are taken in is in `walk`.

A run that has begun is ended, whatever interrupts its beginning or its end: `finish` may be called again, and does
what is left to do.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.events import new_id, utc_timestamp
from agentdbg.faults import contain, tell_once
from agentdbg.loading import undisturbed
from agentdbg.recorder.deciders import is_refusal
from agentdbg.recorder.described_errors import FailedCalls, describe_error, is_clean_exit
from agentdbg.recorder.limits import choose_limits
from agentdbg.recorder.run_clock import leave_out
from agentdbg.recorder.run_log import end_summary, fit_payload, join_objects, start_fields
from agentdbg.recorder.stopping import STOPPED_IN_A_CHILD, is_stop
from agentdbg.recorder.walk import EventWalk
from agentdbg.storage.layout import run_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agentdbg.config import Config
    from agentdbg.exceptions import AgentDbgGuardrailExceeded
    from agentdbg.recorder.deadline import Deadline
    from agentdbg.recorder.limits import Limits

__all__ = ["ActiveRun", "choose_limits"]

_MOST_SHOWN_BYTES = 900_000
_MARKS = ("CALL_START", "BREAK")


class ActiveRun(EventWalk):
    """The state of one run, under one lock. Making one writes nothing; `begin` does."""

    # Beyond thirty attributes CPython looks each up the slow way, and an event asks for twenty of them.
    __slots__ = (
        "__weakref__",
        "_deadline",
        "_end_id",
        "_failed_calls",
        "_has_begun",
        "_is_done",
        "_is_leaving",
        "_limits",
        "_outcome",
        "_pid",
        "before_end",
        "capture_args",
        "is_process_wide",
        "may_stay_open",
        "name",
        "path",
    )

    def __init__(self, config: Config, run_id: str, name: str, limits: Limits) -> None:
        self.path = run_dir(config.data_dir, run_id)
        super().__init__(config, run_id, str(self.path), limits)
        for problem in self._redactor.problems:
            tell_once(problem, problem)
        self.name = self.clean_name(name)
        self.capture_args = config.capture_args
        self.is_process_wide = False
        self.may_stay_open = False
        """Whether the run may last until the program exits: the process's own run, and that of a generator."""
        self.before_end: dict[Any, Callable[[], None]] = {}
        """What must still be recorded, or waited for, before RUN_END is written; removed by whoever put it there."""
        self._pid = os.getpid()
        self._limits = limits
        self._failed_calls = FailedCalls()
        self._deadline: Deadline | None = None
        self._has_begun = False
        self._is_leaving = False
        self._end_id = new_id()
        self._outcome: tuple[str, bytes] | None = None
        """The status and the payload of RUN_END, once they are known."""
        self._is_done = False

    # Beginning and end.

    def begin(self, start: Mapping[str, Any], meta: Mapping[str, Any] | None = None) -> None:
        """Write RUN_START, and watch the clock from here on."""
        argv = self._redactor.clean_argv(getattr(sys, "argv", None) or [])
        payload = self._redactor.seal(start_fields(self.name, argv, start, self._limits.as_dict())).encoded
        metadata = self._log.seal_meta(meta)[1]
        self._start_clocks()
        self._log.prepare(self.start_id, self.name, self.started_at, payload, metadata)
        self._has_begun = True
        self._log.begin()
        self._refresh(0.0)
        if self._limits.max_duration_s is not None:
            with undisturbed():
                from agentdbg.recorder.deadline import Deadline  # noqa: PLC0415 -- ctypes only for those who need it

            self._deadline = Deadline(self, self._limits.max_duration_s)

    def finish(self, error: BaseException | None = None, outcome: Mapping[str, Any] | None = None) -> None:
        """
        Write RUN_END and give everything back. Only the process that started the run does so, and only once.

        Where an interruption cut this short, the next call does the rest.
        """
        if self._is_done or os.getpid() != self._pid:
            return
        with self.lock:
            self._is_leaving = True
            if self._deadline is not None:
                self._deadline.cancel()
        if not self._has_begun:  # interrupted before anything was written, so there is no run
            self.closed = self._is_done = True
            return
        if self._outcome is None:
            self._settle()
            self._outcome = self._conclude(error, outcome)
        self._write_end(*self._outcome)

    def _conclude(self, error: BaseException | None, outcome: Mapping[str, Any] | None) -> tuple[str, bytes]:
        """How the run ended: its status, and what RUN_END says besides the summary."""
        failure = None if error is None or is_clean_exit(error) else self._record_failure(error)
        if failure is None and self.stop is not None:
            failure = describe_error(self.stop.exceeded)
        elif failure is None and self.counters.total("stops"):
            failure = dict(STOPPED_IN_A_CHILD)
        known = dict(outcome or {}) if failure is None else {**(outcome or {}), "error": failure}
        rest = self._redactor.seal(known).encoded
        if self._states.last is not None:
            rest = fit_payload(join_objects(rest, b'{"final_state":%b}' % self._states.last))
        return "ok" if failure is None else "error", rest

    def _write_end(self, status: str, rest: bytes) -> None:
        with self.lock:
            if self._is_done:  # another thread was faster
                return
            was_tried, self.closed = self.closed, True
            known_at, known_ms, _ = self._end
            ended_at = known_at or utc_timestamp()
            duration_ms = int((self.clock.elapsed_s()) * 1000) if known_ms is None else known_ms
            self._end = (ended_at, duration_ms, status)
            if not (was_tried and self._log.holds(self._end_id.encode())):
                held_back = self._last_finding_line()
                paused_ms = int(self.clock.paused_s * 1000)
                ending = {"status": status, "summary": end_summary(self.counters, duration_ms)}
                summary = encode_json({**ending, "paused_ms": paused_ms} if paused_ms else ending)
                payload = join_objects(summary, rest)
                line = self._log.line(
                    "RUN_END", self._end_id, self.start_id, ended_at, duration_ms, '"run_end"', payload
                )
                self._log.append(held_back + line)
            self.counters.count_end()
            self._last_event_ts = ended_at
            self._refresh(duration_ms / 1000)
            self._log.close()
            self._is_done = True

    def _settle(self) -> None:
        for settle in list(self.before_end.values()):
            try:
                settle()
            except Exception as fault:  # noqa: BLE001 -- one that fails must not keep the others from it
                contain(fault, "record what was still open when the run ended", self.count_fault)
        self.before_end.clear()

    def _record_failure(self, error: BaseException) -> dict[str, Any]:
        """The ERROR event of what ended the run, unless it is a stop or a refusal whose ERROR stands there already."""
        if self.stop is not None and is_stop(error, self.run_id):
            return describe_error(self.stop.exceeded)
        failure = describe_error(error)
        with self.lock:
            if line := self._last_finding_line():
                self._log.append(line)
        call_id = self._failed_calls.call_of(error)
        if call_id is not None and is_refusal(error):
            return failure
        fields = {**failure, "context": None, "fatal": True, **({} if call_id is None else {"call_id": call_id})}
        self.emit("ERROR", failure["error_type"], fields, None, self.start_id, quiet=True)
        return failure

    # Stopping.

    def stop_overdue(self) -> AgentDbgGuardrailExceeded | None:
        """Stop the run because its time is over; None when it has ended or was stopped already."""
        with self.lock:
            if self._is_leaving or self._is_over() or self.stop is not None:
                return None
            exceeded = self._guards.overdue(self.clock.elapsed_s())
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

    # Pausing.

    def shown(self, value: Any) -> Any:
        """A value as it may be shown while the program waits: JSON, redacted like an event."""
        return self._redactor.with_limit(_MOST_SHOWN_BYTES).seal({"value": value}).value.get("value")

    @contextmanager
    def paused(self, parent_id: str) -> Iterator[None]:
        """Let no clock go on while somebody looks: not the run's, and not that of what the paused call is made in."""
        began = time.monotonic()
        with self.lock:
            self.clock.hold()
        try:
            yield
        finally:
            with self.lock:
                self.clock.release()
            if parent_id != self.start_id:
                leave_out(parent_id, time.monotonic() - began)

    def note_break(self, name: str, fields: dict[str, Any], parent_id: str) -> None:
        """Write BREAK, which counts nowhere."""
        with self.lock:
            if not self._is_over():
                self._log.append(self._log.extra_line("BREAK", name, fields, parent_id))

    # Forking, and what comes too late.

    def prepare_fork(self) -> None:
        """Called before the process forks: nobody writes while it does, and the counts are shared from here on."""
        self.lock.acquire()
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
    def is_done(self) -> bool:
        """Whether the run has ended and given everything back."""
        return self._is_done

    @property
    def status(self) -> str:
        """running, ok or error."""
        return self._end[2]

    def event_count(self) -> int:
        """How many events were recorded, the marks of calls that began left out."""
        return sum(
            number
            for event_type, number in self.counters.by_type().items()
            if event_type not in ("CALL_START", "BREAK")
        )

    def refresh_late(self) -> None:
        """At exit: let run.json tell how much came after the end."""
        if self.closed and os.getpid() == self._pid and self.counters.total("dropped"):
            self._refresh(self.clock.elapsed_s())
