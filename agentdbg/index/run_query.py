"""
Find runs by words and by `key=value`: what a person types into the field over the list of runs.

Plain words are looked for in name, id, metadata and headline. `key=value`, `key!=value`, `key<1`, `key>=1` and
`key~part` ask metadata, scores and figures; `is:failed` asks how a run ended, `since:2d` how old it is.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["RunQuery", "unknown_key_advice"]

_PIECE = re.compile(r'([^\s"=<>!~:]+)(!=|>=|<=|=|<|>|~)("[^"]*"|\S*)|"([^"]*)"|(\S+)')
_AGE = re.compile(r"(\d{1,5})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_STATES = {"failed": "error", "error": "error", "live": "running", "running": "running", "ok": "ok", "finished": "ok"}
_ALIASES = {"session": "session_id", "id": "run_id", "name": "run_name", "time": "duration", "calls": "llm_calls"}

_FIGURES = ("duration", "tokens", "cost", "errors", "llm_calls", "tool_calls", "status", "run_name", "run_id")
_MOST_NAMED = 6


@dataclass(frozen=True)
class _Term:
    key: str
    sign: str
    value: str


class RunQuery:
    """One query, read once and asked about many runs."""

    def __init__(self, text: str, now: datetime | None = None) -> None:
        self.words: list[str] = []
        self.terms: list[_Term] = []
        self.since: str | None = None
        self._now = now or datetime.now(timezone.utc)
        for key, sign, value, quoted, word in _PIECE.findall(text):
            if key:
                self.terms.append(_Term(_ALIASES.get(key, key), sign, value.strip('"')))
            elif not self._take_special(word):
                self.words.append(quoted or word)

    def _take_special(self, word: str) -> bool:
        name, colon, value = word.partition(":")
        if colon and name == "is" and value:
            self.terms.append(_Term("is", "=", value))
            return True
        found = _AGE.fullmatch(value) if colon and name == "since" else None
        if found is not None:
            moment = self._now - timedelta(**{_UNITS[found[2]]: int(found[1])})
            self.since = moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return found is not None

    def fits(self, meta: Mapping[str, Any]) -> bool:
        """Whether a run has what every term asks for; words are asked of its text by whoever has that."""
        return all(_holds(term, meta) for term in self.terms)


def unknown_key_advice(wanted: str, runs: Iterable[Mapping[str, Any]]) -> str | None:
    """What to say when no run has a key: the one that is spelt nearly like it, or some that there are."""
    known, given = set(_FIGURES), set[str]()
    for meta in runs:
        given.update(key for key in meta.get("metadata") or {} if key != "scores")
        given.update(_scores(meta))
    known |= given
    if wanted in known or wanted.partition(".")[0] in known:
        return None
    meant = difflib.get_close_matches(wanted, sorted(known), 1)
    if meant:
        return f"No run has the key {wanted}. Did you mean {meant[0]}?"
    there = ", ".join(sorted(given)[:_MOST_NAMED] or _FIGURES)
    return f"No run has the key {wanted}. Keys that runs have: {there}."


def _holds(term: _Term, meta: Mapping[str, Any]) -> bool:
    if term.key == "is":
        return _is(term.value, meta)
    value = _value_of(term.key, meta)
    if term.sign == "!=":
        return not _equals(value, term.value)
    if value is None:
        return False
    if term.sign == "=":
        return _equals(value, term.value)
    if term.sign == "~":
        return term.value.casefold() in str(value).casefold()
    return _compares(value, term.sign, term.value)


def _is(wanted: str, meta: Mapping[str, Any]) -> bool:
    has_problems = meta.get("state") == "problems"
    if wanted in ("problem", "problems"):
        return has_problems
    if wanted == "ok":
        return bool(meta.get("status") == "ok" and not has_problems)
    return bool(meta.get("status") == _STATES.get(wanted, wanted))


def _value_of(key: str, meta: Mapping[str, Any]) -> Any:
    metadata = meta.get("metadata") or {}
    for place in (metadata, _scores(meta), meta.get("counts") or {}):
        if key in place:
            return place[key]
    figures = {
        "duration": _in_seconds(meta.get("duration_ms")),
        "tokens": meta.get("total_tokens"),
        "cost": meta.get("cost_usd"),
    }
    value: Any = figures[key] if key in figures else meta.get(key)
    for part in key.split(".") if value is None and "." in key else ():
        value = (value if value is not None else metadata).get(part) if isinstance(value or metadata, dict) else None
    return value


def _scores(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    given = meta.get("scores") or (meta.get("metadata") or {}).get("scores")
    return given if isinstance(given, dict) else {}


def _in_seconds(duration_ms: Any) -> float | None:
    return duration_ms / 1000 if isinstance(duration_ms, int | float) else None


def _equals(value: Any, wanted: str) -> bool:
    if isinstance(value, list):
        return any(_equals(item, wanted) for item in value)
    if isinstance(value, bool) or value is None:
        return str(value).lower() == wanted.lower()
    if isinstance(value, int | float):
        number = _number(wanted)
        return number is not None and value == number
    return str(value).casefold() == wanted.casefold()


_WAYS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}


def _compares(value: Any, sign: str, wanted: str) -> bool:
    left, right = _number(value), _number(wanted)
    return left is not None and right is not None and _WAYS[sign](left, right)


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(str(value).removesuffix("s").removeprefix("$"))
    except ValueError:
        return None
