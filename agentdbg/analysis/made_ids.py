"""
Ids that a run's own writes were given: the number of the ticket it opened, the key of the order it placed.

They are others in every run. Where a later call or the answer uses one, it is compared by where it comes from, so that
`resolve_ticket("T-811")` after `create_ticket` is the same as `resolve_ticket("T-4902")`, and never the same as the
ticket of somebody else. An id that was seen before the write, in what a tool was given or gave, is none of these.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.effect_guess.tool_names import words_of
from agentdbg.analysis.value_text import parse_embedded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MadeIds", "with_origins"]

_ID = re.compile(r"(?=[^\s]*\d)[\w.:/#-]{2,120}")
_TOKEN = re.compile(r"[A-Za-z0-9][\w-]*")
_LAST_WORDS = frozenset({"code", "id", "identifier", "key", "name", "number", "ref", "reference", "slug", "uid", "url"})
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
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return value
    whole = origins.get(str(value))
    if whole is not None or isinstance(value, int):
        return value if whole is None else whole
    return _TOKEN.sub(lambda found: origins.get(found[0], found[0]), value)


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
