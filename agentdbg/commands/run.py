"""
`agentdbg run`: record a program that was not written for it.

What stands before the program are our options; everything after it belongs to the program, whatever it looks like.
That, and the time an agent has to wait for us, are why this command reads its own command line.
"""

from __future__ import annotations

import atexit
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentdbg.autorun.launcher import Program, execute, prepare
from agentdbg.commands.help_page import Help
from agentdbg.config import SETTINGS
from agentdbg.exceptions import UsageError
from agentdbg.recorder.deciders import add_decider
from agentdbg.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.config import Setting

__all__ = ["EXAMPLES", "command", "main", "own_help"]

EXAMPLES = """
agentdbg run agent.py "what is the weather in Paris?"
agentdbg run -m my_package.agent --verbose
agentdbg run --name nightly --stop-on-loop --max-cost-usd 2 agent.py
agentdbg run --fault search#2=timeout --mock 'refund={"ok": true}' agent.py
agentdbg run --break "tool:refund where args.amount>100" agent.py
"""

_HELP = """
Record a program without changing it: its model and tool calls, its errors, its exit status, and its Python children as
runs of their own. The program behaves as it does without us.

The limits hold for the program and for each of its children. A limit that the program gives to one of its own runs, as
in @trace(max_llm_calls=50), beats the same limit given here.
"""
_LONGEST_BEGINNING = 300


def command() -> None:
    """Record a program without changing it. Its options are in docs/run.md and `agentdbg run --help`."""
    main(sys.argv[2:])


def own_help() -> Help:
    """What `agentdbg run --help` shows, and what shells complete."""
    rows = [("--name TEXT", "What to call the run.")]
    for setting in _limits():
        flag = setting.key == "stop_on_loop"
        rows.append((f"{_option(setting)}, --no-stop-on-loop" if flag else f"{_option(setting)} N", setting.help))
    rows += [
        ("--break WHERE", "Pause there: tool:refund, llm:after, error, loop, cost>0.5, every … where args.x>1."),
        ("--mock NAME=…", 'Answer in its place: JSON, @FILE, raise:TYPE("…"), seq:[…], py:FILE.py:FUNCTION.'),
        (
            "--fault NAME=…",
            "Fail: timeout, 500, 429, empty, garbage, cut or slow:SECONDS. NAME#2 is the second call only.",
        ),
        ("--wait SECONDS", "Without a terminal: wait so long at a pause for the page or `agentdbg attach`."),
        ("--then continue|abort", "What to do when nobody has answered in that time."),
        ("--pause call|world", "Let only the paused call wait, or everything at its next call."),
        ("-m MODULE", "Run a module as `python -m` does."),
        ("-h, --help", "Show this help and exit."),
    ]
    return Help(
        usage=["agentdbg run [OPTIONS] SCRIPT [ARGUMENTS]...", "agentdbg run [OPTIONS] -m MODULE [ARGUMENTS]..."],
        about=_HELP,
        sections={"Options": rows},
        examples=EXAMPLES,
    )


def _limits() -> list[Setting]:
    return [setting for setting in SETTINGS if setting.guardrail]


def main(words: Sequence[str]) -> None:
    """Run the program these words name, recorded, and end as it ends. Returns only where its help is asked for."""
    try:
        read = _read(list(words))
        if read is None:
            return
        program, options = read
        if not program.is_module and not os.path.exists(program.target):
            raise UsageError(f"there is no file {program.target!r} here to run; `agentdbg run -m` runs a module")
        _arm(options)
    except UsageError as error:
        sys.stderr.write(f"agentdbg: {clean(str(error), keep_lines=True)}\n")
        sys.exit(error.exit_code)
    os.environ.update(options.settings)  # so that the program's Python children have the same limits
    prepare(program, len(words))

    from agentdbg.autorun.process import begin, note_program  # noqa: PLC0415 -- after the command line made sense

    note_program(program.target if program.is_module else None)
    process_run = begin(program.shown_name, options.name)
    if process_run is None:
        sys.stderr.write("agentdbg: recording is off, so nothing is recorded (agentdbg config says why)\n")

    def note_end(error: BaseException | None) -> BaseException:
        instead = None if process_run is None else process_run.note_end(error)
        return instead or error or SystemExit(0)

    execute(program, note_end)


def _arm(options: _Options) -> None:
    if options.mocks:
        from agentdbg.control.mocks import Mocks, parse_fault, parse_mock  # noqa: PLC0415 -- only for who asks for it

        mocks = Mocks((parse_mock if option == "--mock" else parse_fault)(text) for option, text in options.mocks)
        atexit.register(mocks.tell_unused)
        add_decider(mocks)
    if options.places:
        from agentdbg.control.arming import arm  # noqa: PLC0415 -- only for who asks to pause

        arm(
            options.places,
            wait_seconds=options.wait_seconds,
            then=options.then,
            whole_world=options.whole_world,
        )


@dataclass
class _Options:
    """What stands before the program."""

    name: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    """The limits, as environment variables."""
    places: list[str] = field(default_factory=list)
    wait_seconds: float = 0.0
    then: str = "continue"
    whole_world: bool = False
    mocks: list[tuple[str, str]] = field(default_factory=list)
    """Each with its option, unread."""


def _read(words: list[str]) -> tuple[Program, _Options] | None:
    """The program, and what is asked for around it; None: the help is asked for."""
    limits = {_option(setting): setting for setting in _limits()}
    options = _Options()
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            return None
        if word == "--":
            return _script(words), options
        if word == "-m":
            return Program(_next(words, word, "a module"), words, is_module=True), options
        if not word.startswith("-") or word == "-":
            return _script([word, *words]), options
        _take_option(word, words, limits, options)
    return _script([]), options


def _take_option(word: str, words: list[str], limits: dict[str, Setting], options: _Options) -> None:
    option, equals, value = word.partition("=")

    def given(what: str) -> str:
        return value if equals else _next(words, option, what)

    if option in limits and option != "--stop-on-loop":
        setting = limits[option]
        assert setting.environment is not None
        options.settings[setting.environment] = _checked(setting, given("a number"))
        return
    match option:
        case "--name":
            options.name = given("a name")
        case "--stop-on-loop" | "--no-stop-on-loop":
            options.settings["AGENTDBG_STOP_ON_LOOP"] = "1" if option == "--stop-on-loop" else "0"
        case "--break":
            options.places.append(given("a place, for example tool:refund"))
        case "--mock" | "--fault":
            options.mocks.append((option, given("NAME=…")))
        case "--wait":
            options.wait_seconds = _number(option, given("a number of seconds"))
        case "--then":
            options.then = _one_of(option, given("continue or abort"), ("continue", "abort"))
        case "--pause":
            options.whole_world = _one_of(option, given("call or world"), ("call", "world")) == "world"
        case _:
            raise UsageError(f"`agentdbg run` has no option {option}; options of the program go after its name")


def _number(option: str, text: str) -> float:
    try:
        return max(float(text), 0.0)
    except ValueError:
        raise UsageError(f"{option} is {text!r}, which is not a number of seconds") from None


def _one_of(option: str, text: str, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise UsageError(f"{option} is {text!r}; it takes {' or '.join(allowed)}")
    return text


def _script(words: list[str]) -> Program:
    if not words:
        raise UsageError("what is to be run? Give a script, or a module with -m; `agentdbg run --help` has examples")
    return Program(_file_of(words[0]), words[1:], is_module=False)


def _file_of(word: str) -> str:
    """The file to run; `pytest` or `uvicorn` is a script that an installer has put beside the interpreter."""
    if os.path.exists(word) or os.path.basename(word) != word:
        return word
    folders = [os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(os.pathsep)]
    files = (os.path.join(folder, word) for folder in folders if folder)
    return next((file for file in files if _is_python_script(file)), word)


def _is_python_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            beginning = file.read(_LONGEST_BEGINNING)
    except OSError:
        return False
    return beginning.startswith(b"#!") and b"python" in beginning


def _next(words: list[str], option: str, what: str) -> str:
    if not words:
        raise UsageError(f"{option} needs {what}")
    return words.pop(0)


def _option(setting: Setting) -> str:
    return "--" + setting.key.replace("_", "-")


def _checked(setting: Setting, value: str) -> str:
    try:
        setting.parse(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{_option(setting)} is {value!r}, {error}") from None
    return value
