"""
One run while it lasts: how it begins, makes calls, stops, forks and ends. How events are taken in is in `walk`.

A run that has begun is ended, whatever interrupts its beginning or its end: `finish` may be called again, and does
what is left to do.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json, heed_memory_limits
from agentdbg.events import new_id, utc_timestamp
from agentdbg.exceptions import AgentDbgGuardrailExceeded
from agentdbg.faults import Shield, tell_once
from agentdbg.interruptions import WeakBag
from agentdbg.loading import undisturbed
from agentdbg.recorder.deciders import is_refusal
from agentdbg.recorder.described_errors import FailedCalls, describe_error, is_clean_exit
from agentdbg.recorder.limits import Budget, Limits, choose_limits, detector_of
from agentdbg.recorder.paused_time import leave_out
from agentdbg.recorder.run_log import fit_payload, join_objects, own_start_fields, start_fields
from agentdbg.recorder.stopping import STOPPED_IN_A_CHILD, is_stop
from agentdbg.recorder.walk import Draft, EventWalk
from agentdbg.storage.layout import run_dir
from agentdbg.tape.tape_writer import TapeWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agentdbg.config import Config
    from agentdbg.redaction.sealed_items import SealedValue

__all__ = ["ActiveRun", "choose_limits"]

_NO_PLACE = ""
_MOST_SHOWN_BYTES = 900_000
_MARKS = ("CALL_START", "BREAK")


class ActiveRun(EventWalk):
    """The state of one run, under one lock. Making one writes nothing; `begin` does."""

    __slots__ = (
        "__weakref__",
        "_config",
        "_end_id",
        "_failed_calls",
        "_has_begun",
        "_is_done",
        "_is_leaving",
        "_limits",
        "_nested",
        "_outcome",
        "_pid",
        "before_end",
        "capture_args",
        "holds_requests",
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
        self.holds_requests = False
        """Whether a request to a server in this process is a part of this run, as in a test, and no run of its own."""
        self.may_stay_open = False
        """Whether the run may last until the program exits: the process's own run, and that of a generator."""
        self.before_end: dict[Any, Callable[[], None]] = {}
        """What must still be recorded, or waited for, before RUN_END is written; removed by whoever put it there."""
        self._pid = os.getpid()
        self._config = config
        self._limits = limits
        self._nested: WeakBag[Budget] = WeakBag()
        """The budgets of spans, for as long as anything is spent from them."""
        self._failed_calls = FailedCalls()
        self._has_begun = False
        self._is_leaving = False
        self._end_id = new_id()
        self._outcome: tuple[str, bytes] | None = None
        """The status and the payload of RUN_END, once they are known."""
        self._is_done = False

    # Beginning and end.

    def begin(self, start: Mapping[str, Any], meta: Mapping[str, Any] | None = None) -> None:
        """Write RUN_START, and watch the clock from here on."""
        heed_memory_limits()
        start = dict(start)
        module = start.pop("function_module", None)
        argv = self._redactor.clean_argv(getattr(sys, "argv", None) or [])
        theirs = self._redactor.seal(start_fields(self.name, argv, start)).encoded
        payload = fit_payload(join_objects(theirs, encode_json(own_start_fields(self._limits.as_dict()))))
        metadata = self._log.seal_meta(meta)[1]
        self._start_clocks()
        self._log.prepare(self.start_id, self.name, self.started_at, payload, metadata)
        self._has_begun = True
        self._log.begin()
        why_no_tape = self._config.why_no_tape
        tape = None if why_no_tape else TapeWriter(str(self.path), self._config, self._redactor)
        self._log.open_tape(tape, why_no_tape)
        if tape is not None:
            tape.prepare(self.run_id, argv, start, module)
        self._refresh()
        self._watch_clock(self.budget)

    def _watch_clock(self, budget: Budget) -> None:
        if budget.limits.max_duration_s is not None:
            with undisturbed():
                from agentdbg.recorder.deadline import Deadline  # noqa: PLC0415 -- ctypes only for those who need it

            budget.deadline = Deadline(self, budget, budget.limits.max_duration_s)

    def finish(self, error: BaseException | None = None, outcome: Mapping[str, Any] | None = None) -> None:
        """
        Write RUN_END and give everything back. Only the process that started the run does so, and only once.

        Where an interruption cut this short, the next call does the rest.
        """
        if self._is_done or os.getpid() != self._pid:
            return
        with self.lock:
            self._is_leaving = self.budget.is_over = True
            if self.budget.deadline is not None:
                self.budget.deadline.cancel()
        if not self._has_begun:  # interrupted before anything was written, so there is no run
            self.closed = self._is_done = True
            return
        if self._outcome is None:
            self._settle()
            self._outcome = self._conclude(error, outcome)
        self._write_end(*self._outcome)

    def finish_shortly(self, kind: type[BaseException]) -> None:
        """Do what `finish` does, with nothing of the user's: what ended the run is told by its class alone."""
        if self._outcome is None:
            self._outcome = self.conclude(describe_error(kind), None)
        self.finish()

    def _conclude(self, error: BaseException | None, outcome: Mapping[str, Any] | None) -> tuple[str, bytes]:
        """How the run ended: its status, and what RUN_END says besides the summary."""
        failure = None if error is None or is_clean_exit(error) else self._record_failure(error)
        if failure is None and self.stop is not None:
            failure = describe_error(self.stop.exceeded)
        elif failure is None and self.counters.total("stops"):
            failure = dict(STOPPED_IN_A_CHILD)
        return self.conclude(failure, outcome)

    def _write_end(self, status: str, rest: bytes) -> None:
        with self.lock:
            if self._is_done:  # another thread was faster
                return
            known_at, known_ms, _ = self._end
            duration_ms = int(self.clock.elapsed_s() * 1000) if known_ms is None else known_ms
            self.write_end(self._end_id, rest, (known_at or utc_timestamp(), duration_ms, status))
            self._is_done = True

    def _settle(self) -> None:
        for settle in list(self.before_end.values()):
            # One that fails must not keep the others from it.
            with Shield("record what was still open when the run ended", self.count_fault):
                settle()
        self.before_end.clear()

    def _record_failure(self, error: BaseException) -> dict[str, Any]:
        """The ERROR event of what ended the run, unless it is a stop or a refusal whose ERROR stands there already."""
        if self.stop is not None and is_stop(error, self.run_id):
            return describe_error(self.stop.exceeded)
        failure = describe_error(error)
        with self.lock:
            if line := self._last_finding_line(utc_timestamp()):
                self._append(line, self.budget.chain)
        if self._is_stop_of_a_span(error):
            return failure
        call_id = self._failed_calls.call_of(error)
        if call_id is not None and is_refusal(error):
            return failure
        fields = {**failure, "context": None, "fatal": True, **({} if call_id is None else {"call_id": call_id})}
        self.emit(Draft("ERROR", failure["error_type"], fields, None, self.start_id), quiet=True)
        return failure

    def _is_stop_of_a_span(self, error: Any) -> bool:
        # Not isinstance: that asks the object, which may lie or raise.
        return issubclass(type(error), AgentDbgGuardrailExceeded) and error.run_id == self.run_id

    # Calls that are being made.

    def seal_input(self, kind: str, given: Any) -> tuple[SealedValue, bytes] | None:
        """What a call is made with, sealed once: as its event stores it, and as the JSON for its CALL_START."""
        return self._redactor.seal_input("prompt" if kind == "llm" else "args", given, self._short_redactor)

    def clean_items(self, items: list[Any]) -> list[Any]:
        """What a generator yielded, without the secrets that are cut up between its items."""
        return self._redactor.clean_items(items)

    def seal_output(self, kind: str, value: Any) -> SealedValue | None:
        """What came of a call, sealed once for its event and its tape."""
        return self._redactor.seal_output("response" if kind == "llm" else "result", value)

    def begin_call(
        self,
        call_id: str,
        kind: str,
        name: Any,
        given: Any,
        parent_id: str,
        budget: Budget,
        meta: Any = None,
        takes_place: bool = True,
        sealed: tuple[SealedValue, bytes] | None = None,
    ) -> None:
        """
        Take a place for a call and write its CALL_START; raises when a limit leaves no place.

        A call that is answered without being made takes none. `sealed` is what `seal_input` made of the input.
        """
        clean_name, name_json = self._log.name(name)
        if sealed is None:
            fields = {"kind": kind, "name": clean_name, "input": given}
            rest = self._short_redactor.seal_parts(fields, (given,))[1][1:]
        else:
            rest = b'"kind":"%b","name":%b,"input":%b}' % (kind.encode(), name_json.encode(), sealed[1])
        payload = b'{"call_id":"%b",%b' % (call_id.encode(), rest)  # ours, and never the same twice
        meta_bytes = self._log.seal_meta(meta)[1]
        line = self._log.line("CALL_START", new_id(), parent_id, utc_timestamp(), None, name_json, payload, meta_bytes)
        chain, kind = budget.chain, kind if takes_place else _NO_PLACE
        with self.lock:
            if self._is_over():
                self._count_late()
                return
            before = [(spent, spent.snapshot()) for spent in chain]
            try:
                if not any(spent.stop for spent in chain):
                    refusal = self._refusal_line(kind, chain, parent_id) if kind else b""
                    if not refusal:
                        self._reserve(call_id, kind, chain)
                        self.counters.count_type("CALL_START")
                    line = refusal or line
                    self._append(line, chain)
                    if not refusal:
                        return
            except BaseException:
                if not self._log.holds(line):  # nothing has begun
                    for spent, counted in before:
                        spent.restore(counted)
                    self._open_calls.pop(call_id, None)
                raise
        self._go_on_after_stop(call_id, kind, chain)

    def take_place(self, call_id: str, kind: str, parent_id: str, budget: Budget) -> None:
        """Take a place for a call that began without one; raises when a limit leaves none."""
        chain = budget.chain
        with self.lock:
            if not any(spent.stop for spent in chain):
                refusal = self._refusal_line(kind, chain, parent_id)
                if not refusal:
                    self._reserve(call_id, kind, chain)
                    return
                self._append(refusal, chain)
        self._go_on_after_stop(call_id, kind, chain)

    def _refusal_line(self, kind: str, chain: tuple[Budget, ...], parent_id: str) -> bytes:
        """What is written when a limit leaves no place for a call; empty when there is one."""
        for budget in chain:
            if (exceeded := budget.refusal(kind)) is not None:
                return self._stop_line(exceeded, budget, parent_id, utc_timestamp())
        return b""

    def _reserve(self, call_id: str, kind: str, chain: tuple[Budget, ...]) -> None:
        self._open_calls[call_id] = (kind, chain)
        for budget in chain:
            budget.reserve(kind)

    def _go_on_after_stop(self, call_id: str, kind: str, chain: tuple[Budget, ...]) -> None:
        """Raise the stop, unless it is just being handled here: then this call is part of the cleanup."""
        self._raise_stop(chain)
        with self.lock:
            self._reserve(call_id, kind, chain)

    def is_open(self, call_id: str) -> bool:
        """Whether a call has begun whose end is not recorded."""
        return call_id in self._open_calls

    def release_call(self, call_id: str) -> None:
        """Give back the place of a call whose end will not be recorded."""
        with self.lock:
            self._end_call(call_id)

    # Limits.

    def open_budget(self, span_id: str, given: Mapping[str, Any], outer: Budget) -> Budget:
        """The budget of a span that was given limits of its own; that around it when none of them limits anything."""
        repetitions = Limits(stop_on_loop_min_repetitions=self._limits.stop_on_loop_min_repetitions)
        limits = choose_limits(repetitions, given)
        if not limits.can_stop():
            return outer
        make_detector = partial(detector_of, self._config) if limits.stop_on_loop else _no_detector
        budget = Budget(limits, make_detector, self.clock, outer, span_id)
        with self.lock:
            if self.counters.is_shared:
                budget.counters.share()
            self._nested.add(budget)
        self._watch_clock(budget)
        return budget

    def close_budget(self, budget: Budget) -> None:
        """Its span is being left."""
        with self.lock:
            budget.is_over = True
            if budget.deadline is not None:
                budget.deadline.cancel()

    def stop_overdue(self, budget: Budget) -> AgentDbgGuardrailExceeded | None:
        """Stop the run, or a span, because its time is over; None when it has ended or was stopped already."""
        with self.lock:
            if self._is_leaving or self._is_over() or any(spent.stop for spent in budget.chain):
                return None
            exceeded = budget.overdue()
            if exceeded is not None:
                line = self._stop_line(exceeded, budget, budget.span_id or self.start_id, utc_timestamp())
                self._append(line, budget.chain)
            return exceeded

    def remember_failure(self, error: BaseException, call_id: str) -> None:
        """A call recorded this exception."""
        self._failed_calls.remember(error, call_id)

    # Pausing.

    def shown(self, value: Any) -> Any:
        """A value as it may be shown while the program waits: JSON, redacted like an event."""
        return self._redactor.with_limit(_MOST_SHOWN_BYTES).seal({"value": value}).value.get("value")

    def last_state(self) -> Any:
        """The state that the program recorded last, as it stands in its event; None where it recorded none."""
        return None if self._states.last is None else decode_json(self._states.last)

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
                line = self._extra_line("BREAK", "break", name, fields, parent_id, utc_timestamp())
                self._append(line, self.budget.chain)

    # Forking, and what comes too late.

    def prepare_fork(self) -> None:
        """Called before the process forks: nobody writes while it does, and the counts are shared from here on."""
        self.lock.acquire()
        for budget in (self.budget, *self._nested.now()):
            budget.counters.share()

    def continue_after_fork(self, *, in_child: bool) -> None:
        """Called after the process forked, in the parent and in the child."""
        if in_child:
            self.lock, self.forked_at = threading.RLock(), time.monotonic()
            for budget in (self.budget, *self._nested.now()):
                budget.counters.continue_in_child()
                budget.deadline = None
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
        return sum(number for event_type, number in self.counters.by_type().items() if event_type not in _MARKS)

    def refresh_late(self) -> None:
        """At exit: let run.json tell how much came after the end."""
        if self.closed and os.getpid() == self._pid and self.counters.total("dropped"):
            self._refresh()


def _no_detector() -> None:
    """For a span whose loops nobody asked to be stopped: the run looks for all of them."""
