"""
How long a call or a span takes, on the monotonic clock, without the time it was paused at a breakpoint.
"""

from __future__ import annotations

__all__ = ["leave_out", "took_ms"]

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
