"""
Times as people give them: `30d`, `2h`, `today`, `2026-11-01`.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timezone

from agentdbg.events import utc_timestamp
from agentdbg.exceptions import UsageError

__all__ = ["parse_age", "since"]

_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)", re.IGNORECASE)


def parse_age(text: str) -> float:
    """`30d`, `12h`, `90min` as seconds."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is not a length of time; write it like 30d, 12h or 90min")
    return float(found[1]) * _SECONDS[found[2].lower()]


def since(text: str, now: float | None = None) -> str:
    """A moment given as an age or as a date (local time), as the timestamp runs are compared with."""
    try:
        if _AGE.fullmatch(text.strip()):
            return utc_timestamp((time.time() if now is None else now) - parse_age(text))
        if text.strip().lower() == "today":
            text = datetime.now().astimezone().strftime("%Y-%m-%d")
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
        return utc_timestamp(moment.astimezone(timezone.utc).timestamp())
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{text!r} is neither an age nor a date; write 2h, 7d, today, 2026-11-01 or 2026-11-01T14:00"
        ) from None
