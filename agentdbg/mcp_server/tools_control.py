"""
The tools that act, for `agentdbg mcp --control`: replay a run, fork it, answer a pause, make a test of a run.

What is run is always the recorded program of a run of this data folder whose script lies under the folder the server
was started in, or the one that the person named; nothing the assistant says becomes an option or a file. Without
`--live` nothing goes beyond the recording. A child has no standard input, a group of its own and a time limit; one
runs at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.control.again_words import again_words
from agentdbg.control.own_command import start_own_command
from agentdbg.control.pauses import mistake_in, root_of, steps_into
from agentdbg.control.recorded_runs import calls_ours
from agentdbg.control.value_paths import with_value
from agentdbg.exceptions import UsageError
from agentdbg.mcp_server.tool import RUN, Parameter, Tool
from agentdbg.storage.control_files import answer_pause, paused_in
from agentdbg.storage.layout import run_dir, runs_dir
from agentdbg.tape.tape_reader import TapeReader, find_tape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.mcp_server.run_access import Reader

__all__ = ["Control", "control_tools"]

_MOST_PRINTED = 4_000
_RECORDED = re.compile(r"^agentdbg: recorded run ([0-9a-f]{8,})", re.MULTILINE)
_DO = ("continue", "step", "skip", "raise", "abort")


@dataclass(frozen=True)
class Control:
    """What the assistant may do, as the person who started the server said."""

    folder: Path
    live: bool = False
    max_cost_usd: float | None = None
    writes: str = "deny"
    timeout_s: float = 300.0
    program: tuple[str, ...] = ()
    """The program that may be run anew, as the person named it."""


def control_tools(control: Control) -> list[Tool]:
    """The tools that act within these limits."""

    def replay_run(reader: Reader, run: str, until: str, ignore: Sequence[str], **_: Any) -> dict[str, Any]:
        run_id = _own_run(reader, run, control)
        words = ["replay", run_id, *([f"--until={_step(until)}"] if until else [])]
        return _child(control, reader, [*words, *(f"--ignore={one}" for one in ignore)])

    def fork_run(
        reader: Reader,
        run: str,
        at: str,
        set: Sequence[str],  # noqa: A002 -- the name of the argument
        mocks: Sequence[str],
        trials: int,
        **_: Any,
    ) -> dict[str, Any]:
        if not control.live or control.max_cost_usd is None:
            raise UsageError("a fork makes live calls; a person has to start this server with --live --max-cost-usd")
        run_id = _own_run(reader, run, control)
        wanted = {"what": "fork", "at": at, "set": list(set), "mocks": list(mocks), "writes": control.writes}
        return _child(control, reader, again_words(run_id, {**wanted, "trials": trials}))

    def run_program(reader: Reader, args: Sequence[str], **_: Any) -> dict[str, Any]:
        return _child(control, reader, _run_words(control, args))

    def paused(reader: Reader, **_: Any) -> dict[str, Any]:
        found = []
        with contextlib.suppress(OSError):
            for folder in runs_dir(reader.data_dir).iterdir():
                found += [{"run": folder.name, **pause} for pause in paused_in(folder)]
        return {"paused": found}

    def answer(
        reader: Reader,
        run: str,
        pause_id: str,
        do: str,
        value: str,
        set: Sequence[str],  # noqa: A002 -- as above
        error: str,
        **_: Any,
    ) -> dict[str, Any]:
        command = _command(do, value, error)
        folder = run_dir(reader.data_dir, reader.run_id(run))
        waiting = next((one for one in paused_in(folder) if one["pause_id"] == pause_id), None)
        if waiting is not None and set:
            command["value"] = _changed(waiting, set)
        if waiting is not None and (mistake := mistake_in(command, waiting.get("can") or ())):
            raise UsageError(mistake)
        if not answer_pause(folder, pause_id, command):
            raise UsageError("this pause was answered elsewhere, or no longer waits; `paused` says what does")
        return {"answered": pause_id, "do": do}

    def write_test(reader: Reader, run: str, **_: Any) -> dict[str, Any]:
        return _child(control, reader, ["test", _own_run(reader, run, control)])

    return _described(replay_run, fork_run, run_program, paused, answer, write_test)


def _described(
    replay_run: Any, fork_run: Any, run_program: Any, paused: Any, answer: Any, write_test: Any
) -> list[Tool]:
    at = Parameter("at", "string", "The step: its number, the beginning of its event id, `error`, `loop` or `last`.")
    strings = Parameter("set", "strings", 'What to change, as PATH=VALUE: result.hits=[], response="No.".', ())
    return [
        Tool(
            "replay_run",
            "Replay a run",
            "Run the recorded program again, answered from its recording: nothing goes over the network, nothing is "
            "written. Says whether it did the same, and the first difference.",
            (
                RUN,
                Parameter("until", "string", "Stop at this step.", ""),
                Parameter("ignore", "strings", "Parts of inputs that may differ: 'tool:search args.date'.", ()),
            ),
            replay_run,
            acts=True,
        ),
        Tool(
            "fork_run",
            "Fork a run",
            "Serve the recorded steps up to one, change it, and go on live. Tools that write are denied unless the "
            "person allowed them, and the person's limit of money holds unless the program sets its own. Gives the new "
            "run's id; compare_runs says what became different.",
            (
                RUN,
                at,
                strings,
                replace(strings, name="mocks", description="Answers by name: refund={...}."),
                Parameter("trials", "integer", "How many forks; a table says how they differ.", 1, 1, 20),
            ),
            fork_run,
            acts=True,
        ),
        Tool(
            "run_program",
            "Run the program",
            "Run the program that the person named when this server was started, live, and record it. Gives the id of "
            "the new run.",
            (replace(strings, name="args", description="Values for the program, after its own arguments."),),
            run_program,
            acts=True,
        ),
        Tool("paused", "What waits", "Every call that waits at a breakpoint, and what it shows.", (), paused),
        Tool(
            "answer_pause",
            "Answer a pause",
            "Let a paused call go on, changed or not. The first answer counts.",
            (
                RUN,
                Parameter("pause_id", "string", "As `paused` gives it."),
                Parameter("do", "string", "What to do.", "continue", choices=_DO),
                Parameter("value", "string", "JSON: new arguments or result, or what to answer with for skip.", ""),
                replace(strings, description="Or what to change of it, as PATH=VALUE: args.amount=40, result.ok=true."),
                Parameter("error", "string", "For raise: TimeoutError: the reason.", ""),
            ),
            answer,
            acts=True,
        ),
        Tool(
            "write_test",
            "Make a test of a run",
            "Write a regression test that replays the run offline, and keep it only if it passes.",
            (RUN,),
            write_test,
            acts=True,
        ),
    ]


def _command(do: str, value: str, error: str) -> dict[str, Any]:
    command: dict[str, Any] = {"do": do, "by": "assistant"}
    if value:
        try:
            command["value"] = json.loads(value)
        except ValueError:
            raise UsageError("value is not JSON; a text needs quotes") from None
    if do == "raise":
        kind, _, message = error.partition(":")
        command["error"] = {"type": kind.strip() or "RuntimeError", "message": message.strip()}
    return command


def _changed(pause: dict[str, Any], changes: Sequence[str]) -> Any:
    """What a pause shows, with other values at some paths; they are JSON, else text."""
    root = root_of(str(pause.get("when")), str((pause.get("call") or {}).get("kind")))
    shown = {root: pause.get("value")}
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals:
            raise UsageError(f"{change[:60]!r} is no change; one looks like {root}.amount=40")
        value: Any = text
        with contextlib.suppress(ValueError):
            value = json.loads(text)
        shown = with_value(shown, steps_into(root, shown[root], path.strip()), value)
    return shown[root]


def _run_words(control: Control, args: Sequence[str]) -> list[str]:
    if not control.program:
        raise UsageError('a person has to name the program: agentdbg mcp --control --program "python agent.py"')
    if not control.live or control.writes != "allow":
        raise UsageError("a program that runs is live and may write; it needs --live --max-cost-usd --writes allow")
    if any(one.startswith("-") or "\0" in one for one in args):
        raise UsageError("args are values for the program; options are a person's")
    return ["run", *control.program, *args]


def _step(text: str) -> str:
    if text.startswith("-"):
        raise UsageError(f"{text!r} is no step")
    return text


def _own_run(reader: Reader, wanted: str, control: Control) -> str:
    """The id of a run that was recorded here: of our demo, or of a program below the folder the server began in."""
    run_id = reader.run_id(wanted)
    path = find_tape(run_dir(reader.data_dir, run_id))
    if path is None:
        raise UsageError(f"run {run_id[:8]} has no tape, so it cannot be run again")
    tape = TapeReader(path)
    try:
        head, is_own = dict(tape.head), tape.is_from(reader.data_dir)
    finally:
        tape.close()
    if not is_own:
        raise UsageError(f"run {run_id[:8]} was not recorded in this data folder, so what it names is not run")
    if calls_ours(head):
        return run_id
    argv, cwd = head.get("argv"), head.get("cwd")
    script = os.path.join(str(cwd), str(argv[0])) if isinstance(argv, list) and argv else ""
    if not Path(os.path.realpath(script)).is_relative_to(os.path.realpath(control.folder)):
        raise UsageError(f"the program of run {run_id[:8]} does not lie under the folder this server was started in")
    return run_id


def _child(control: Control, reader: Reader, words: list[str]) -> dict[str, Any]:
    environment = {**os.environ, "AGENTDBG_DATA_DIR": str(reader.data_dir)}
    if control.max_cost_usd is not None:
        environment["AGENTDBG_MAX_COST_USD"] = str(control.max_cost_usd)
    with tempfile.TemporaryDirectory(prefix="agentdbg-mcp-") as folder:
        report = os.path.join(folder, "report.json")
        own = [*words[:1], f"--report={report}", *words[1:]] if words[0] in ("replay", "fork") else words
        process = start_own_command(
            own,
            cwd=control.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=control.timeout_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            printed, _ = process.communicate()
            raise UsageError(f"it was ended after {control.timeout_s:g} s, the time limit of this server") from None
        found: dict[str, Any] = {"exit_code": process.returncode}
        with contextlib.suppress(OSError, ValueError):
            found["report"] = json.loads(Path(report).read_text(encoding="utf-8"))
    text = printed.decode("utf-8", "replace")
    if words[0] == "run" and (recorded := _RECORDED.findall(text)):
        found["run_id"] = reader.run_id(recorded[-1])
    return {**found, "printed": text[-_MOST_PRINTED:]}
