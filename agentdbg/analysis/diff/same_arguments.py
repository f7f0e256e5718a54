"""
Whether two calls of a tool ask for the same: their arguments in the form in which those that do are equal.

A letter in other words is the same letter if it holds the same facts. A list of recipients is the same in any order.
Two lists of one length may belong together, `item_ids` and `quantities`, so they are put in order together. Nothing
given is nothing asked. What a project's contract says of an argument comes first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.steps import encoded
from agentdbg.analysis.effect_guess.tool_names import words_of
from agentdbg.analysis.text_facts import TextFacts, facts_in, is_message
from agentdbg.events import TRUNCATED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ask_for_the_same", "comparable_args", "is_set", "messages_agree"]

_DEEPEST = 20
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|z|[+-]\d\d:?\d\d)?")
_ORDERED = frozenset(
    {
        "actions",
        "args",
        "argv",
        "bbox",
        "cells",
        "columns",
        "command",
        "commands",
        "coordinates",
        "fields",
        "history",
        "legs",
    }
    | {"instructions", "itinerary", "lines", "matrix", "messages", "order", "path", "phases", "playlist", "point"}
    | {"points", "position", "priorities", "priority", "queue", "range", "rank", "ranking", "route", "rows", "schedule"}
    | {"sequence", "stages", "statements", "steps", "stops", "tracks", "values", "vector", "waypoints"}
)
"""Names of lists whose order says something."""
_STANDS_ALONE = frozenset(
    {"assignees", "attachments", "attendees", "bcc", "categories", "cc", "channels", "emails", "invitees", "keywords"}
    | {"labels", "members", "participants", "recipients", "reviewers", "roles", "scopes", "tags", "to", "topics"}
    | {"watchers"}
)
"""Names of lists whose items belong to no other list beside them."""
_FILES = frozenset({"code", "file", "notebook", "patch", "script", "sql"})
"""Tools that are given texts to be kept as they are."""


def comparable_args(name: str, args: Any, forms: Mapping[str, str] | None = None) -> Any:
    """The arguments of a tool's call in the form in which two that ask for the same are equal; contracts come first."""
    keeps_words = not _FILES.isdisjoint(words_of(name))
    if not forms or not isinstance(args, dict):
        return _form(args, "", keeps_words=keeps_words)
    rest = _form({key: value for key, value in args.items() if key not in forms}, "", keeps_words=keeps_words)
    return {
        **rest,
        **{f"{forms[key]} {key}": _as_told(value, forms[key]) for key, value in args.items() if key in forms},
    }


def _as_told(value: Any, form: str) -> Any:
    """One argument in the form that its contract tells."""
    if form == "ignored":
        return None
    if form == "set" and isinstance(value, list):
        return sorted(value, key=encoded)
    if form == "facts" and isinstance(value, str):
        return {"says": sorted(facts_in(value).numbers_and_ids)}
    return value


def messages_agree(args: Any, other: Any) -> bool:
    """Whether the messages of two calls with the same facts are to the same people, and about the same."""
    texts, texts_b = list(_messages(args)), list(_messages(other))
    return len(texts) == len(texts_b) and all(map(TextFacts.agrees_with, texts, texts_b))


def ask_for_the_same(name: str, args: Any, other: Any) -> bool:
    """Whether two calls of a tool ask for the same, if in other words or in another order."""
    same = encoded(comparable_args(name, args)) == encoded(comparable_args(name, other))
    return same and messages_agree(args, other)


def _messages(args: Any, key: str = "", depth: int = 0) -> Iterator[TextFacts]:
    if isinstance(args, str):
        if is_message(args, key):
            yield facts_in(args)
    elif isinstance(args, dict) and depth < _DEEPEST:
        for inner, item in args.items():
            yield from _messages(item, str(inner), depth + 1)
    elif isinstance(args, list) and depth < _DEEPEST:
        for item in args:
            yield from _messages(item, "", depth + 1)


def _form(value: Any, key: str, *, keeps_words: bool, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return value
    if isinstance(value, str):
        if keeps_words or TRUNCATED in value or not is_message(value, key):
            found = _MOMENT.fullmatch(value)
            return value if found is None or keeps_words else _moment_form(found)
        return {"says": sorted(facts_in(value).key)}
    if isinstance(value, list):
        items = [_form(item, "", keeps_words=keeps_words, depth=depth + 1) for item in value]
        return sorted(items, key=encoded) if is_set(key, value) else items
    if isinstance(value, dict):
        return _table_form(value, keeps_words=keeps_words, depth=depth)
    return value


def _moment_form(found: re.Match[str]) -> str:
    """`2024-06-11T08:40` as `2024-06-11T08:40:00`, and `+00:00` as `Z`."""
    day, minute, second, fraction, zone = found.groups("")
    fraction = fraction.rstrip("0")
    zone = "Z" if zone in ("Z", "z", "+00:00", "+0000") else zone
    return f"{day}T{minute}:{second or '00'}{'.' if fraction else ''}{fraction}{zone}"


def _table_form(table: dict[str, Any], *, keeps_words: bool, depth: int) -> dict[str, Any]:
    lengths: dict[int, list[str]] = {}
    sets: set[str] = set()
    for key, item in table.items():
        words = words_of(str(key))
        if isinstance(item, list) and _ORDERED.isdisjoint(words) and _STANDS_ALONE.isdisjoint(words[-1:]):
            lengths.setdefault(len(item), []).append(key)
            sets.update([key] if is_set(str(key), item) else [])
    together = [keys for keys in lengths.values() if len(keys) > 1 and not sets.isdisjoint(keys)]
    joined = {key for keys in together for key in keys}
    form = {
        key: _form(item, str(key), keeps_words=keeps_words, depth=depth + 1)
        for key, item in table.items()
        if key not in joined and item is not None  # nothing given is nothing asked
    }
    for keys in together:
        rows = zip(*(table[key] for key in keys), strict=True)
        form[" and ".join(keys)] = sorted((list(row) for row in rows), key=encoded)
    return form


def is_set(key: str, items: list[Any]) -> bool:
    """Whether the order of a list says nothing: different texts, tables or ids under a name that is no order."""
    words = words_of(key)
    if len(items) < 2 or not words or not _ORDERED.isdisjoint(words):
        return False
    is_plain = all(isinstance(item, str) for item in items) or all(isinstance(item, dict) for item in items)
    is_ids = words[-1] in ("ids", "numbers") and all(isinstance(item, int) for item in items)
    return (is_plain or is_ids) and len({encoded(item) for item in items}) == len(items)
