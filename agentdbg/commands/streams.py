"""
The streams a command prints to: any text can be printed, and nothing breaks when nobody reads any more.

What went wrong, as a sentence on stderr and an exit code.

A question before something goes, where somebody is there to answer it.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
import traceback
from typing import TYPE_CHECKING, Literal, TextIO

from agentdbg.commands.terminal import clean, problem
from agentdbg.exceptions import AgentDbgError, AgentDbgReplayDiverged, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "confirmed",
    "exit_code_of",
    "heard_or_not",
    "let_go_of_stdout",
    "need_somebody",
    "print_any_text",
    "somebody_answers",
]

# What stands for our signs where the terminal's encoding has none of them; as wide as they are, so that columns hold.
_PLAIN = str.maketrans("✓✕⊘●■±▾↻▷□▎·…→≠≈⇄─–—“”’", '+xxo*~v@>=|-~>!~x---""\'')


def print_any_text() -> None:
    """Neither a closed stream nor a name the terminal's encoding does not have may stop a command."""
    # In the order of their numbers: a file of ours must never be taken for one of them.
    sys.stdin = sys.stdin or _nothing("r")
    sys.stdout = sys.stdout or _nothing("w")
    sys.stderr = sys.stderr or _nothing("w")
    codecs.register_error("agentdbg", _plainly)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="agentdbg")  # type: ignore[union-attr] # what is no text stream has none


def _nothing(mode: Literal["r", "w"]) -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_RDWR), mode)


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """What an encoding lacks in signs it has, else as a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return "".join(character if character.isascii() else "?" for character in text), error.end


@contextlib.contextmanager
def heard_or_not() -> Iterator[None]:
    """Print, and go on when nobody reads: `assert RUN | grep -q PASS` must not lose the exit code of what failed."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        let_go_of_stdout()


def let_go_of_stdout() -> None:
    """Whoever read our output has gone; the interpreter must not complain about it at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_code_of(error: Exception) -> int:
    """Say what went wrong, and give the exit code for it."""
    if isinstance(error, AgentDbgReplayDiverged):  # a replay runs this command, and says so at its end
        return 1
    if isinstance(error, AgentDbgError):
        problem(str(error))
        return error.exit_code
    if os.environ.get("AGENTDBG_TRACEBACK") == "1":
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        problem(f"{error.strerror}: {error.filename}" if error.filename else error.strerror)
    else:
        problem(f"internal error, {what}; AGENTDBG_TRACEBACK=1 shows where")
    return AgentDbgError.exit_code


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
