"""
Numbers, times and sentences the way a person says them: `4.2 s`, `7.6k`, one line without Markdown signs.

The page has the same rules in its own language, but for `4.0 s`, which in a sentence is `4 s`; change both together.
The sentences of verdicts and findings are lines of parts: plain words, names of the program in code, errors quoted.
"""

from __future__ import annotations

import json
import re
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from agentdbg.events import utc_timestamp
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from agentdbg.analysis.stats import FailedCalls
    from agentdbg.analysis.verdict.case import LoopCost

__all__ = [
    "Line",
    "VerdictPart",
    "as_json",
    "as_text",
    "clock_time",
    "code",
    "cost_of",
    "count_noun",
    "cut",
    "duration",
    "grouped",
    "line",
    "money",
    "number_or_none",
    "one_line",
    "parse_age",
    "quote",
    "since",
    "size_words",
    "text_of",
    "times",
    "timestamp_ms",
    "tokens",
]

_LOOK_AT = 4_000
"""A preview never shows more than a few hundred characters, so a longer text is not cleaned to its end."""

_LARGEST = 1 << 62
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=str)

_TABLE_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$", re.MULTILINE)
_TABLE_EDGE = re.compile(r"^[ \t]*\|[ \t]*|[ \t]*\|[ \t]*$", re.MULTILINE)
_LINE_SIGNS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|```[^\n`]*$)", re.MULTILINE)
# Underscores stay: in what agents write they are names (`__init__`, `max_tokens`) far more often than emphasis.
_INLINE_SIGNS = re.compile(r"\*\*|`+|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])")


def duration(milliseconds: float | None) -> str:
    """<1 ms, 950 ms, 4.2 s, 12 s, 1 min 17 s, 2 h 5 min, 3 d 4 h."""
    if milliseconds is None:
        return "\N{EN DASH}"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms" if milliseconds >= 1 else "<1 ms"
    # Halves go up, as the page's own rounding has it; Python's `round` would send every second one down.
    seconds = int(milliseconds / 100 + 0.5) / 10
    if seconds < 60:
        return f"{seconds:g} s"
    whole = int(milliseconds / 1000 + 0.5)
    if whole < 3600:
        return _two_units(*divmod(whole, 60), "min", "s")
    minutes = int(whole / 60 + 0.5)
    if minutes < 1440:
        return _two_units(*divmod(minutes, 60), "h", "min")
    return _two_units(*divmod(int(minutes / 60 + 0.5), 24), "d", "h")


def _two_units(large: int, small: int, large_unit: str, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"


def tokens(count: float) -> str:
    """950, 7.6k, 188k, 2.1M, 1.1B."""
    for size, letter in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")):
        # 999,950 would round to "1000k", so the step comes a little before the power.
        if count >= size * 0.9995:
            value = count / size
            return f"{value:.1f}".removesuffix(".0") + letter if value < 9.95 else f"{value:.0f}{letter}"
    return f"{count:.0f}"


def grouped(count: float) -> str:
    """50,212; a fraction keeps two digits."""
    return f"{count:,.0f}" if count == int(count) else f"{count:,.2f}"


def money(dollars: float) -> str:
    """$0.49; a small sum keeps two digits that say something."""
    if dollars >= 0.1 or dollars == 0:
        return f"${dollars:,.2f}"
    return f"${dollars:.2g}" if dollars >= 0.0001 else f"${dollars:.6f}".rstrip("0")


def size_words(count: int) -> str:
    """`3.4 MB`, `12.0 kB`: what a file takes."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{max(count / 1e3, 0.1 if count else 0):.1f} kB"


def count_noun(count: int, singular: str, plural: str | None = None) -> str:
    """1 error, 2 errors, 1,204 calls."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def timestamp_ms(timestamp: Any) -> int | None:
    """A stored timestamp as milliseconds of Unix time; None for what is none."""
    if not isinstance(timestamp, str):
        return None
    try:
        # Python 3.10 knows neither the trailing Z nor fractions of another length than 3 or 6.
        moment = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
        return round(moment.timestamp() * 1000) if moment.tzinfo else None
    except (ValueError, OverflowError, OSError):
        return None


def clock_time(timestamp: Any) -> str:
    """The time of day a stored timestamp names, on this machine's clock: 03:41:07."""
    milliseconds = timestamp_ms(timestamp)
    if milliseconds is None:
        return "an unknown time"
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).astimezone().strftime("%H:%M:%S")


def one_line(text: str, limit: int = 400) -> str:
    """The text on one line, without Markdown signs; a cut ends in `…`."""
    head = text[:_LOOK_AT]
    # Most texts have no signs, and looking for them one by one is most of the work.
    if "#" in head or ">" in head or "```" in head:
        head = _LINE_SIGNS.sub("", head)
    if "|" in head and "-" in head and _TABLE_RULE.search(head):
        head = _TABLE_EDGE.sub("", _TABLE_RULE.sub("", head))
    if "*" in head or "`" in head:
        head = _INLINE_SIGNS.sub("", head)
    return cut(" ".join(head.split()), limit, more=len(text) > _LOOK_AT)


def cut(text: str, limit: int, *, more: bool = False) -> str:
    """At most `limit` characters, with `…` where something is missing."""
    if len(text) <= limit and not more:
        return text
    return text[: max(limit - 1, 0)].rstrip() + "…"


def number_or_none(value: Any) -> int | None:
    """A count as it may stand in foreign data; None for what is no usable number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_LARGEST < value < _LARGEST:
        return None
    return int(value)


def as_text(value: Any) -> str:
    """Any value of foreign data as text, also an integer of more digits than Python prints."""
    try:
        return str(value)
    except ValueError:
        return "a very large number"


def as_json(value: Any) -> str:
    """A JSON value as JSON text, keys in order; never raises."""
    try:
        return _ENCODER.encode(value)
    except (ValueError, TypeError, RecursionError):
        return as_text(value) if not isinstance(value, (dict, list)) else "a value too large to print"


class VerdictPart(TypedDict):
    """A stretch of a sentence and how it is set."""

    text: str
    style: Literal["plain", "code", "quote"]


class Line(TypedDict):
    """One sentence, and the event it speaks of."""

    n: int | None
    parts: list[VerdictPart]


def code(name: Any) -> VerdictPart:
    """A name the user's program uses."""
    return {"text": one_line(str(name), 120), "style": "code"}


def quote(error: str) -> VerdictPart:
    """Somebody else's words."""
    return {"text": cut(error, 300), "style": "quote"}


def line(number: int | None, *pieces: str | VerdictPart) -> Line:
    """A sentence from plain words and styled parts; neighbouring words become one part, and two full stops one."""
    parts: list[VerdictPart] = []
    for piece in pieces:
        if not isinstance(piece, str):
            parts.append(piece)
            continue
        has_ended = bool(parts) and parts[-1]["text"].endswith((".", "…"))
        words = piece[1:] if has_ended and piece.startswith(".") and not piece.startswith("..") else piece
        if words and parts and parts[-1]["style"] == "plain":
            parts[-1]["text"] += words
        elif words:
            parts.append({"text": words, "style": "plain"})
    return {"n": number, "parts": parts}


def text_of(sentence: Line) -> str:
    """The sentence as plain text."""
    return "".join(piece["text"] for piece in sentence["parts"])


def times(group: FailedCalls, unopened: int) -> str:
    """`failed`, `failed twice`, `failed 5 times`; `over` when not every failure was looked at."""
    count = len(group.numbers)
    if count == 1 and not unopened:
        return "failed"
    if count == 2 and not unopened:
        return "failed twice"
    return f"failed {'over ' if unopened else ''}{count:,} times"


def cost_of(loop: LoopCost, run_ms: int | None) -> str:
    """`16 calls, 68k tokens, $0.21 and 22.5 s, 29 % of the run`."""
    said = [f"{loop.calls:,} calls"] if loop.calls else []
    if loop.tokens:
        said.append(f"{tokens(loop.tokens)} tokens")
    if loop.cost_usd:
        said.append(money(loop.cost_usd))
    if loop.milliseconds >= 1 or not said:  # an imported run may not know how long its calls took
        said.append(duration(loop.milliseconds))
    joined = f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]
    share = round(100 * loop.milliseconds / run_ms) if run_ms else 0
    return f"{joined}, {share} % of the run" if 1 <= share <= 100 else joined


_UNIT_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)", re.IGNORECASE)


def parse_age(text: str) -> float:
    """`30d`, `12h`, `90min` as seconds."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is not a length of time; write it like 30d, 12h or 90min")
    return float(found[1]) * _UNIT_SECONDS[found[2].lower()]


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
