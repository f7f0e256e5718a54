"""
Run a recorded program again: answer its calls from the tape (replay), and build on that (fork, breakpoints).

A `Session` is a decider. For each call it finds the recorded one (`matching`), asks its `Plan` what to do with it
(`plan`), lets calls end in the order in which they ended (`gate`), tells what is different (`divergence`), and keeps
the machine closed meanwhile (`effects_guard`).
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
