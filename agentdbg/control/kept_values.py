"""
What an edit makes of a value of which only a part was shown.

What is shown is JSON without secrets, with marks in the places of what was hidden or is too long. Whatever comes back
unchanged keeps its original value, at any depth: an object that JSON can only describe, a secret, the items in the
middle of a long list. A mark in a text that was edited around it stands for what it stood for.
"""

from __future__ import annotations

import copy
import json
import re
from difflib import SequenceMatcher
from typing import Any

from agentdbg.events import MEDIA, REDACTED, TRUNCATED
from agentdbg.events.markers import is_gap

__all__ = ["kept_where_unchanged"]

_MARK = re.compile(rf"{REDACTED}(?::[0-9]+)?|{TRUNCATED}|{MEDIA} \S{{1,100}}, \d+ bytes(?:, sha256 [0-9a-f]{{64}})?")


def kept_where_unchanged(original: Any, shown: Any, edited: Any) -> Any:
    """What an edit of `shown`, which stands for `original`, makes of the original."""
    if _written(edited) == _written(shown):  # == takes 1 for true
        return original
    if isinstance(shown, dict) and isinstance(edited, dict):
        if isinstance(original, dict):
            return _entries(original, shown, edited)
        return _fields(original, shown, edited)
    if isinstance(original, (list, tuple)) and isinstance(shown, list) and isinstance(edited, list):
        items = _items(list(original), shown, edited)
        return type(original)(items) if type(original) in (list, tuple) else items
    if isinstance(original, str) and isinstance(shown, str) and isinstance(edited, str):
        return _text(original, shown, edited)
    return edited


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _entries(original: dict[Any, Any], shown: dict[str, Any], edited: dict[str, Any]) -> dict[Any, Any]:
    known = {str(key): key for key in original}
    kept = {
        known.get(key, key): kept_where_unchanged(original[known[key]], shown[key], value)
        if key in shown and key in known
        else value
        for key, value in edited.items()
    }
    if TRUNCATED in shown and TRUNCATED in edited and TRUNCATED not in known:
        del kept[TRUNCATED]
        kept |= {key: value for key, value in original.items() if str(key) not in shown}
    return kept


def _fields(original: Any, shown: dict[str, Any], edited: dict[str, Any]) -> Any:
    """An object that is made of fields, with others in it; where it has not just these, only what JSON says of it."""
    names = getattr(type(original), "__dataclass_fields__", None) or getattr(type(original), "model_fields", None)
    if not isinstance(names, dict) or not set(edited) == set(shown) <= set(names):
        return edited
    changed = copy.copy(original)
    for name, value in edited.items():
        object.__setattr__(changed, name, kept_where_unchanged(getattr(original, name), shown[name], value))
    return changed


def _items(original: list[Any], shown: list[Any], edited: list[Any]) -> list[Any]:
    gap = next((at for at, item in enumerate(shown) if is_gap(item)), None)
    if gap is None:
        return _paired(original, shown, edited)
    end = len(original) - (len(shown) - gap - 1)
    here = next((at for at, item in enumerate(edited) if item == shown[gap]), None)
    if here is None:  # taken away, so what it stands for goes with it
        return _paired(original[:gap] + original[end:], shown[:gap] + shown[gap + 1 :], edited)
    before = _paired(original[:gap], shown[:gap], edited[:here])
    return [*before, *original[gap:end], *_paired(original[end:], shown[gap + 1 :], edited[here + 1 :])]


def _paired(original: list[Any], shown: list[Any], edited: list[Any]) -> list[Any]:
    """The items, of which some may have been taken out, put in or moved by others."""
    if len(original) != len(shown):
        return edited
    items: list[Any] = []
    steps = SequenceMatcher(None, [_written(one) for one in shown], [_written(one) for one in edited])
    for what, start, end, start_now, end_now in steps.get_opcodes():
        if what == "equal":
            items += original[start:end]
        elif end - start == end_now - start_now:
            items += map(kept_where_unchanged, original[start:end], shown[start:end], edited[start_now:end_now])
        else:
            items += edited[start_now:end_now]
    return items


def _text(original: str, shown: str, edited: str) -> str:
    """The edited text with what its marks stand for, as long as all of them are still in it."""
    pieces = _MARK.split(shown)
    new = _MARK.split(edited)
    if len(pieces) == 1 or len(pieces) != len(new):
        return edited
    hidden, at = [], len(pieces[0])
    for piece in pieces[1:-1]:
        found = original.find(piece, at)
        hidden.append(original[at:found])
        at = found + len(piece)
    end = len(original) - len(pieces[-1])
    hidden.append(original[at:end])
    if "".join(one for pair in zip(pieces, [*hidden, ""], strict=True) for one in pair) != original:
        return edited
    return "".join(one for pair in zip(new, [*hidden, ""], strict=True) for one in pair)
