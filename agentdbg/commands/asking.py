"""A question before something goes, where somebody is there to answer it."""

from __future__ import annotations

import sys

from agentdbg.commands.terminal import clean
from agentdbg.exceptions import UsageError

__all__ = ["confirmed", "need_somebody", "somebody_answers"]


def confirmed(question: str) -> bool:
    """Whether the person at the terminal says yes."""
    sys.stderr.write(f"{clean(question, keep_lines=True)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def need_somebody(what: str) -> None:
    """Refuse where nobody can answer, and say how to do without; `what` is like "delete asks before it deletes"."""
    if not somebody_answers():
        raise UsageError(f"{what}, but this is not a terminal, so pass --yes")


def somebody_answers() -> bool:
    """Whether a person sits at standard input."""
    return sys.stdin.isatty()
