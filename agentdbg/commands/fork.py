"""
`agentdbg fork`: serve a recorded run up to a step, change that step, and go on live.

What stands behind `--` is the program and belongs to it, whatever it looks like; that is why this command reads its own
command line. The program runs in this process, as under `agentdbg run`, and its exit code is ours.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentdbg.commands import command_module
from agentdbg.commands.replay_words import LETTING, PAUSING, About, read_words
from agentdbg.exceptions import AgentDbgError
from agentdbg.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.commands.help_page import Help

__all__ = ["EXAMPLES", "command", "main", "own_help"]

EXAMPLES = """
agentdbg fork 3f2a --at 12 --set 'result.hits=[]'        # what if the search had found nothing?
agentdbg fork 3f2a --at 14 --set 'response="No."'        # what if the model had said no?
agentdbg fork 3f2a --at 2 --set-all model=gpt-4o-mini    # would the cheaper model do it?
agentdbg fork 3f2a --after 12 --writes allow             # nothing changed, live from there
agentdbg fork 3f2a --at 12 --set error=TimeoutError --trials 5
"""

_HELP = """
Run a recorded program again: the steps that had ended by the one you name are answered from the recording, that one is
changed, and from there everything is made for real. Tools that write are asked about; without a terminal they are
denied unless --writes allow is given. Until then nothing else may happen: what the program writes or starts between
its calls needs --allow. The recorded run stays as it is; the fork is a run of its own.

A path is that of what the step gave (result…, response…, error) or of what it was given (args…, messages…, system,
model, temperature, tools…).

Exit status: the program's own; 2 when it cannot be forked (the message says why). With --trials: 1 when --expect is not
met.
"""

_OPTIONS: dict[str, tuple[str, str]] = {
    "--at": ("EVENT", "The step to change: a number as `agentdbg show` has it, an id, error, loop or last."),
    "--after": ("EVENT", "Change nothing; go on live after this step."),
    "--set": ("PATH=VALUE", "Change the step. JSON, else text; @FILE; PATH+=VALUE appends. May be given again."),
    "--set-all": ("PATH=VALUE", "Change the input of this and every later call of its kind."),
    "--edit": ("", "Change the step in $EDITOR."),
    "--writes": ("WHICH", "ask (default), deny, allow, or recorded: serve writes that are on the tape."),
    "--secret": ("N=env:NAME", "What the marker __REDACTED__:N stands for, from the environment."),
    **LETTING,
    **PAUSING,
    "--trials": ("N", "Fork so many times, and say how they differ."),
    "--jobs": ("K", "So many trials at once."),
    "--expect": ("WHAT", "effects or answer: exit 1 unless all trials agree with the recorded run in it."),
    "--report": ("FILE", "Write what happened as JSON."),
}
_ABOUT = About("fork", _OPTIONS, _HELP, EXAMPLES)


def command() -> None:
    """Change one step of a recorded run and go on live. Its options: docs/fork.md, `agentdbg fork -h`."""
    main(sys.argv[2:])


def own_help() -> Help:
    """What `agentdbg fork --help` shows, and what shells complete."""
    return _ABOUT.as_help()


def main(words: Sequence[str]) -> None:
    """Fork what these words name, and exit. Returns only where its help is asked for."""
    try:
        read = read_words(list(words), _ABOUT)
        if read is not None:
            command_module("fork_program").fork_program(read)
    except AgentDbgError as error:
        sys.stderr.write(f"agentdbg: {clean(str(error), keep_lines=True)}\n")
        sys.exit(error.exit_code)
