"""
Any JSON value as a few readable words: `origin: "JFK", baggages: 2`.

The result is a list of parts, each a piece of text with a style the reader of it can colour. Writing stops when the
room is used up, so the cost depends on what is shown and not on what is stored.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from agentdbg.analysis.wording import as_json, as_text, cut, one_line
from agentdbg.encoding import decode_json
from agentdbg.events import MEDIA, REDACTED, TRUNCATED
from agentdbg.events.markers import is_gap, is_media, media_in_words, missing_count, missing_part

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Part",
    "Parts",
    "argument_text",
    "fields",
    "is_cut",
    "key_text",
    "merge",
    "outcome_of",
    "parse_embedded",
    "part",
    "plain_text",
    "value",
]

Style = Literal["plain", "muted", "mono", "key", "call", "add", "del", "role", "redacted", "cut"]
ROOM = 400
_MAX_DEPTH = 4
_MAX_EMBEDDED = 200_000


class _PartRequired(TypedDict):
    text: str
    style: Style


class Part(_PartRequired, total=False):
    """A piece of a preview. `args`: what a named call was given, for where the call has no row of its own."""

    args: str


def part(text: str, style: Style = "plain") -> Part:
    return {"text": text, "style": style}


def plain_text(parts: Iterable[Part]) -> str:
    """What the parts say, without their styles."""
    return "".join(piece["text"] + (" " if piece["style"] == "role" else "") for piece in parts)


class Parts:
    """Collects parts until their room is used up; what comes after that is dropped behind one `…`."""

    def __init__(self, room: int = ROOM) -> None:
        self.items: list[Part] = []
        self.left = room

    @property
    def full(self) -> bool:
        return self.left <= 0

    def add(self, text: str, style: Style = "plain") -> None:
        if self.full or not text:
            return
        if len(text) > self.left:
            text = cut(text, self.left)
            self.left = 0
        else:
            self.left -= len(text)
        self.items.append(part(text, style))

    def add_value(self, item: Any, depth: int = 0) -> None:
        """Write one JSON value the way it looks inside a `key: value` list."""
        if isinstance(item, str):
            self._add_string(item)
        elif isinstance(item, dict):
            self._add_dict(item, depth)
        elif isinstance(item, list):
            self._add_list(item, depth)
        else:
            self.add(_scalar(item), "mono")

    def add_fields(self, items: dict[str, Any], depth: int = 0) -> None:
        """Write `key: value, key: value`."""
        for position, (key, item) in enumerate(items.items()):
            if self.full:
                return
            if position:
                self.add(", ", "muted")
            if key == TRUNCATED:
                self.add("cut", "cut")
                continue
            self.add(f"{key_text(key)}: ", "key")
            self.add_value(item, depth + 1)

    def _add_string(self, text: str) -> None:
        if text == REDACTED:
            self.add("redacted", "redacted")
        elif TRUNCATED in text:
            head, _, tail = text.partition(TRUNCATED)
            room = max(self.left - 8, 8) // (2 if tail else 1)
            if head:
                self.add(json.dumps(one_line(head, room), ensure_ascii=False)[:-1] + " ", "mono")
            self.add("cut", "cut")
            if tail:
                self.add(" " + json.dumps(_end_of(tail, room), ensure_ascii=False)[1:], "mono")
        else:
            text = media_in_words(text) if MEDIA in text or is_media(text) else text
            # A quoted value keeps its own signs: `*` may be the very argument that matters.
            flat = cut(" ".join(text[:2000].split()), max(self.left, 8), more=len(text) > 2000)
            self.add(json.dumps(flat, ensure_ascii=False), "mono")

    def _add_dict(self, items: dict[str, Any], depth: int) -> None:
        if is_gap(items):
            self.add(f"{missing_part(items)} not recorded", "cut")
            return
        if not items or depth >= _MAX_DEPTH:
            self.add("{…}" if items else "{}", "mono")
            return
        self.add("{", "mono")
        self.add_fields(items, depth)
        self.add("}", "mono")

    def _add_list(self, items: list[Any], depth: int) -> None:
        if not items or depth >= _MAX_DEPTH:
            self.add("[…]" if items else "[]", "mono")
        elif len(items) > 1 and isinstance(items[0], (dict, list)):
            # The first of many alike says more than the beginning of all of them.
            self.add(f"{_count_of(items)} \N{MULTIPLICATION SIGN} ", "mono")
            self.add_value(items[0], depth + 1)
        else:
            self.add("[", "mono")
            for position, item in enumerate(items):
                if self.full:
                    return
                if position:
                    self.add(", ", "mono")
                self.add_value(item, depth + 1)
            self.add("]", "mono")


def fields(items: dict[str, Any], room: int = ROOM) -> list[Part]:
    """`key: value, key: value`, within the room."""
    parts = Parts(room)
    parts.add_fields(items)
    return merge(parts.items)


def key_text(key: Any) -> str:
    """The name of a key or an argument; one that would be nothing to see stands in quotes."""
    return one_line(str(key), 80) or json.dumps(str(key))


def argument_text(items: dict[str, Any], room: int = ROOM) -> str:
    """`key: value, key: value` as plain text."""
    return plain_text(fields(items, room))


def value(item: Any, room: int = ROOM) -> list[Part]:
    """One value, quoted if it is text."""
    parts = Parts(room)
    parts.add_value(item)
    return merge(parts.items)


def outcome_of(result: Any, args: Any = None, room: int = ROOM) -> list[Part]:
    """
    What a call gave back. Prose stays prose, JSON inside a text is read as JSON, nothing is `empty`.

    Keys that only repeat an argument go last: the reader has just seen them.
    """
    result = parse_embedded(result)
    if result is None or result in ("", [], {}) or (isinstance(result, str) and not result.strip()):
        return [part("empty", "muted")]
    parts = Parts(room)
    if isinstance(result, str):
        _add_prose(parts, result)
    elif isinstance(result, dict):
        given = args if isinstance(args, dict) else {}
        repeated = {key for key, item in result.items() if key in given and given[key] == item}
        ordered = {key: item for key, item in result.items() if key not in repeated}
        ordered.update((key, item) for key, item in result.items() if key in repeated)
        parts.add_fields(ordered)
    else:
        parts.add_value(result)
    return merge(parts.items)


def _add_prose(parts: Parts, text: str) -> None:
    if text == REDACTED:
        parts.add("redacted", "redacted")
    elif TRUNCATED in text:
        head, _, tail = text.partition(TRUNCATED)
        room = (parts.left - 6) // (2 if tail else 1)
        parts.add(one_line(head, room), "plain")
        parts.add(" ")
        parts.add("cut", "cut")
        if tail:
            parts.add(" " + _end_of(tail, room - 1), "plain")
    else:
        parts.add(one_line(media_in_words(text) if MEDIA in text or is_media(text) else text, parts.left), "plain")


def _end_of(text: str, room: int) -> str:
    """The end of a text in one line."""
    line = one_line(text[-4 * room :], 4 * room)
    return line if len(line) <= room else "…" + line[len(line) - room + 1 :]


def _count_of(items: list[Any]) -> str:
    """How many items a list had before it was cut."""
    gaps = [missing_count(item) for item in items if is_gap(item)]
    known = len(items) - len(gaps)
    return f"over {known:,}" if None in gaps else f"{known + sum(count or 0 for count in gaps):,}"


def is_cut(item: Any) -> bool:
    """Whether a stored value is not all of what there was."""
    return TRUNCATED in as_json(item)


def parse_embedded(item: Any) -> Any:
    """The object a text holds, when the text is nothing but a JSON object or array; anything else as it is."""
    if not isinstance(item, str) or not 2 <= len(item) <= _MAX_EMBEDDED:
        return item
    if item[-1] not in "}]" and not item[-1].isspace():  # as nearly always
        return item
    stripped = item.strip()
    if not stripped or (stripped[0], stripped[-1]) not in (("{", "}"), ("[", "]")):
        return item
    try:
        return decode_json(stripped)
    except ValueError:  # it may still be what only the standard library reads: NaN, half of a pair of surrogates
        pass
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return item


def merge(parts: list[Part]) -> list[Part]:
    """Neighbours of one style as one part: less to send and to draw."""
    merged: list[Part] = []
    for piece in parts:
        if merged and merged[-1]["style"] == piece["style"] and "args" not in piece and "args" not in merged[-1]:
            merged[-1]["text"] += piece["text"]
        else:
            merged.append(piece.copy())
    return merged


def _scalar(item: Any) -> str:
    if item is None:
        return "null"
    if item is True or item is False:
        return "true" if item else "false"
    return as_text(item)
