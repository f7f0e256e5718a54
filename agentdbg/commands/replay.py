"""
`agentdbg replay`: run a recorded program again, answered from its recording.

What stands behind `--` is the program and belongs to it, whatever it looks like; that is why this command reads its own
command line. The program runs in this process, as under `agentdbg run`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentdbg.commands import command_module
from agentdbg.commands.replay_words import EXAMPLES, REPLAY, read_words
from agentdbg.exceptions import AgentDbgError, UsageError
from agentdbg.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.commands.help_page import Help

__all__ = ["EXAMPLES", "command", "main", "own_help"]


def command() -> None:
    """Run a recorded program again, answered from its recording. Its options: docs/replay.md, `agentdbg replay -h`."""
    main(sys.argv[2:])


def own_help() -> Help:
    """What `agentdbg replay --help` shows, and what shells complete."""
    return REPLAY.as_help()


def main(words: Sequence[str]) -> None:
    """Replay what these words name, and exit. Returns only where its help is asked for."""
    try:
        read = read_words(list(words))
        if read is None:
            return
        if "--learn" in read.options:
            command_module("replay_learning").learn_rules(read)
        if "--write" in read.options:
            raise UsageError("--write goes with --learn RUN")
        command_module("replay_program").replay_program(read)
    except AgentDbgError as error:
        sys.stderr.write(f"agentdbg: {clean(str(error), keep_lines=True)}\n")
        sys.exit(error.exit_code)
