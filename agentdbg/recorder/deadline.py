"""
Stop a run, or a span with a limit of its own, that is out of time although it records nothing.

A daemon thread waits for the end of the time. Code in a plain thread is interrupted at its next bytecode, a task by
cancelling it. Nothing of this exists without `max_duration_s`.

CPython does not always tell a `with` block of what is raised in it like this: the first instruction of `__exit__` is
past the block, and 3.13 counts the jump back of a loop as outside of any. Such a run is closed by the watching thread.

The thread is a plain one and waits for a plain lock: an exception that a signal handler raises inside `Event` or
`Thread.start`, which are Python, leaves their locks held for ever.
"""

from __future__ import annotations

import _thread
import ctypes
import sys
import threading
from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import AgentDbgGuardrailExceeded, RunStopped
from agentdbg.faults import Shield, pass_on, tell_once
from agentdbg.recorder.source_lines import is_own_file
from agentdbg.recorder.stopping import running_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from agentdbg.recorder.active_run import ActiveRun
    from agentdbg.recorder.limits import Budget

__all__ = ["Deadline"]

# A stop that was swallowed is repeated, but not while the program is still cleaning up after the first.
_REPEAT_SECONDS = 5.0
_RETRY_SECONDS = 0.001
_RESUME_SECONDS = 0.02
_LONGEST_BEGINNING = 1.0


class Deadline:
    """Watches one budget in the thread or task that it was started in."""

    def __init__(self, run: ActiveRun, budget: Budget, seconds: float) -> None:
        self._run = run
        self._budget = budget
        self._seconds = seconds
        self._has_ended = False
        self._waiting = threading.Lock()  # held until the end
        self._is_raised = False
        self._is_armed = False
        self._is_suspended = False
        self._is_left = False
        self._thread_id = threading.get_ident()
        self._task = running_task()
        self._owner = _users_frame()
        self._was_owner_there = False
        self._waiting.acquire()
        try:
            self._begin_watching()
            self._is_armed = True
        finally:
            if not self._is_armed:  # interrupted; nobody will ever cancel it
                self._has_ended = True

    def _begin_watching(self) -> None:
        # A thread has its creator's number until it runs, and would be the one in which an exception is raised.
        beginning = threading.Lock()
        beginning.acquire()
        try:
            _thread.start_new_thread(self._watch, (beginning,))
        except RuntimeError as error:  # the system gives no more threads
            pass_on(error)
            tell_once("deadline", "no thread to watch max_duration_s with; it is checked when something is recorded")
        else:
            beginning.acquire(timeout=_LONGEST_BEGINNING)

    def cancel(self) -> None:
        """The run or span is being left; nothing to watch any more. The caller holds the run's lock."""
        if not self._has_ended:
            self._has_ended = True
            self._waiting.release()
        self._owner = None
        self._take_back()

    def _ends_within(self, seconds: float) -> bool:
        """Wait so long, in the watching thread; whether there is nothing to watch any more."""
        self._waiting.acquire(timeout=min(seconds, threading.TIMEOUT_MAX))
        return self._has_ended

    def suspend(self) -> None:
        """A generator's consumer runs now, and is not to be stopped."""
        with self._run.lock:
            self._is_suspended = True
            self._take_back()

    def resume(self) -> None:
        """The generator's own code goes on, wherever that is now."""
        with self._run.lock:
            self._thread_id, self._task = threading.get_ident(), running_task()
            self._owner = None  # our own code stands around a generator's, and is told of all
            self._is_suspended = False

    def _take_back(self) -> None:
        if self._is_raised and self._task is None:
            # What the interpreter has not raised yet would come while the run is being closed, or after it.
            _raise_in(self._thread_id, None)
            _let_nothing_wait()

    def take_back_cancelling(self) -> bool:
        """Uncancel the task, as the run's edge turns it into the public exception; False: it was not our doing."""
        uncancel = getattr(self._task, "uncancel", None)  # 3.11 and later count who cancels
        if self._is_raised and uncancel is not None:
            uncancel()
        return self._is_raised

    def _watch(self, beginning: Any) -> None:
        beginning.release()
        with Shield("stop the run that is out of time", self._run.count_fault):  # the loop was closed, for example
            self._stop_in_time()

    def _stop_in_time(self) -> None:
        stop, left = None, self._seconds
        while stop is None:
            if self._ends_within(left + 0.001):
                return
            stop = self._run.stop_overdue(self._budget)
            left = max(self._budget.seconds_left(), _RESUME_SECONDS)  # some of it was spent at a breakpoint
            if stop is None and self._budget.is_done():
                return
        self._interrupt(_instance_maker(stop, self._note_landing))
        while not self._has_left(stop):
            if not self._is_handling_a_stop():
                self._interrupt(_stopped_maker(stop, self._note_landing))

    def _has_left(self, stop: AgentDbgGuardrailExceeded) -> bool:
        """Wait until the stop is to be repeated; whether the run or span was left meanwhile, and is closed."""
        for _ in range(round(_REPEAT_SECONDS / _RESUME_SECONDS)):
            if self._ends_within(_RESUME_SECONDS):
                return True
            if self._is_left or (self._was_owner_there and not self._is_owner_there()):
                if self._budget.span_id is None:
                    self._run.finish(stop)
                else:
                    self._run.close_budget(self._budget)
                return True
        return False

    def _note_landing(self) -> None:
        """What was to be raised is being raised. The first instruction of our `__exit__` is the only chance of that."""
        frame = _caller()
        if frame is not None and frame.f_code.co_name in ("__exit__", "__aexit__"):
            is_beginning = frame.f_lineno == frame.f_code.co_firstlineno
            self._is_left = self._is_left or (is_beginning and is_own_file(frame.f_code.co_filename))

    def _is_owner_there(self) -> bool:
        """Whether the frame that the run or span was begun in is still being run by the thread."""
        frame, owner = _frame_of(self._thread_id), self._owner
        while frame is not None and frame is not owner:
            frame = frame.f_back
        return frame is not None

    def _interrupt(self, exception_type: type[BaseException]) -> None:
        while self._is_suspended:
            if self._ends_within(_RESUME_SECONDS):
                return
        if self._task is not None:
            self._task.get_loop().call_soon_threadsafe(self._cancel_task)
            return
        while not self._strike(exception_type) and not self._ends_within(_RETRY_SECONDS):
            pass
        _wake_event_loop(self._thread_id)

    def _strike(self, exception_type: type[BaseException]) -> bool:
        """Raise it in the thread; False while that runs code of ours, which would be left half done."""
        with self._run.lock:
            if self._has_ended:
                return True
            if not self._is_armed or self._is_suspended or self._is_untouchable():
                return False
            self._was_owner_there = self._is_owner_there()
            self._is_raised = True
            _raise_in(self._thread_id, exception_type)
            return True

    def _is_untouchable(self) -> bool:
        """Whether the thread runs code of ours, or is starting another, which has its number until it runs."""
        # A thread that does not run stands at a place where it looks for exceptions first when it goes on.
        frame = _frame_of(self._thread_id)
        if frame is not None and is_own_file(frame.f_code.co_filename):
            return True
        while frame is not None and frame.f_code.co_filename == threading.__file__:
            if frame.f_code.co_name == "start" and getattr(frame.f_locals.get("self"), "ident", 0) is None:
                return True
            frame = frame.f_back
        return False

    def _cancel_task(self) -> None:
        if not self._has_ended and not self._is_suspended:  # it may have left before the loop came to this
            self._is_raised = True
            self._task.cancel()

    def _is_handling_a_stop(self) -> bool:
        handled: Any = sys._current_exceptions().get(self._thread_id)  # noqa: SLF001 -- there is no other way to ask
        error = handled[1] if isinstance(handled, tuple) else handled
        while isinstance(error, BaseException):
            if isinstance(error, (AgentDbgGuardrailExceeded, RunStopped)):
                return True
            error = error.__context__
        return False


def _raise_in(thread_id: int, exception_type: type[BaseException] | None) -> None:
    """Have the interpreter raise this in a thread at its next bytecode; None takes back what was to be raised."""
    given = None if exception_type is None else ctypes.py_object(exception_type)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), given)


class _TakenBack(BaseException):
    pass


def _let_nothing_wait() -> None:
    """
    Let the interpreter notice that nothing is left to be raised, by raising something here.

    Taking an exception back leaves a mark that one is waiting, and CPython up to 3.12 removes it when it raises one.
    With the mark every function begins more slowly, and on 3.11 one that is traced or profiled never begins at all.
    """
    try:
        _raise_in(threading.get_ident(), _TakenBack)
        for _ in range(10):
            pass
    except _TakenBack:
        pass


def _instance_maker(stop: AgentDbgGuardrailExceeded, note_landing: Callable[[], None]) -> type[BaseException]:
    """The interpreter makes the exception from a class without arguments, so the class has to know them."""
    arguments = (stop.guardrail, stop.threshold, stop.actual, str(stop))

    def initialise(self: AgentDbgGuardrailExceeded) -> None:
        AgentDbgGuardrailExceeded.__init__(self, *arguments)
        self.run_id, self.span_id = stop.run_id, stop.span_id
        note_landing()

    def reduce(_: AgentDbgGuardrailExceeded) -> Any:  # pickled as what the user knows it by
        return AgentDbgGuardrailExceeded, arguments

    members = {"__init__": initialise, "__reduce__": reduce, "__module__": AgentDbgGuardrailExceeded.__module__}
    return type("AgentDbgGuardrailExceeded", (AgentDbgGuardrailExceeded,), members)


def _stopped_maker(stop: AgentDbgGuardrailExceeded, note_landing: Callable[[], None]) -> type[BaseException]:
    def initialise(self: RunStopped) -> None:
        RunStopped.__init__(self, stop)
        note_landing()

    return type("RunStopped", (RunStopped,), {"__init__": initialise})


def _caller() -> FrameType | None:
    """The frame of this thread that this module is called from, or that the interpreter makes an exception in."""
    frame = _frame_of(threading.get_ident())
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame


def _users_frame() -> FrameType | None:
    """The innermost frame of this thread that is not ours."""
    frame = _caller()
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _frame_of(thread_id: int) -> FrameType | None:
    return sys._current_frames().get(thread_id)  # noqa: SLF001 -- there is no other way to ask


def _wake_event_loop(thread_id: int) -> None:
    """A loop that waits runs no bytecode, so nothing can be raised in it before it has something to do."""
    frame = _frame_of(thread_id)
    while frame is not None:
        if frame.f_code.co_name == "run_forever":
            wake = getattr(frame.f_locals.get("self"), "call_soon_threadsafe", None)
            if wake is not None:
                wake(_do_nothing)
            return
        frame = frame.f_back


def _do_nothing() -> None:
    pass
