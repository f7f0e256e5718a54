"""
Acting on a program that runs: replaying a recording, forking it, pausing at breakpoints.

Everything here stands at the recorder's one door as a `Decider`. The recorder knows nothing of it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["breakpoint"]


def breakpoint(name: str = "", **shown: Any) -> None:  # noqa: A001 -- read as `agentdbg.breakpoint()`
    """
    Pause here, inside a run, and show these values; whoever looks may go on, step to the next call, or abort.

    Without a terminal, and where nothing else waits for an answer, the program goes on at once.
    """
    from agentdbg.control.arming import pause_in_code  # noqa: PLC0415 -- loaded by whoever pauses

    pause_in_code(name, shown)
