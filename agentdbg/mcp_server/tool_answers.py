"""
Answers that fit: every one has a size in bytes, and says how to ask for what was left out.

Recorded text is foreign: a page an agent read may hold characters nobody sees, put there to steer whoever reads on.
They are written as escapes, which loses nothing and hides nothing.

One part of an event: named by a JSON Pointer (RFC 6901), and read on where it is long.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "DEFAULT_BYTES",
    "LEAST_BYTES",
    "MOST_BYTES",
    "encode",
    "fit",
    "fit_text",
    "paged",
    "read_part",
    "size",
    "visible",
]

LEAST_BYTES, DEFAULT_BYTES, MOST_BYTES = 2_000, 20_000, 200_000

# Controls, marks of direction and joining, fillers, tags, private use, halves of pairs: whatever shows as nothing.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_LIMITS = (8_000, 4_000, 2_000, 1_000, 500, 240, 120, 60, 24, 8)
_DEEPEST = 40
_MOST_CUTS = 20
# Room for `next` and the commas.
_RESERVE = 160


def encode(value: Any) -> str:
    """A value as compact JSON in which every character can be seen."""
    return visible(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str))


def visible(text: str) -> str:
    """The text with what shows as nothing written as JSON would escape it."""
    return _UNSEEN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def size(value: Any) -> int:
    """How many bytes the value takes in an answer; endless for what is nested too deeply to be written."""
    try:
        return len(encode(value).encode())
    except RecursionError:
        return sys.maxsize


def paged(
    head: dict[str, Any],
    key: str,
    items: Iterable[Any],
    *,
    offset: int,
    limit: int,
    max_bytes: int,
) -> dict[str, Any]:
    """
    `head`, as many of the items as fit, and in `next` the arguments that ask for the rest; None when that was all.

    `items` begin at `offset`. The first one is given however large it is, so that asking on always gets further.
    """
    shown: list[Any] = []
    room = max_bytes - size(head) - _RESERVE
    next_arguments = None
    for item in items:
        needed = size(item) + 1
        if len(shown) >= limit or (shown and needed > room):
            next_arguments = {"offset": offset + len(shown)}
            break
        shown.append(fit(item, max(room, 400))[0] if needed > room else item)
        room -= needed
    return {**head, key: shown, "next": next_arguments}


@dataclass
class Cuts:
    """What was cut away: where (as a JSON Pointer), how much there is, how much is shown."""

    listed: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0

    def add(self, path: str, total: int, shown: int) -> None:
        self.count += 1
        if len(self.listed) < _MOST_CUTS and len(path) < 300:
            self.listed.append({"path": path, "length": total, "shown": shown})


def fit(value: Any, max_bytes: int, path: str = "") -> tuple[Any, Cuts]:
    """The value itself where it fits, else as much of it as does, and what was cut."""
    if size(value) <= max_bytes:
        return value, Cuts()
    for limit in _LIMITS:
        cuts = Cuts()
        shorter = _shortened(value, limit, path, 0, cuts)
        if size(shorter) <= max_bytes:
            return shorter, cuts
    cuts = Cuts()
    cuts.add(path, len(value) if isinstance(value, (str, list, dict)) else 1, 0)
    return f"[{type(value).__name__}, too large to show]", cuts


def _shortened(value: Any, limit: int, path: str, depth: int, cuts: Cuts) -> Any:
    """The value with no text longer than `limit` and no container of more than so many members."""
    if isinstance(value, str):
        if len(value) <= limit:
            return value
        cuts.add(path, len(value), limit)
        return f"{value[:limit]}… [{len(value) - limit:,} more characters]"
    if not isinstance(value, (list, dict)):
        return value
    most = max(limit // 4, 4)
    if depth > _DEEPEST:
        most = 0
    if len(value) > most:
        cuts.add(path, len(value), most)
    if isinstance(value, list):
        kept: list[Any] = [
            _shortened(item, limit, f"{path}/{at}", depth + 1, cuts) for at, item in enumerate(value[:most])
        ]
        return [*kept, f"… [{len(value) - most:,} more items]"] if len(value) > most else kept
    members = {
        key if len(key) <= 200 else f"{key[:200]}…": _shortened(item, limit, _below(path, key), depth + 1, cuts)
        for key, item in list(value.items())[:most]
    }
    return {**members, "…": f"[{len(value) - most:,} more members]"} if len(value) > most else members


def _below(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


def fit_text(text: str, offset: int, max_bytes: int) -> tuple[str, int | None]:
    """As much of `text` from `offset` on as fits, and where to go on; None at its end."""
    piece = text[offset : offset + max_bytes]
    while (taken := size(piece)) > max_bytes:
        piece = piece[: max(1, len(piece) * max_bytes // taken - 8)] if len(piece) > 16 else piece[: len(piece) - 1]
    end = offset + len(piece)
    return piece, end if end < len(text) else None


def read_part(value: Any, path: str, offset: int, max_bytes: int) -> dict[str, Any]:
    """
    The part of `value` that `path` names, from `offset` on, as far as it fits.

    `next` has the path and the offset of what comes after; `cut` lists what was shortened inside.
    """
    part = _at(value, path)
    answer: dict[str, Any] = {"path": path} if path else {}
    if isinstance(part, str):
        return answer | _text(part, path, offset, max_bytes)
    if isinstance(part, (list, dict)) and offset:
        return answer | _members(part, path, offset, max_bytes)
    room = max_bytes - 2_400 if max_bytes > 8_000 else max_bytes // 2  # for the list of cuts
    shown, cuts = (part, None) if size(part) <= max_bytes - 200 else fit(part, room, path)
    answer |= {"value" if path else "event": shown}
    if cuts is not None:
        answer |= {"cut": fit(cuts.listed, max_bytes - room - 300)[0], "cuts": cuts.count}
        first = cuts.listed[0] if cuts.listed else {"path": path, "shown": 0}
        answer |= {"next": {"path": first["path"], "offset": first["shown"]}}
    return answer | ({} if "next" in answer else {"next": None})


def _text(text: str, path: str, offset: int, max_bytes: int) -> dict[str, Any]:
    shown, more_at = fit_text(text, offset, _room(path, max_bytes))
    return {
        "value": shown,
        "offset": offset,
        "length": len(text),
        "next": None if more_at is None else {"path": path, "offset": more_at},
    }


def _members(part: list[Any] | dict[str, Any], path: str, offset: int, max_bytes: int) -> dict[str, Any]:
    """Members of a list or an object from `offset` on, as many as fit; each is shortened where it alone is too long."""
    room = _room(path, max_bytes)
    pairs: list[tuple[Any, Any]] = list(part.items() if isinstance(part, dict) else enumerate(part))
    kept: list[tuple[Any, Any]] = []
    for key, item in pairs[offset:]:
        needed = size(item) + size(key) + 2
        if needed > room:
            if not kept:
                kept.append((key, fit(item, room)[0]))
            break
        kept.append((key, item))
        room -= needed
    end = offset + len(kept)
    return {
        "value": dict(kept) if isinstance(part, dict) else [item for _, item in kept],
        "offset": offset,
        "length": len(part),
        "next": {"path": path, "offset": end} if end < len(pairs) else None,
    }


def _room(path: str, max_bytes: int) -> int:
    """What is left beside the figures and the path, which is said twice."""
    return max(max_bytes - 300 - 2 * size(path), 200)


def _at(value: Any, path: str) -> Any:
    """The part a pointer names; UsageError says how far it led."""
    if path and not path.startswith("/"):
        raise UsageError(f"{path!r} is not JSON Pointer; it begins with a slash, like /payload/prompt")
    so_far = ""
    for token in path.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isascii() and key.isdigit() and len(key) < 12 and int(key) < len(value):
            value = value[int(key)]
        else:
            raise UsageError(f"there is nothing at {path!r}: {so_far or 'the event'} has {_members_of(value)}")
        so_far = f"{so_far}/{token}"
    return value


def _members_of(value: Any) -> str:
    if isinstance(value, dict):
        names = [key[:40] for key in list(value)[:20]]
        return f"the members {', '.join(names)}" if names else "no members"
    if isinstance(value, list):
        return f"{len(value)} items"
    return "no parts"
