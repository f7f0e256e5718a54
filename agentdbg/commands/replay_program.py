"""
Run the program of a replay in this process, and say how it went.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any, NoReturn

from agentdbg.autorun.launcher import Program, execute, prepare
from agentdbg.autorun.process import begin, note_program
from agentdbg.commands.replay_back import go_back, going_back_to, mute_until_arrival
from agentdbg.commands.replay_ending import Ending
from agentdbg.config import load_config
from agentdbg.control.effects_guard import parse_allow
from agentdbg.control.recorded_calls import call_recorded, until_event
from agentdbg.control.recorded_runs import CannotReplay, calls_ours, open_recorded, recorded_words
from agentdbg.control.replay_file import read_replay_file
from agentdbg.control.replaying import Replay, ReplayOptions
from agentdbg.control.volatile_inputs import parse_ignore
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.commands.replay_words import Words
    from agentdbg.control.breakpoints import Breakpoints
    from agentdbg.control.mocks import Mocks
    from agentdbg.control.plan import Plan
    from agentdbg.control.recorded_runs import Opened
    from agentdbg.control.volatile_inputs import VolatileRule

__all__ = [
    "arm_breaks",
    "chosen_mocks",
    "go_to",
    "is_ours",
    "let_through",
    "recorded_program",
    "replay_program",
    "report_path",
    "was_whole_program",
]


def replay_program(words: Words) -> NoReturn:
    """Replay what the words name, and exit. Raises AgentDbgError before anything runs."""
    data_dir = load_config().data_dir
    call = words.options.get("--call")
    opened = open_recorded(words.run, data_dir, with_others=call is None)
    if call is None and words.program is None and is_ours(opened):
        opened.close()
        call = words.options["--call"] = ""
        opened = open_recorded(words.run, data_dir)
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
    report = report_path(words)
    forgotten = _record_elsewhere() if options.get("--no-record") else None
    if program is not None:
        prepare(program, words.own_words if words.program is not None else 0)
    elif opened.argv is not None:
        sys.argv[:] = opened.argv
    replay = Replay(opened, chosen)
    breaks = arm_breaks(options, from_call=going_back_to())
    if breaks is not None and chosen.on_divergence != "live":
        breaks.go_back = lambda call: go_back(replay, call, forgotten)
        breaks.on_arrival = mute_until_arrival()
    ending = Ending(replay, report, forgotten)
    ending.is_call = program is None
    replay.start()
    if program is not None and was_whole_program(opened):
        note_program(program.target if program.is_module else None, opened.head.get("seed"))
        ending.process_run = begin(program.shown_name, is_quiet=True)
        ending.watch_end()
    if program is not None:
        execute(program, ending.note_end)
    ending.call(lambda: call_recorded(opened, call or None))


def recorded_program(opened: Opened) -> Program:
    """The program that a tape of our own names. Raises CannotReplay."""
    if not opened.is_own:
        raise CannotReplay(
            f"{opened.place} was not recorded in this data folder, so what it names is not run;"
            f" name the program yourself: agentdbg replay {opened.place} -- agent.py"
        )
    argv = recorded_words(opened.head, opened.place)
    module = opened.head.get("module")
    if isinstance(module, str) and module:
        return Program(module, argv[1:], is_module=True)
    return Program(argv[0], argv[1:], is_module=False)


def is_ours(opened: Opened) -> bool:
    """Whether a command of ours recorded it, as `agentdbg demo` does: then its traced function is the program."""
    return opened.is_own and calls_ours(opened.head)


def _options(words: Words, opened: Opened, data_dir: Path) -> ReplayOptions:
    given = words.options
    volatile, allow = let_through(given, opened)
    wanted = given.get("--until")
    return ReplayOptions(
        any_lane=bool(given.get("--loose")),
        on_divergence=given.get("--on-divergence", "stop"),
        until=None if wanted is None else until_event(opened, wanted, data_dir),
        volatile=volatile,
        allow=allow,
        clock=given.get("--clock", "recorded"),
        keep_sleep=bool(given.get("--keep-sleep")),
        plan=_mocked_plan(given) if "--mock" in given or "--fault" in given else None,
    )


def let_through(given: dict[str, Any], opened: Opened) -> tuple[list[VolatileRule], list[tuple[str, str]]]:
    """What inputs are passed over, and what the program may do, by the command line and the project's file."""
    file = read_replay_file()
    volatile = [*(parse_ignore(text) for text in given.get("--ignore", ())), *file.volatile]
    allow = [parse_allow(text) for text in given.get("--allow", ())]
    # A project's file may not open the machine for a stranger's tape.
    return volatile, [*allow, *file.allow] if opened.is_own else allow


def report_path(words: Words) -> Path | None:
    """The file that `--report` names. Raises UsageError where it cannot be one."""
    given = words.options.get("--report")
    if given is None:
        return None
    path: Path = words.folder / given
    if path.is_dir():
        raise UsageError(f"--report {given}: that is a folder; it takes the name of a file")
    if not path.parent.is_dir():
        raise UsageError(f"--report {given}: there is no folder {path.parent}")
    return path


def _mocked_plan(given: dict[str, Any]) -> Plan:
    from agentdbg.control.forking import MockedPlan  # noqa: PLC0415 -- most replays mock nothing

    return MockedPlan(chosen_mocks(given))


def chosen_mocks(given: dict[str, Any]) -> Mocks | None:
    """What `--mock` and `--fault` ask for. Raises UsageError."""
    if "--mock" not in given and "--fault" not in given:
        return None
    from agentdbg.control.mocks import Mocks, parse_fault, parse_mock  # noqa: PLC0415 -- only for who asks for it

    mocks = [*map(parse_mock, given.get("--mock", ())), *map(parse_fault, given.get("--fault", ()))]
    chosen = Mocks(mocks)
    atexit.register(chosen.tell_unused)
    return chosen


def arm_breaks(given: dict[str, Any], from_call: int = 0) -> Breakpoints | None:
    """Pause where `--break` says. Raises UsageError."""
    if "--break" not in given:
        return None
    from agentdbg.control.arming import arm  # noqa: PLC0415 -- only for who asks to pause

    try:
        seconds = float(given.get("--wait", 0))
    except ValueError:
        raise UsageError(f"--wait is {given['--wait']!r}, which is not a number of seconds") from None
    is_world = given.get("--pause") == "world"
    then = given.get("--then", "continue")
    return arm(given["--break"], wait_seconds=seconds, then=then, whole_world=is_world, from_call=from_call)


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
