"""
How a replayed program comes to its end: what is shown, the verdict, the report, the exit status.

A program that was stopped may not notice: its main thread waits for a worker that the stop has ended. After a while it
is interrupted as by Ctrl-C, and then left.
"""

from __future__ import annotations

import _thread
import atexit
import json
import os
import shutil
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from agentdbg.autorun.launcher import without_own_frames
from agentdbg.commands.replay_lines import replay_lines
from agentdbg.config import load_config
from agentdbg.control.background import let_others_end
from agentdbg.control.divergence import Divergence
from agentdbg.control.effects_guard import Paused
from agentdbg.control.recorded_runs import CannotReplay
from agentdbg.exceptions import AgentDbgReplayDiverged, ReplayReached, RunStopped
from agentdbg.index.follow import last_events
from agentdbg.index.run_index import load_run_meta
from agentdbg.safe_text import clean
from agentdbg.storage.layout import run_dir

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentdbg.autorun.process import ProcessRun
    from agentdbg.control.replaying import Replay

__all__ = ["Ending", "before_leaving_at_once", "write_report"]

_GRACE_S = 2.0
"""How long a stopped program may take to end by itself, and after an interruption once more."""


_leave_now = os._exit  # the real one


def before_leaving_at_once(tell: Callable[[int], int]) -> None:
    """Let `tell` say how it went before the program leaves by `os._exit`, which runs nothing; gives the status."""
    process = os.getpid()

    def leave(status: int) -> None:
        if os.getpid() == process:  # not a child
            os._exit = _leave_now  # said once
            status = tell(status)
        _leave_now(status)

    os._exit = leave  # type: ignore[assignment]


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Write what --report asks for; where that fails, it is said, and the verdict stays what it is."""
    try:
        with Paused():
            path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"agentdbg: the report could not be written to {path}: {error.strerror}\n")


class Ending:
    """What happens when the program has ended: the verdict, the report, the exit status."""

    def __init__(self, replay: Replay, report: Path | None, forgotten: str | None) -> None:
        self._replay = replay
        self._report = report
        self._forgotten = forgotten
        self._code = 0
        self._final: int | None = None
        """What the process is to end with, when all of it is known."""
        self._data_dir = load_config().data_dir
        self.process_run: ProcessRun | None = None
        self._is_interrupted = False
        self._is_given_up = False
        """Whether somebody pressed Ctrl-C; then there is nothing to judge, and Python ends the process as ever."""
        self._is_off = False
        """Whether there was nothing to run; why has been said."""
        self.is_call = False
        """Whether a function is replayed, not its program."""
        self._is_over = threading.Event()
        replay.session.on_stop.append(self._wait_for_end)
        before_leaving_at_once(self._left_at_once)
        atexit.register(self._settle)  # before the process's run registers its own: so it is closed when this is called

    def watch_end(self) -> None:
        """Called when the run of the process has begun: what it registers now comes before that run is closed."""
        atexit.register(self._replay.close_calls)

    def call(self, function: Any) -> NoReturn:
        """Run a function in place of a program."""
        try:
            function()
        except CannotReplay as reason:
            sys.stderr.write(f"agentdbg: {clean(str(reason), keep_lines=True)}\n")
            self._is_off, self._code = True, 2
            raise SystemExit(2) from None
        except BaseException as error:  # noqa: BLE001 -- as a program's end
            raise self.note_end(error) from None
        raise self.note_end(None)

    def note_end(self, error: BaseException | None) -> BaseException:
        """The program ended with this; gives what the process is to end with."""
        if self.process_run is not None:
            error = self.process_run.note_end(error) or error
        if isinstance(error, KeyboardInterrupt) and not self._is_interrupted and not self._was_interrupted():
            self._is_given_up = True
            return error
        self._show(error)
        let_others_end(self._replay.session)
        if isinstance(error, Exception):
            self._replay.session.ended_by = type(error).__name__
        self._code = 0 if self._replay.session.is_equal else 1
        return SystemExit(self._code)

    def _was_interrupted(self) -> bool:
        """Whether the recorded program had ended so too, and all that it had called has been called."""
        runs = [run for run in self._replay.session.runs if run.run_id]
        return bool(runs) and all(
            run.gate.is_through and _told_end(run.recorded.end or {}) == "KeyboardInterrupt" for run in runs
        )

    def _left_at_once(self, status: int) -> int:
        session = self._replay.session
        for run in session.runs:
            if run.run_id and run.recorded.end is not None and session.stopped is None and session.reached is None:
                self._ended_otherwise(run.recorded.end, f"os._exit({status})")
        self._code = status
        self._settle()
        return status if self._final is None else self._final

    def _show(self, error: BaseException | None) -> None:
        """Show what ended the program as Python would, unless it was us."""
        if error is None or isinstance(error, (AgentDbgReplayDiverged, ReplayReached, RunStopped)):
            return
        if self._replay.session.stopped is not None or self._replay.session.reached is not None:
            return  # whatever the program made of our stop
        if isinstance(error, SystemExit):
            if error.code is not None and not isinstance(error.code, int):
                sys.stderr.write(f"{error.code}\n")
            return
        BaseException.with_traceback(error, without_own_frames(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)

    def _wait_for_end(self) -> None:
        hook = threading.excepthook

        def show(args: threading.ExceptHookArgs) -> None:
            if not issubclass(args.exc_type, (AgentDbgReplayDiverged, ReplayReached, RunStopped)):
                hook(args)

        threading.excepthook = show
        _thread.start_new_thread(self._end_it, ())

    def _end_it(self) -> None:
        """Let a program that was stopped, and does not end, end."""
        if self._is_over.wait(_GRACE_S):
            return
        self._is_interrupted = True
        with Paused():
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:  # Windows
                _thread.interrupt_main()
        if self._is_over.wait(_GRACE_S):
            return
        _thread.start_new_thread(atexit._run_exitfuncs, ())  # noqa: SLF001 -- closes the runs, and calls `_settle`
        self._is_over.wait(2 * _GRACE_S)
        _leave_now(1 if self._final is None else self._final)

    def _settle(self) -> None:
        """At exit, when all threads are done and the run is closed."""
        replay = self._replay
        replay.stop(stays_closed=True)
        if self._is_off:
            self._forget()
            return
        if self._is_given_up:
            self._give_up()
            return
        if not any(run.run_id for run in replay.session.runs) and not replay.session.divergences:
            sys.stderr.write(
                "agentdbg: the program made no run at all, so nothing was replayed; is it the right one?\n"
            )
            self._leave(2)
        meta = self._compare_ends()
        report = replay.report(meta.get("cost_usd") if meta else None)
        replay.keep_verdicts()
        if self._report is not None:
            write_report(self._report, report)
        self._forget()
        for line in replay_lines(replay, report, is_kept=self._forgotten is None, is_call=self.is_call):
            sys.stderr.write(f"{clean(line, keep_lines=True)}\n")
        self._final = 0 if replay.session.is_equal else 1
        self._is_over.set()
        self._leave(self._final)

    def _give_up(self) -> None:
        calls = self._replay.counts
        served = f"{calls['served']} of {calls['recorded'] - calls['observed']} calls were served"
        sys.stderr.write(f"agentdbg: interrupted; {served}, and nothing was compared\n")
        self._forget()
        self._is_over.set()

    def _forget(self) -> None:
        if self._forgotten is not None:
            with Paused():
                shutil.rmtree(self._forgotten, ignore_errors=True)

    def _leave(self, code: int) -> None:
        if code != self._code:  # the interpreter has made up its mind already
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            _leave_now(code)

    def _compare_ends(self) -> Any:
        """Whether the runs ended as they had ended; gives what is known of the new one."""
        replay = self._replay
        session = replay.session
        run_id = replay.new_run_id
        if run_id is None:
            return None
        if session.stopped is None and session.reached is None:
            for run in session.runs:
                if run.run_id and run.recorded.end is not None:
                    self._compare_end(run.run_id, run.recorded.end)
        return load_run_meta(run_id, self._data_dir)

    def _compare_end(self, run_id: str, was: Any) -> None:
        events, _ = last_events(str(run_dir(self._data_dir, run_id)), run_id)
        ends = [event["payload"] for event in events if event["event_type"] == "RUN_END"]
        if not ends:  # no space was left for it; how the program ended is not known, so nothing is said of it
            self._replay.not_controlled.append("how the run ended: it could not be recorded, so it is not compared")
            return
        self._ended_otherwise(was, _told_end(ends[-1]))

    def _ended_otherwise(self, was: Any, told_now: str) -> None:
        told = _told_end(was)
        if told != told_now:
            outcome = Divergence("outcome", what=f"the program ended otherwise: recorded {told}, now {told_now}")
            outcome.equal_before = self._replay.counts["served"]
            self._replay.session.divergences.append(outcome)


def _told_end(payload: Any) -> str:
    error = payload.get("error")
    kind = error.get("error_type") if isinstance(error, dict) else None
    code = payload.get("exit_code")
    if kind is not None and kind != "SystemExit":
        return str(kind)
    if isinstance(code, int) and code:
        return f"exit status {code}"
    return str(payload.get("status") or "no end")
