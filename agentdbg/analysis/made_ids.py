"""
Ids that a run's own writes were given: the number of the ticket it opened, the key of the order it placed.

They are others in every run. Where a later call or the answer uses one, it is compared by where it comes from, so that
`resolve_ticket("T-811")` after `create_ticket` is the same as `resolve_ticket("T-4902")`, and never the same as the
ticket of somebody else. An id that was seen before the write, in what a tool was given or gave, is none of these.

A time stamp that a call was given and that is the time of the call itself is another in every run too.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.effect_guess.tool_names import words_of
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import timestamp_ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MadeIds", "times_of_call", "with_origins"]

_ID = re.compile(r"(?=[^\s]*\d)[\w.:/#-]{2,120}")
_TOKEN = re.compile(r"[A-Za-z0-9][\w-]*")
_LAST_WORDS = frozenset({"code", "id", "identifier", "key", "name", "number", "ref", "reference", "slug", "uid", "url"})
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:(Z)|([+-]\d\d):?(\d\d))?")
_NEAR_MS = 120_000
_QUARTER_MS = 900_000
_MILLISECONDS = 1e11
_DEEPEST = 8
_MOST = 5_000


class MadeIds:
    """Collects the ids while a run is read, one tool's call after the other."""

    def __init__(self) -> None:
        self.origins: dict[str, str] = {}
        """Where each id comes from: `[id of create_ticket]`."""
        self._seen: set[str] = set()
        self._calls: Counter[str] = Counter()

    def add(self, tool: str, args: Any, result: Any, *, is_write: bool) -> None:
        """Take the next call and what it returned; `is_write` for one that did something."""
        given = set(_tokens(args))
        found = parse_embedded(result)
        if is_write:
            self._calls[tool] += 1
            often = f", call {self._calls[tool]}" if self._calls[tool] > 1 else ""
            for key, value in _ids(found, "id"):
                if value not in self._seen and value not in given and len(self.origins) < _MOST:
                    self.origins.setdefault(value, f"[{key} of {tool}{often}]")
        if len(self._seen) < 20 * _MOST:
            self._seen |= given
            self._seen.update(_tokens(found))


def with_origins(value: Any, origins: Mapping[str, str], depth: int = 0) -> Any:
    """A value in which each of the ids is replaced by where it comes from."""
    if not origins or depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        return {key: with_origins(item, origins, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [with_origins(item, origins, depth + 1) for item in value]
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return value
    whole = origins.get(str(value))
    if whole is not None or not isinstance(value, str):
        return value if whole is None else whole
    return _TOKEN.sub(lambda found: origins.get(found[0], found[0]), value)


def times_of_call(args: Any, ended_at: Any, duration_ms: Any) -> dict[str, str]:
    """The time stamps among the arguments of a call that say when it was made, and `[time of the call]` for each."""
    ended = timestamp_ms(ended_at)
    if ended is None:
        return {}
    began = ended - (duration_ms if isinstance(duration_ms, int) else 0)
    leaves = (value for value in _leaves(args) if began - _NEAR_MS <= _stamp_ms(value, began) <= ended + _NEAR_MS)
    return {str(value): "[time of the call]" for value in leaves}


def _stamp_ms(value: Any, now_ms: int) -> float:
    """A time stamp in milliseconds; infinitely far for what is none, and for a time without seconds."""
    if isinstance(value, (int, float)):
        return value * 1000 if value < _MILLISECONDS else value
    stamp = _moment(value)
    if stamp is None:
        return float("inf")
    if stamp.tzinfo is not None:
        return stamp.timestamp() * 1000
    at = stamp.replace(tzinfo=timezone.utc).timestamp() * 1000
    # A local time: which zone nobody knows, but a clock's microseconds are never all zero.
    zone = round((at - now_ms) / _QUARTER_MS) * _QUARTER_MS
    return at - zone if stamp.microsecond and abs(zone) <= 56 * _QUARTER_MS else at


def _moment(text: str) -> datetime | None:
    found = _STAMP.fullmatch(text)
    if found is None:
        return None
    second, fraction, utc, hours, minutes = found.groups()
    zone = "+00:00" if utc else f"{hours}:{minutes}" if hours else ""
    try:
        # Python 3.10 reads no Z, and fractions of three and six figures only.
        return datetime.fromisoformat(f"{second}.{(fraction or '').ljust(6, '0')}{zone}")
    except ValueError:
        return None


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(value, (dict, list)) and depth < _DEEPEST:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item, depth + 1)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield value


def _ids(value: Any, key: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """What may be an id in a result, with its name; a bare text is one as a whole."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for inner, item in value.items():
            yield from _ids(item, str(inner), depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for item in value:
            yield from _ids(item, key, depth + 1)
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        words = words_of(key)
        if words and words[-1].removesuffix("s") in _LAST_WORDS and _ID.fullmatch(str(value)):
            yield key, str(value)


def _tokens(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text and number that may be an id, whole and word by word."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for item in value.values():
            yield from _tokens(item, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for item in value:
            yield from _tokens(item, depth + 1)
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        text = str(value)
        yield text[:120]
        yield from (found[0] for found in _TOKEN.finditer(text[:20_000]) if any(map(str.isdigit, found[0])))
