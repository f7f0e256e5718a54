"""
The one place where a fault of ours ends.

Code that runs in the user's agent calls `contained` around its work: whatever goes wrong in there is said once, on one
line of stderr, counted, and goes no further. Our own tests switch `raise_faults` on, so that nothing hides from them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FaultSettings", "contain", "settings", "tell_once"]


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
    except Exception:  # noqa: BLE001, S110 -- stderr may be closed, None or the user's own object
        pass


def contain(error: BaseException, doing: str, count: Callable[[], None] | None = None) -> None:
    """End a fault of ours here: say it once for each kind of work, and count it."""
    if settings.raise_faults:
        raise error
    tell_once(f"fault:{doing}", f"could not {doing} ({type(error).__name__}: {_safe_text(error)}); the program runs on")
    if count is not None:
        count()


def _one_line(message: str) -> str:
    return "".join(char if char.isprintable() else " " for char in message)[:500]


def _safe_text(error: BaseException) -> str:
    try:
        return str(error)[:200]
    except Exception:  # noqa: BLE001 -- an exception's own __str__ may raise
        return "no message"
