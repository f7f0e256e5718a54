"""
Breakpoints of this process: set by `agentdbg run --break`, by AGENTDBG_BREAK, or by `agentdbg.breakpoint()` in code.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.control.breakpoints import Breakpoints
from agentdbg.control.prompt import Prompt
from agentdbg.exceptions import UsageError
from agentdbg.faults import Shield, pass_on, tell_once
from agentdbg.recorder.deciders import add_decider, remove_decider
from agentdbg.recorder.source_lines import user_source

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["arm", "arm_from_environment", "disarm", "pause_in_code"]

_armed: list[Breakpoints] = []


def arm(
    places: Sequence[str],
    *,
    wait_seconds: float = 0.0,
    then: str = "continue",
    whole_world: bool = False,
    from_call: int = 0,
) -> Breakpoints:
    """Pause this process at these places from now on. Raises UsageError where one cannot be read."""
    breaks = Breakpoints(
        places, wait_seconds=wait_seconds, then=then, whole_world=whole_world, ask=Prompt(), from_call=from_call
    )
    if _armed:
        _armed[0].places += breaks.places
    else:
        _armed.append(breaks)
        add_decider(breaks)
    return _armed[0]


def disarm() -> None:
    """Pause nowhere any more."""
    while _armed:
        remove_decider(_armed.pop())


def arm_from_environment() -> None:
    """What AGENTDBG_BREAK asks for: places, one a line or parted by semicolons. A mistake is said, nothing raised."""
    text = os.environ.get("AGENTDBG_BREAK", "")
    for place in filter(None, (one.strip() for one in text.replace("\n", ";").split(";"))):
        try:
            arm([place], wait_seconds=_seconds(os.environ.get("AGENTDBG_BREAK_WAIT_S", "")))
        except UsageError as error:
            tell_once(f"break:{place}", f"AGENTDBG_BREAK: {error}")


def pause_in_code(name: str, shown: dict[str, Any]) -> None:
    """`agentdbg.breakpoint()`."""
    with Shield("pause at agentdbg.breakpoint()"):  # looking must not break the program; what is not ours goes on
        breaks = _armed[0] if _armed else arm([], wait_seconds=_seconds(os.environ.get("AGENTDBG_BREAK_WAIT_S", "")))
        breaks.pause_here(name, shown, user_source(2))


def _seconds(text: str) -> float:
    try:
        return max(float(text or 0), 0.0)
    except ValueError as error:
        pass_on(error)
        sys.stderr.write(f"agentdbg: AGENTDBG_BREAK_WAIT_S is {text!r}, not a number of seconds; nothing is waited\n")
        return 0.0
