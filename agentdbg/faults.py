"""
The one place where a fault of ours ends, and where what is not ours is let through.

Code that runs in the user's agent stands in a `Shield`, or calls `contain` with what went wrong in it: a fault of ours
is said once, on one line of stderr, counted, and goes no further. Our own tests switch `raise_faults` on, so that
nothing hides from them. Whatever interrupted that code instead (`interruptions` says what does) goes on to the program
as it came. Every other `except` on the write side begins with `pass_on`, or raises again what is an interruption, so
that it cannot take one for what it expects.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentdbg.interruptions import is_interruption, is_not_ours, without_ours

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["FaultSettings", "Shield", "contain", "is_contained", "pass_on", "settings", "tell_once"]


class FaultSettings:
    """What the process has said so far, and whether faults are to be raised instead (our tests)."""

    def __init__(self) -> None:
        self.raise_faults = False
        self.said: set[str] = set()


settings = FaultSettings()


def tell_once(key: str, message: str) -> None:
    """Say one line on stderr, the first time only for each `key`. Never raises, whatever stderr has become."""
    if key in settings.said:
        return
    settings.said.add(key)
    try:
        # One write, so that lines of several threads and processes do not interleave.
        sys.stderr.write(f"agentdbg: {_one_line(message)}\n")
        sys.stderr.flush()
    except Exception as error:  # stderr may be closed, None or the user's own object
        if is_interruption(error):
            raise


def pass_on(error: BaseException, *, of_user_code: bool = False) -> None:
    """
    Raise `error` again when it is not ours to deal with: it only met our code on its way to the program.

    `of_user_code` is for the few places that call code of the user's, which may raise anything.
    """
    if is_interruption(error) if of_user_code else is_not_ours(error):
        raise error


class Shield:
    """
    Shield the program from the block: a fault of ours ends here, and what comes after the block is done.

    `doing` says what the block does, for the line on stderr; `count` is called for each fault.
    """

    __slots__ = ("_count", "_doing")

    def __init__(self, doing: str, count: Callable[[], None] | None = None) -> None:
        self._doing = doing
        self._count = count

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        return error is not None and is_contained(error, self._doing, self._count)


def contain(error: BaseException, doing: str) -> None:
    """End a fault of ours here: say it once for each kind of work. Anything else goes on."""
    if not is_contained(error, doing):
        raise error


def is_contained(error: BaseException, doing: str, count: Callable[[], None] | None = None) -> bool:
    """Do the same, and `count` it, where something has to be undone first; whoever is told False raises it again."""
    if is_not_ours(error):
        object.__setattr__(error, "__context__", without_ours(error.__context__))  # a frozen one refuses else
        return False
    if settings.raise_faults:
        return False
    if count is not None:
        count()
    tell_once(f"fault:{doing}", f"could not {doing} ({type(error).__name__}: {_safe_text(error)}); the program runs on")
    return True


def _one_line(message: str) -> str:
    return "".join(char if char.isprintable() else " " for char in message)[:500]


def _safe_text(error: BaseException) -> str:
    try:
        return str(error)[:200]
    except Exception as raised:  # an exception's own __str__ may raise
        if is_interruption(raised):
            raise
        return "no message"
