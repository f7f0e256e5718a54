"""
How long a run, a call or a span takes, on the monotonic clock, without the time it was paused at a breakpoint.
"""

from __future__ import annotations

import time

__all__ = ["RunClock", "leave_out", "took_ms"]

_left_out: dict[str, float] = {}
"""Seconds in which something inside a call or a span was paused, by the id of its event. Mostly empty."""


def took_ms(started: float, ended: float, event_id: str, outer_id: str) -> int:
    """How long a call or a span took; what was paused inside it was also inside what it stands in."""
    paused = _left_out.pop(event_id, 0.0) if _left_out else 0.0
    if paused:
        leave_out(outer_id, paused)
    return max(int((ended - started - paused) * 1000), 0)


def leave_out(event_id: str, seconds: float) -> None:
    """Something directly inside this call or span was paused so long."""
    _left_out[event_id] = _left_out.get(event_id, 0.0) + seconds


class RunClock:
    """Time since the run's start, without the time in which anything of it was paused. The caller holds a lock."""

    __slots__ = ("_held_since", "_holds", "_started", "paused_s")

    def __init__(self) -> None:
        self.paused_s = 0.0
        """How long the run was paused, pauses that overlap counted once."""
        self._holds = 0
        self._held_since = 0.0
        self._started = time.monotonic()

    def elapsed_s(self) -> float:
        """Seconds since the start."""
        now = self._held_since if self._holds else time.monotonic()
        return now - self._started - self.paused_s

    def hold(self) -> None:
        """Something of the run is paused; `release` as often as this was called."""
        if not self._holds:
            self._held_since = time.monotonic()
        self._holds += 1

    def release(self) -> None:
        """It goes on."""
        self._holds -= 1
        if not self._holds:
            self.paused_s += time.monotonic() - self._held_since
