"""
Times as people give and read them: `30d`, `2h`, `2026-11-01` in; `2026-11-15 14:02:31` out.
"""

from __future__ import annotations

from datetime import datetime

from agentdbg.analysis.wording import parse_age, since, timestamp_ms

__all__ = ["local_time", "parse_age", "since"]


def local_time(timestamp: str | None) -> str:
    """A stored timestamp on this machine's clock: `2026-11-15 14:02:31`."""
    milliseconds = timestamp_ms(timestamp)
    if milliseconds is None:
        return timestamp or "–"
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
