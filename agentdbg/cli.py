"""
The command `agentdbg`: finds the command asked for, and turns what goes wrong into a sentence and an exit code.

0 success · 1 a comparison or an assertion that does not hold · 2 run not found or wrong use · 10 a fault of ours.
`AGENTDBG_TRACEBACK=1` shows the stack of a fault.
"""

from __future__ import annotations

import difflib
import os
import sys
from typing import TYPE_CHECKING

from agentdbg.commands import command_module
from agentdbg.commands.help_page import Help
from agentdbg.commands.options import HELP_OPTIONS, parameters_of, read_arguments
from agentdbg.commands.streams import exit_code_of, let_go_of_stdout, print_any_text
from agentdbg.exceptions import UsageError
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "GROUPS", "main", "root_help"]

GROUPS = {
    "Start": {
        "demo": "Record a few small agents to look at.",
        "run": "Record a program without changing it.",
        "init": "Write a policy, a first test and a CI workflow.",
        "doctor": "Find out why a run is empty or missing.",
        "config": "Show every setting, its value and where it came from.",
        "prices": "Show which models have no price, and give them one.",
    },
    "Look": {
        "list": "Show the recorded runs, newest first.",
        "view": "Open the viewer in the browser.",
        "show": "Print a run as a readable tree.",
        "explain": "Explain what went wrong in a run.",
        "diff": "Say what changed between two runs.",
        "tail": "Follow a run while it is recorded.",
        "sql": "Query stored runs with SQL.",
    },
    "Test": {
        "test": "Make an offline regression test of a run.",
        "baseline": "Create a baseline from good runs.",
        "assert": "Check a run against a baseline, a policy and limits.",
        "gate": "Judge a folder of scenarios, each tried several times.",
        "effects": "Propose what a project's tools do, for review.",
        "mark": "Say whether a run did its task.",
    },
    "Control": {
        "replay": "Run a recorded program again, answered from its recording.",
        "fork": "Change one step of a recorded run and go on live.",
        "attach": "Answer a run that is paused at a breakpoint.",
    },
    "Move": {
        "export": "Write runs as JSON, Markdown, HTML, Parquet and more.",
        "import": "Import traces from other tools.",
        "receive": "Receive OpenTelemetry spans as runs.",
        "push": "Send runs to an OpenTelemetry collector.",
        "mcp": "Serve the runs to a coding assistant.",
    },
    "Tidy": {
        "rename": "Give a run another name.",
        "delete": "Delete runs; they can be brought back for a day.",
        "restore": "Bring a deleted run back.",
        "prune": "Delete or compress old runs.",
        "scrub": "Remove a secret from stored runs.",
        "audit": "Search stored runs for secrets that today's rules would hide.",
        "validate": "Check a run's files against the trace format.",
    },
}
READS_ITS_OWN_LINE = {"run", "replay", "fork"}
"""What follows the program's name belongs to the program."""
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}


def main() -> None:
    """Run one command and exit."""
    if sys.argv[1:2] and sys.argv[1] in READS_ITS_OWN_LINE:
        # The program that is run gets its words, its streams and its exceptions as if we were not there.
        command_module(sys.argv[1]).main(sys.argv[2:])
        sys.argv[2:] = ["--help"]  # which is all that this comes back for
    if sys.argv[1:2] == ["sql"]:  # pyarrow loads numpy where it can, which takes longer than the question
        sys.modules.setdefault("numpy", None)  # type: ignore[arg-type]  # how one says that it cannot
    print_any_text()
    sys.exit(_run(sys.argv[1:]))


def _run(words: Sequence[str]) -> int:
    try:
        _run_command(words)
        sys.stdout.flush()
    except SystemExit as leaving:
        return _exit_code(leaving)
    except BrokenPipeError:
        let_go_of_stdout()
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 -- the one place where a fault becomes a sentence
        return exit_code_of(error)
    return 0


def _run_command(words: Sequence[str]) -> None:
    if "_AGENTDBG_COMPLETE" in os.environ:
        command_module("completion").answer_shell(COMMANDS, root_help())
    elif not words:
        command_module("home").command()
    elif words[0].startswith("-"):
        _run_option(words)
    elif words[0] == "help":
        _run_command([*words[1:2], "--help"])
    elif words[0] not in COMMANDS:
        close = difflib.get_close_matches(words[0], COMMANDS, 1)
        hint = f"did you mean `agentdbg {close[0]}`?" if close else "`agentdbg --help` lists them"
        raise UsageError(f"there is no command {words[0]!r}; {hint}")
    else:
        function = command_module(words[0]).command
        values = read_arguments(words[0], parameters_of(function), words[1:])
        if values is not None:
            function(**values)
        else:
            help_text = command_module("help_text")
            help_text.print_help(help_text.help_of(words[0]))


def _run_option(words: Sequence[str]) -> None:
    """What is asked of the program as a whole."""
    option, _, value = words[0].partition("=")
    shell = value or next(iter(words[1:]), None)
    if option in HELP_OPTIONS:
        command_module("help_text").print_help(root_help())
    elif option == "--version":
        sys.stdout.write(f"agentdbg {__version__}\n")
    elif option in ("--install-completion", "--show-completion"):
        completion = command_module("completion")
        sys.stdout.write(
            completion.script(shell) if option == "--show-completion" else completion.install(shell) + "\n"
        )
    else:
        raise UsageError(f"`agentdbg` has no option {option}; `agentdbg --help` has examples")


def root_help() -> Help:
    """The help of `agentdbg` alone: every command under its heading."""
    widest = max(map(len, COMMANDS))
    return Help(
        usage=["agentdbg [OPTIONS] COMMAND [ARGUMENTS]..."],
        about="The debugger for AI agents: see what your agent did, and where it went wrong.",
        sections={
            "Options": [
                ("--version", "Print the version."),
                ("--install-completion [SHELL]", "Install completion for bash, zsh or fish."),
                ("--show-completion [SHELL]", "Print the script that completes."),
                ("-h, --help", "Show this help and exit."),
            ],
            **{
                heading: [(name.ljust(widest), text) for name, text in group.items()]
                for heading, group in GROUPS.items()
            },
            "Start here": [
                ("agentdbg demo", "record a few small agents and open the viewer"),
                ("agentdbg view", "open your latest run"),
                ("agentdbg COMMAND --help", "says more, with examples"),
            ],
        },
    )


def _exit_code(leaving: SystemExit) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        let_go_of_stdout()
    return leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1


if __name__ == "__main__":
    main()
