"""
Run the program of a replay in this process, and say how it went.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any, NoReturn

from agentdbg.autorun.launcher import execute, prepare
from agentdbg.commands.replay_lines import replay_lines
from agentdbg.commands.replay_words import recorded_program
from agentdbg.config import load_config
from agentdbg.control.arming import arm
from agentdbg.control.divergence import Divergence
from agentdbg.control.effects_guard import parse_allow, paused
from agentdbg.control.forking import MockedPlan
from agentdbg.control.mocks import Mocks, parse_fault, parse_mock
from agentdbg.control.recorded_calls import call_recorded, until_event
from agentdbg.control.recorded_runs import CannotReplay, open_recorded
from agentdbg.control.replay_file import read_replay_file
from agentdbg.control.replaying import Replay, ReplayOptions
from agentdbg.control.volatile_inputs import parse_ignore
from agentdbg.exceptions import AgentDbgReplayDiverged, ReplayReached, RunStopped, UsageError
from agentdbg.index.follow import last_events
from agentdbg.index.run_index import load_run_meta
from agentdbg.recorder.run_log import set_origin
from agentdbg.storage.layout import run_dir

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.autorun.process import ProcessRun
    from agentdbg.commands.replay_words import Words
    from agentdbg.control.recorded_runs import Opened

__all__ = ["arm_breaks", "chosen_mocks", "go_to", "replay_program", "was_whole_program"]


def replay_program(words: Words) -> NoReturn:
    """Replay what the words name, and exit. Raises AgentDbgError before anything runs."""
    data_dir = load_config().data_dir
    call = words.options.get("--call")
    opened = open_recorded(words.run, data_dir, with_others=call is None)
    options, chosen = words.options, _options(words, opened, data_dir)
    program = None
    if call is None:
        program = words.program or recorded_program(opened)
        if not program.is_module and words.program is not None and not os.path.exists(program.target):
            raise CannotReplay(f"there is no file {program.target!r} here to run; `-- -m` runs a module")
    elif not opened.is_own and not call:
        raise CannotReplay(
            f"{opened.place} was not recorded in this data folder; name the function: --call module:function"
        )
    if words.program is None:
        go_to(opened)
    os.environ["AGENTDBG_TAPE"] = "1"
    os.environ.pop("AGENTDBG_PARENT_RUN_ID", None)
    report = None if options.get("--report") is None else words.folder / options["--report"]
    forgotten = _record_elsewhere() if options.get("--no-record") else None
    if program is not None:
        prepare(program, words.own_words if words.program is not None else 0)
    elif opened.argv is not None:
        sys.argv[:] = opened.argv
    replay = Replay(opened, chosen)
    if isinstance(chosen.plan, MockedPlan):
        chosen.plan.session = replay.session
    arm_breaks(options)
    set_origin({"mode": "replay", "parent_run_id": opened.main.run_id, "root_run_id": opened.main.run_id})
    ending = _Ending(replay, report, forgotten)
    replay.start()
    if program is not None and was_whole_program(opened):
        from agentdbg.autorun.process import begin, note_program  # noqa: PLC0415

        note_program(program.target if program.is_module else None, opened.head.get("seed"))
        ending.process_run = begin(program.shown_name, is_quiet=True)
    if program is not None:
        execute(program, ending.note_end)
    ending.call(lambda: call_recorded(opened, call or None))


def _options(words: Words, opened: Opened, data_dir: Path) -> ReplayOptions:
    given = words.options
    file = read_replay_file()
    allow = [parse_allow(text) for text in given.get("--allow", ())]
    if opened.is_own:  # a project's file may not open the machine for a stranger's tape
        allow += file.allow
    wanted = given.get("--until")
    return ReplayOptions(
        any_lane=bool(given.get("--loose")),
        on_divergence=given.get("--on-divergence", "stop"),
        until=None if wanted is None else until_event(opened, wanted, data_dir),
        volatile=[*(parse_ignore(text) for text in given.get("--ignore", ())), *file.volatile],
        allow=allow,
        clock=given.get("--clock", "recorded"),
        keep_sleep=bool(given.get("--keep-sleep")),
        plan=MockedPlan(chosen_mocks(given)) if "--mock" in given or "--fault" in given else None,
    )


def chosen_mocks(given: dict[str, Any]) -> Mocks | None:
    """What `--mock` and `--fault` ask for. Raises UsageError."""
    mocks = [*map(parse_mock, given.get("--mock", ())), *map(parse_fault, given.get("--fault", ()))]
    return Mocks(mocks) if mocks else None


def arm_breaks(given: dict[str, Any]) -> None:
    """Pause where `--break` says. Raises UsageError."""
    if "--break" in given:
        try:
            seconds = float(given.get("--wait", 0))
        except ValueError:
            raise UsageError(f"--wait is {given['--wait']!r}, which is no number of seconds") from None
        is_world = given.get("--pause") == "world"
        arm(given["--break"], wait_seconds=seconds, then=given.get("--then", "continue"), whole_world=is_world)


def go_to(opened: Opened) -> None:
    """To the folder that the program was run in."""
    cwd = opened.head.get("cwd")
    if isinstance(cwd, str) and opened.is_own:
        try:
            os.chdir(cwd)
        except OSError as error:
            raise CannotReplay(f"the folder {cwd} that it was run in cannot be entered: {error.strerror}") from None


def _record_elsewhere() -> str:
    """A data folder that is thrown away."""
    folder = tempfile.mkdtemp(prefix="agentdbg-unkept-")
    os.environ["AGENTDBG_DATA_DIR"] = folder
    return folder


def was_whole_program(opened: Opened) -> bool:
    """Whether the whole program was one run, as `agentdbg run` records it; else it traces its runs itself."""
    return bool(opened.head.get("whole"))


class _Ending:
    """What happens when the program has ended: the verdict, the report, the exit status."""

    def __init__(self, replay: Replay, report: Path | None, forgotten: str | None) -> None:
        self._replay = replay
        self._report = report
        self._forgotten = forgotten
        self._code = 0
        self._data_dir = load_config().data_dir
        self.process_run: ProcessRun | None = None
        atexit.register(self._settle)  # before the process's run registers its own: so it is closed when this is called

    def call(self, function: Any) -> NoReturn:
        """Run a function in place of a program."""
        try:
            function()
        except BaseException as error:  # noqa: BLE001 -- as a program's end
            raise self.note_end(error) from None
        raise self.note_end(None)

    def note_end(self, error: BaseException | None) -> BaseException:
        """The program ended with this; gives what the process is to end with."""
        if self.process_run is not None:
            error = self.process_run.note_end(error) or error
        if isinstance(error, KeyboardInterrupt):
            return error
        self._show(error)
        self._code = 0 if self._replay.session.is_equal else 1
        return SystemExit(self._code)

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
        sys.excepthook(type(error), error, error.__traceback__)

    def _settle(self) -> None:
        """At exit, when all threads are done and the run is closed."""
        replay = self._replay
        replay.stop()
        if not any(run.run_id for run in replay.session.runs) and not replay.session.divergences:
            sys.stderr.write(
                "agentdbg: the program made no run at all, so nothing was replayed; is it the right one?\n"
            )
            self._leave(2)
        meta = self._compare_ends()
        report = replay.report(meta.get("cost_usd") if meta else None)
        with paused():
            if self._report is not None:
                self._report.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            if self._forgotten is not None:
                shutil.rmtree(self._forgotten, ignore_errors=True)
        for line in replay_lines(replay, report, is_kept=self._forgotten is None):
            sys.stderr.write(f"{line}\n")
        self._leave(0 if replay.session.is_equal else 1)

    def _leave(self, code: int) -> None:
        if code != self._code:  # the interpreter has made up its mind already
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(code)

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
        now: Any = ends[-1] if ends else {}
        told, told_now = _told_end(was), _told_end(now)
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
