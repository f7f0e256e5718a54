"""
Starting and ending runs: settings read, name made, limits chosen, nothing ever raised.

`start_run` is the only place a run begins, and `live_runs` holds it until it ends. What is still open when the
process exits is closed here.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from agentdbg.events import new_id
from agentdbg.exceptions import AgentDbgGuardrailExceeded, RunLeftOpen, RunStopped
from agentdbg.faults import Shield, is_contained, pass_on, tell_once
from agentdbg.interruptions import is_not_ours
from agentdbg.loading import not_swallowed, put_off_signals_in_forks, undisturbed
from agentdbg.recorder import lanes
from agentdbg.recorder.context import (
    Scope,
    carry_into_older_pools,
    carry_into_threads,
    current_scope,
    live_runs,
    process_scope,
    set_process_scope,
)
from agentdbg.recorder.lane_hooks import follow_run
from agentdbg.recorder.source_lines import forget_paths
from agentdbg.recorder.stopping import is_stop
from agentdbg.tape import program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from agentdbg.config import Config
    from agentdbg.recorder.active_run import ActiveRun

__all__ = [
    "IMPLICIT",
    "RunHandle",
    "default_run_name",
    "implicit_scope",
    "is_switched_off",
    "note_uncaught",
    "run_without_events",
    "scope_elsewhere",
    "start_run",
    "variables",
    "whole_program",
]

# Reading os.environ costs more than all the rest of a record outside a run; its table of bytes does not.
variables: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
_key: Any = getattr(os.environ, "encodekey", str)
IMPLICIT = _key("AGENTDBG_IMPLICIT_RUN")
_ENABLED = _key("AGENTDBG_ENABLED")


class _OfProcess:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.is_prepared = False
        self.worker_id = 0
        """Of the process whose finalizers close its runs."""


_process = _OfProcess()
_recently_ended: list[ActiveRun] = []
_uncaught: list[BaseException] = []


class RunHandle:
    """What `traced_run` and `current_run` give: where the run is."""

    __slots__ = ("_run",)

    def __init__(self, run: ActiveRun | None) -> None:
        self._run = run

    @property
    def run_id(self) -> str:
        """The run's UUID, which is also the name of its folder; empty when recording is off."""
        return "" if self._run is None else self._run.run_id

    @property
    def path(self) -> Path:
        """The run's folder, with run.json and events.jsonl; the null device when recording is off."""
        if self._run is not None:
            return self._run.path
        from pathlib import Path  # noqa: PLC0415 -- only for a program that asks although recording is off

        return Path(os.devnull)

    def __bool__(self) -> bool:
        return self._run is not None

    def __repr__(self) -> str:
        return f"<agentdbg run {self.run_id or 'none: recording is off'}>"


when_taped: list[Callable[[], None]] = []
"""What has to be done once, when the first run with a tape has begun."""
when_whole: list[Callable[[], None]] = []
"""Called when a run is replayed that `agentdbg run` recorded: what it had switched on for the program is on again."""


def start_run(
    name: str | None,
    default_name: str,
    limits: Mapping[str, Any],
    start: Mapping[str, Any],
    meta: Mapping[str, Any] | None,
    run_id: str | None = None,
) -> Scope | None:
    """
    Begin a run; None when recording is off, or when it could not begin (which is said).

    Whoever gives the `run_id` finds the run in `live_runs`, also when an interruption keeps this from returning it.
    """
    if is_switched_off():
        return None
    run_id = run_id or new_id()
    try:
        config = _load_config()
        if not config.enabled:
            return None
        recorder = _load_recorder()
        _once_per_process()
        carry_into_older_pools()
        _close_with_worker()
        forget_paths()
        chosen_name = config.run_name or (default_name if name is None else name)
        if not config.capture_args:
            start = {key: value for key, value in start.items() if key not in ("args", "kwargs")}
        run = recorder.ActiveRun(config, run_id, chosen_name, recorder.choose_limits(config, limits))
        live_runs[run_id] = run
        run.begin(start, meta)
        if run.tape is not None:
            follow_run(run_id)
            while when_taped:
                when_taped.pop()()
        put_off_signals_in_forks()
        return Scope(run, run.start_id)
    except BaseException as error:  # a run that cannot begin must not keep the agent from running
        if run_id in live_runs:
            end_run(live_runs[run_id], error)
        if not is_contained(error, "begin recording"):
            raise
        return None


def run_without_events(run_id: str, name: str) -> ActiveRun:
    """A run that has ended before it began, so that nothing is written: for places where nothing can be recorded."""
    config, recorder = _load_config(), _load_recorder()
    run: ActiveRun = recorder.ActiveRun(config, run_id, name, recorder.choose_limits(config, {}))
    run.finish()
    return run


when_ending: list[Callable[[str], None]] = []
"""Told the id of each run that is about to end: what is still open of it can be recorded as far as it came."""


def end_run(run: ActiveRun, error: BaseException | None = None, outcome: Mapping[str, Any] | None = None) -> None:
    """Close a run, also when that is interrupted: then it ends with what interrupted it, which goes on."""
    try:
        for tell in when_ending:
            with Shield("record what is still open"):
                tell(run.run_id)
        with Shield("close the run"):
            try:
                run.finish(error, outcome)
            except (AgentDbgGuardrailExceeded, RunStopped) as stop:
                run.finish(error, outcome)  # the clock struck while the run was being left; it strikes once
                if not is_stop(stop, run.run_id):
                    raise
            except BaseException as fault:
                # Without the outcome: describing it may be what took so long, or what failed.
                _finish_again(run, fault if is_not_ours(fault) else error)
                raise
    finally:
        lanes.end(run.run_id)
        if run.is_done and live_runs.pop(run.run_id, None) is not None:
            _recently_ended.append(run)
            del _recently_ended[:-20]


def _finish_again(run: ActiveRun, error: BaseException | None) -> None:
    try:
        run.finish(error)
    except BaseException as again:
        run.finish_shortly(type(again))  # a timer that goes on striking, in a text that takes longer than its interval
        raise


def recently_ended() -> list[ActiveRun]:
    """The last runs of this process that have ended, the newest last."""
    return list(_recently_ended)


def default_run_name(shown_path: str, function_name: str | None) -> str:
    """`path/to/file.py:function - YYYY-MM-DD HH:MM`, in local time."""
    place = f"{shown_path}:{function_name}" if function_name else shown_path
    return f"{place} - {time.strftime('%Y-%m-%d %H:%M')}"


def is_switched_off() -> bool:
    """The quick look at AGENTDBG_ENABLED, before anything is loaded."""
    value = variables.get(_ENABLED)
    return value is not None and os.fsencode(value).strip().lower() in (b"0", b"false", b"no", b"off")


def scope_elsewhere() -> Scope | None:
    """For code without a scope of its own: its thread's, the process's, or a run that begins by itself."""
    scope = current_scope()
    return implicit_scope() if scope is None else scope


def implicit_scope() -> Scope | None:
    """With AGENTDBG_IMPLICIT_RUN=1: the run of the whole process, begun by the first record outside a run."""
    value = variables.get(IMPLICIT)
    if value is None or os.fsencode(value).strip().lower() not in (b"1", b"true", b"yes", b"on"):
        return None
    with _process.lock:
        # Another thread was faster, or the program is exiting and the process's run has ended: there is only one.
        return process_scope() or _start_implicit_run(new_id())


def _start_implicit_run(run_id: str) -> Scope | None:
    script = sys.argv[0] if getattr(sys, "argv", None) and sys.argv[0] else "python"
    try:
        with whole_program():
            scope = start_run(None, default_run_name(script, None), {}, {}, None, run_id)
        if scope is not None:
            set_process_scope(scope)
            note_uncaught()
    except BaseException as error:
        if process_scope() is None and run_id in live_runs:
            end_run(live_runs[run_id], error)
        raise
    return scope


@contextlib.contextmanager
def whole_program() -> Iterator[None]:
    """Let the tape of a run that is begun meanwhile say that the whole program is that run."""
    program["whole"] = True
    try:
        yield
    finally:
        program["whole"] = False


def note_uncaught() -> None:
    """Remember the exception that ends the program, so that the run of the process ends as error."""
    before = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        _uncaught.append(error)
        before(kind, error, trace)

    sys.excepthook = excepthook


@functools.cache
def _load_settings() -> Callable[[], Config]:
    with undisturbed():
        from agentdbg.config import load_config  # noqa: PLC0415 -- importing the package loads nothing heavy

    return load_config


@functools.cache
def _load_recorder() -> Any:
    """Load all that recording needs, now, so that nothing is left to be loaded between a verb and its write."""
    with undisturbed():
        from agentdbg.recorder import active_run, notebook  # noqa: PLC0415 -- as above

    notebook.show_runs_below_cells(recently_ended)
    return active_run


def _load_config() -> Config:
    config = not_swallowed(_load_settings())
    for message in (*config.problems, *config.notices):
        tell_once(message, message)
    return config


def _once_per_process() -> None:
    with _process.lock:
        if _process.is_prepared:
            return
        carry_into_threads()  # may fail, for want of descriptors for example; then the next run tries again
        _process.is_prepared = True
    try:
        atexit.register(_close_what_is_open)
    except RuntimeError as error:  # the program is exiting already
        pass_on(error)


def _close_with_worker() -> None:
    """A worker process of multiprocessing leaves without atexit; it has finalizers of its own."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is None or _process.worker_id == os.getpid() or processes.parent_process() is None:
        return
    from multiprocessing.util import Finalize  # noqa: PLC0415 -- loaded already in such a process

    _process.worker_id = os.getpid()
    Finalize(None, _close_what_is_open, exitpriority=0)


def _close_what_is_open() -> None:
    with contextlib.ExitStack() as each:  # also the others, when the end of one is interrupted
        for run in list(live_runs.values()):
            if run.is_ours():
                left_open = None if run.may_stay_open else RunLeftOpen()
                each.callback(end_run, run, _uncaught[-1] if _uncaught else left_open)
    for run in _recently_ended:
        run.refresh_late()


class _Held(threading.local):
    """The runs whose locks a thread that forks holds: another thread may start or end runs meanwhile."""

    def __init__(self) -> None:
        self.runs: list[ActiveRun] = []


_held = _Held()


def _before_fork() -> None:
    for run in list(live_runs.values()):
        run.prepare_fork()
        _held.runs.append(run)


def _after_in_parent() -> None:
    while _held.runs:
        _held.runs.pop().continue_after_fork(in_child=False)


def _after_in_child() -> None:
    _process.lock = threading.RLock()  # another thread of the parent may have held it
    _held.runs.clear()
    for run in list(live_runs.values()):
        run.continue_after_fork(in_child=True)


# Now, and not with the first run: another thread may fork while that holds the lock, and its child needs a new one.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
