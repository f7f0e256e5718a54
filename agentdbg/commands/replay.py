"""
`agentdbg replay`: run a recorded program again, answered from its recording.

What stands behind `--` is the program and belongs to it, whatever it looks like; that is why this command reads its own
command line. The program runs in this process, as under `agentdbg run`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from agentdbg.commands.replay_words import EXAMPLES, REPLAY, read_words
from agentdbg.exceptions import AgentDbgError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.commands.help_text import Help

__all__ = ["EXAMPLES", "command", "main", "own_help"]


def command() -> None:
    """Run a recorded program again, answered from its recording. Its options: docs/replay.md, `agentdbg replay -h`."""
    main(sys.argv[2:])


def own_help() -> Help:
    """What `agentdbg replay --help` shows, and what shells complete."""
    return REPLAY.as_help()


def main(words: Sequence[str]) -> NoReturn:
    """Replay what these words name, and exit."""
    try:
        read = read_words(list(words))
        if "--learn" in read.options:
            from agentdbg.commands.replay_learning import learn_rules  # noqa: PLC0415 -- as below

            learn_rules(read)
        if "--write" in read.options:
            raise UsageError("--write goes with --learn RUN")
        from agentdbg.commands.replay_program import replay_program  # noqa: PLC0415 -- after the words made sense

        replay_program(read)
    except AgentDbgError as error:
        sys.stderr.write(f"agentdbg: {error}\n")
        sys.exit(error.exit_code)
