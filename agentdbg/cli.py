"""
The command `agentdbg`: finds the command asked for, and turns what goes wrong into a sentence and an exit code.

0 success · 1 a comparison or an assertion that does not hold · 2 run not found or wrong use · 10 a fault of ours.
`AGENTDBG_TRACEBACK=1` shows the stack of a fault.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.commands import command_module
from agentdbg.commands.options import parameters_of, read_plainly
from agentdbg.commands.streams import exit_code_of, let_go_of_stdout, print_any_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import typer

__all__ = ["COMMANDS", "GROUPS", "app", "main"]

app: typer.Typer

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
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}


def main() -> None:
    """Run one command and exit."""
    if sys.argv[1:2] == ["run"]:
        # The program that is run gets its words, its streams and its exceptions as if we were not there.
        from agentdbg.commands.run import main as run_program  # noqa: PLC0415

        run_program(sys.argv[2:])
    if sys.argv[1:2] == ["fork"]:
        from agentdbg.commands.fork import main as fork_program  # noqa: PLC0415 -- as above

        fork_program(sys.argv[2:])
    if sys.argv[1:2] == ["replay"]:
        from agentdbg.commands.replay import main as replay_program  # noqa: PLC0415 -- as above

        replay_program(sys.argv[2:])
    print_any_text()
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: Sequence[str]) -> int:
    try:
        plain = _find_plain(arguments)
        if plain is not None:
            function, values = plain
            function(**values)
        else:
            from agentdbg.commands.typer_app import run_app  # noqa: PLC0415 -- a plainly right command does without typer

            return run_app(__getattr__("app"), arguments)
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


def _find_plain(arguments: Sequence[str]) -> tuple[Callable[..., None], dict[str, Any]] | None:
    """The command and its values, where the arguments need no help from typer."""
    if "_AGENTDBG_COMPLETE" in os.environ:
        return None
    if not arguments:
        return command_module("home").command, {}
    if arguments[0] not in COMMANDS:
        return None
    function = command_module(arguments[0]).command
    values = read_plainly(parameters_of(function), arguments[1:])
    return None if values is None else (function, values)


def __getattr__(name: str) -> Any:
    """`app`, the typer application, made when somebody needs it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentdbg.commands.typer_app import make_app  # noqa: PLC0415 -- as above

    globals()["app"] = made = make_app(GROUPS)
    return made


def _exit_code(leaving: SystemExit) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        let_go_of_stdout()
    return leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1


if __name__ == "__main__":
    main()
