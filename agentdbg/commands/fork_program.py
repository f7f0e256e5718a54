"""
Run the program of a fork in this process, and say how it went; or several of them, each in a process of its own.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from agentdbg.autorun.launcher import execute, prepare, without_own_frames
from agentdbg.autorun.process import begin, note_program
from agentdbg.commands.fork_trials import run_trials
from agentdbg.commands.replay_ending import before_leaving_at_once, write_report
from agentdbg.commands.replay_lines import allow_rule
from agentdbg.commands.replay_program import (
    arm_breaks,
    chosen_mocks,
    go_to,
    is_ours,
    let_through,
    recorded_program,
    report_path,
    was_whole_program,
)
from agentdbg.config import load_config
from agentdbg.control.edits import Edit, edited_answer, edited_input, parse_edit
from agentdbg.control.forking import ForkPlan, check_edits
from agentdbg.control.inputs import LiveInputs
from agentdbg.control.object_fields import as_fields
from agentdbg.control.prompt import edited_in_editor
from agentdbg.control.recorded_answers import CannotServe, make_answer
from agentdbg.control.recorded_calls import call_recorded, until_event
from agentdbg.control.recorded_runs import CannotReplay, open_recorded
from agentdbg.control.replaying import Replay, ReplayOptions
from agentdbg.control.surroundings import forget_seed
from agentdbg.control.tapes import shown_input
from agentdbg.exceptions import UsageError
from agentdbg.policy_file import effect_rules_of, find_policy
from agentdbg.recorder.deciders import Answer
from agentdbg.recorder.run_log import redactor_of
from agentdbg.safe_text import clean
from agentdbg.storage.reader import load_events

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.autorun.process import ProcessRun
    from agentdbg.commands.replay_words import Words
    from agentdbg.control.recorded import RecordedCall
    from agentdbg.control.recorded_runs import Opened

__all__ = ["fork_program"]


def fork_program(words: Words) -> NoReturn:
    """Fork what the words name, and exit. Raises AgentDbgError before anything runs."""
    data_dir = load_config().data_dir
    options = words.options
    wanted = options.get("--at") or options.get("--after")
    if wanted is None or ("--at" in options and "--after" in options):
        raise UsageError("which step? --at EVENT changes it, --after EVENT goes on live behind it")
    opened = open_recorded(words.run, data_dir, with_others=True)
    is_call = words.program is None and is_ours(opened)
    if is_call:  # its traced function is the program
        opened.close()
        opened = open_recorded(words.run, data_dir)
    cut = until_event(opened, wanted, data_dir)
    call = next(call for call in opened.main.recording.calls if call.event_id == cut)
    edits, for_all = _edits(opened, call, options)
    if "--trials" in options:
        typed = len(options.get("--set", ()))
        sys.exit(run_trials(words, opened, edits[typed : len(edits) - len(for_all)]))
    for option in ("--jobs", "--expect"):
        if option in options:
            raise UsageError(f"{option} is about trials; --trials N says how many there are")
    program = None if is_call else words.program or recorded_program(opened)
    if words.program is not None and not words.program.is_module and not os.path.exists(words.program.target):
        raise CannotReplay(f"there is no file {words.program.target!r} here to run; `-- -m` runs a module")
    plan = ForkPlan(
        opened.main,
        cut,
        edits,
        edits_for_all=for_all,
        writes=options.get("--writes", "ask"),
        rules=effect_rules_of(find_policy()),
        secrets=dict(map(_secret, options.get("--secret", ()))),
        mocks=chosen_mocks(options),
    )
    if words.program is None:
        go_to(opened)
    os.environ["AGENTDBG_TAPE"] = "1"
    os.environ.pop("AGENTDBG_PARENT_RUN_ID", None)
    if program is not None:
        prepare(program, words.own_words if words.program is not None else 0)
    origin = _origin(opened, call, [*edits, *for_all], options)
    volatile, allow = let_through(options, opened)
    chosen = ReplayOptions(
        on_divergence="live", clock="now", keep_sleep=True, plan=plan, origin=origin, volatile=volatile, allow=allow
    )
    replay = Replay(opened, chosen)
    replay.session.on_live.append(forget_seed(opened.head.get("seed")))
    arm_breaks(options)
    report = report_path(words)
    ending = _Ending(replay, plan, report)
    replay.start()
    if replay.missing_keys:
        names = ", ".join(replay.missing_keys)
        sys.stderr.write(f"agentdbg: {names} not set: the program may need it, unless it loads it itself\n")
    if program is None:
        ending.call(lambda: call_recorded(opened, None))
    if was_whole_program(opened):
        note_program(program.target if program.is_module else None, opened.head.get("seed"))
        ending.process_run = begin(program.shown_name, is_quiet=True)
    execute(program, ending.note_end)


def _edits(opened: Opened, call: RecordedCall, options: dict[str, Any]) -> tuple[list[Edit], list[Edit]]:
    """What is to be changed, checked before anything runs."""
    edits = [parse_edit(text) for text in options.get("--set", ())]
    for_all = [parse_edit(text, "--set-all") for text in options.get("--set-all", ())]
    if any(edit.is_outcome for edit in for_all):
        raise UsageError("--set-all changes what calls are given; what one step gives is changed with --set")
    if "--after" in options and (edits or "--edit" in options):
        raise UsageError("--after changes nothing; --at EVENT is the step to change")
    if "--edit" in options:
        edits += _from_editor(opened, call)
    if "--at" in options and not edits and not for_all and not {"--mock", "--fault", "--break"} & set(options):
        raise UsageError("what is to be changed? --set PATH=VALUE, --edit, or --after EVENT to change nothing")
    kind = call.kind if call.kind != "http" else "llm"
    check_edits([*edits, *for_all], kind, call.name)
    _try_edits(opened, call, [*edits, *for_all])
    return [*edits, *for_all], for_all


def _try_edits(opened: Opened, call: RecordedCall, edits: list[Edit]) -> None:
    """Make the edits in what was recorded, so that a path that leads nowhere is told before anything runs."""
    place = opened.main.recording.place_of(call.event_id)
    given = opened.main.input_of(place)
    outcomes = [edit for edit in edits if edit.is_outcome]
    inputs = [edit for edit in edits if not edit.is_outcome]
    edited_input(place.kind, given if place.kind == "http" else as_fields(given), inputs)
    if (
        outcomes and place.is_servable and "ok" in place.tape_call.out
    ):  # the program's own classes are not loaded here, its fields are known
        edited_answer(Answer(as_fields(opened.main.tape.value(place.tape_call.out["ok"]))), outcomes)
    elif outcomes and not (outcomes[0].replaces_all and place.kind != "http"):
        try:
            answer = make_answer(opened.main, place, LiveInputs(redactor_of(load_config())), "serve")
        except CannotServe as reason:
            raise CannotReplay(f"what the step gave cannot be rebuilt, so it cannot be changed: {reason}") from None
        edited_answer(answer, outcomes, given if place.kind == "http" else None)


def _from_editor(opened: Opened, call: RecordedCall) -> list[Edit]:
    out = call.tape_call.out
    given = shown_input(call.kind, opened.main.input_of(call))
    name = "result" if call.kind == "tool" else "response"
    shown = {"input": given, "output": {name: opened.main.tape.value(out["ok"])} if "ok" in out else {}}
    changed = edited_in_editor(shown)
    if changed == shown:
        raise UsageError("nothing was changed in the editor, so nothing is run")
    edits = []
    for part in ("output", "input"):
        for key, value in (changed.get(part) or {}).items():
            if value != shown[part].get(key):
                edits.append(Edit((key,), value))
    return edits


def _secret(text: str) -> tuple[int, str]:
    number, equals, source = text.partition("=")
    name = source.removeprefix("env:")
    if not equals or not number.isdecimal() or not source.startswith("env:"):
        raise UsageError(f"--secret {text}: it takes N=env:NAME, for example 3=env:GITHUB_TOKEN")
    if name not in os.environ:
        raise UsageError(f"--secret {text}: there is no {name} in the environment")
    return int(number), os.environ[name]


def _origin(opened: Opened, call: RecordedCall, edits: list[Edit], options: dict[str, Any]) -> dict[str, Any]:
    events = list(load_events(opened.main.run_id)) if opened.main.run_id else []
    start = events[0] if events else None
    number = next((at for at, event in enumerate(events, 1) if event["event_id"] == call.event_id), None)
    before = None if start is None else start["payload"].get("replay")
    root = before.get("root_run_id") if isinstance(before, dict) else None
    return {
        "mode": "fork",
        "parent_run_id": opened.main.run_id,
        "root_run_id": root or opened.main.run_id,
        "at": {"event_id": call.event_id, "n": number},
        "edits": [edit.to_json() for edit in edits],
        "mocks": [*options.get("--mock", ()), *options.get("--fault", ())],
    }


class _Ending:
    """What happens when the program has ended: it is said how the fork went; the exit code is the program's."""

    def __init__(self, replay: Replay, plan: ForkPlan, report: Path | None) -> None:
        self._replay = replay
        self._plan = plan
        self._report = report
        self.process_run: ProcessRun | None = None
        atexit.register(self._settle)
        before_leaving_at_once(self._left_at_once)

    def _left_at_once(self, status: int) -> int:
        self._settle()
        return status

    def call(self, function: Any) -> NoReturn:
        """Run a function in place of a program."""
        try:
            function()
        except Exception as error:  # noqa: BLE001 -- shown as Python shows a program's end
            BaseException.with_traceback(error, without_own_frames(error.__traceback__))
            sys.excepthook(type(error), error, error.__traceback__)
            sys.exit(1)
        sys.exit(0)

    def note_end(self, error: BaseException | None) -> BaseException:
        """The program ended with this; gives what the process is to end with."""
        if self.process_run is not None:
            error = self.process_run.note_end(error) or error
        return error or SystemExit(0)

    def _why_not_reached(self) -> str:
        stopped = self._replay.session.stopped
        if stopped is not None and stopped.kind_of == "effect":
            place = f" ({stopped.source})" if stopped.source else ""
            return f"the program would {stopped.what} before it{place}; --allow {allow_rule(stopped.what)} lets it"
        if self._replay.session.is_live:
            return "the program did something else before it, and went on live"
        return "the program ended before it"

    def _settle(self) -> None:
        replay = self._replay
        replay.stop()
        counts, parent = replay.counts, replay.opened.main.run_id
        if not any(run.run_id for run in replay.session.runs):
            sys.stderr.write("agentdbg: the program made no run at all, so nothing was forked; is it the right one?\n")
            return
        new = replay.new_run_id or ""
        replay.keep_verdicts()
        changed = counts["edited"] + sum(run.changed_live for run in replay.session.runs)
        sys.stderr.write(
            f"agentdbg: forked {parent[:8]} as {new[:8]}: {counts['served']} served, {changed} changed, "
            f"{counts['mock']} mocked, {counts['live']} live; agentdbg diff {parent[:8]} {new[:8]} compares them\n"
        )
        if not self._plan.was_reached:
            sys.stderr.write(f"agentdbg: the step was not reached: {self._why_not_reached()}\n")
        for why in dict.fromkeys(self._plan.refused):
            sys.stderr.write(f"agentdbg: not made: {clean(why)}\n")
        if self._report is not None:
            found = {"spec_version": "0.1", "run_id": new, "parent_run_id": parent, "calls": counts}
            found["refused"] = self._plan.refused
            write_report(self._report, found)
