"""
Times as people give and read them: `30d`, `2h`, `2026-11-01` in; `today 14:02`, `3 min ago` out.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timezone

from agentdbg.analysis.wording import timestamp_ms
from agentdbg.events import utc_timestamp
from agentdbg.exceptions import UsageError

__all__ = ["local_time", "parse_age", "since"]

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
    if _AGE.fullmatch(text.strip()):
        return utc_timestamp((time.time() if now is None else now) - parse_age(text))
    if text.strip().lower() == "today":
        text = datetime.now().astimezone().strftime("%Y-%m-%d")
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise UsageError(
            f"{text!r} is neither an age nor a date; write 2h, 7d, today, 2026-11-01 or 2026-11-01T14:00"
        ) from None
    return utc_timestamp(moment.astimezone(timezone.utc).timestamp())


def local_time(timestamp: str | None) -> str:
    """A stored timestamp on this machine's clock: `2026-11-15 14:02:31`."""
    milliseconds = timestamp_ms(timestamp)
    if milliseconds is None:
        return timestamp or "–"  # noqa: RUF001
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
