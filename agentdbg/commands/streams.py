"""
The streams a command prints to: any text can be printed, and nothing breaks when nobody reads any more.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["heard_or_not", "let_go_of_stdout", "print_any_text"]

# What stands for our signs where the terminal's encoding has none of them; as wide as they are, so that columns hold.
_PLAIN = str.maketrans("✓✕⊘●■±▾↻▷□▎·…→≠≈⇄─–—“”’", '+xxo*~v@>=|-~>!~x---""\'')  # noqa: RUF001


def print_any_text() -> None:
    """Neither a closed stream nor a name the terminal's encoding does not have may stop a command."""
    # In the order of their numbers: a file of ours must never be taken for one of them.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    codecs.register_error("agentdbg", _plainly)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="agentdbg")  # type: ignore[union-attr] # what is no text stream has none


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
