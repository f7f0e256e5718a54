"""What a caller gave as meta, of whatever type, as the table that is stored."""

from __future__ import annotations

from itertools import islice
from typing import Any

from agentdbg.user_code import UserCode, mapping_items

__all__ = ["as_mapping", "with_effect"]

_MOST_ENTRIES = 10_000
"""More than any event can hold; a mapping of the user's may have no end."""


def as_mapping(meta: Any) -> dict[str, Any]:
    """What was given as meta, as a table; under `meta` where it is none."""
    if issubclass(type(meta), dict):  # not isinstance: that asks the object, which may lie or raise
        return dict(mapping_items(meta, _MOST_ENTRIES))
    table = UserCode().call(meta, _read_table, dict)
    return table if isinstance(table, dict) else {"meta": meta}


def _read_table(meta: Any) -> dict[str, Any] | None:
    if isinstance(meta, (list, tuple)):  # never an iterator, here or as a pair: that would use it up
        pairs = list(islice(meta, _MOST_ENTRIES))
        return dict(pairs) if all(type(pair) in (list, tuple) and len(pair) == 2 for pair in pairs) else None
    if hasattr(type(meta), "keys"):  # of the type: a mock has whatever it is asked for
        return {key: meta[key] for key in islice(meta.keys(), _MOST_ENTRIES)}
    return None


def with_effect(meta: Any, effect: Any) -> dict[str, Any]:
    """The meta of a tool call whose effect was declared with it."""
    return {**({} if meta is None else as_mapping(meta)), "effect": effect}
