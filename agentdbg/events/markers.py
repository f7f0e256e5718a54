"""
The marks that stand for what was not stored, and how to say in words what they mean.

In a list, `{"__TRUNCATED__": "31 messages, 84 kB"}` stands for the items between its beginning and its end; runs of
before have the bare marker there. In a dict, an entry of that name stands for the entries that follow. A text has the
marker where it was cut. `__MEDIA__ image/png, 30123 bytes, sha256 …` stands for an image. docs/decisions/0008 has more.
"""

from __future__ import annotations

import re
from typing import Any

from agentdbg.events import MEDIA, TRUNCATED

__all__ = [
    "has_gap",
    "in_words",
    "is_gap",
    "is_media",
    "media_in_words",
    "missing_count",
    "missing_part",
    "not_recorded",
    "text_in_words",
]

_COUNT = re.compile(r"(\d+) (?:message|item)")
_MEDIA = re.compile(MEDIA + r" (\S{1,100}), (\d+) bytes(?:, sha256 [0-9a-f]{64})?")
_DEEPEST = 50
# How the base64 of files that models and tools pass around begins.
_STARTS = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "audio/wav or image/webp",
    "SUQz": "audio/mpeg",
    "T2dnUw": "audio/ogg",
    "JVBERi0": "application/pdf",
}
_BASE64_MEDIA = re.compile(rf"(?:data:[a-z]+/[a-z0-9.+-]+;base64,)?(?:{'|'.join(_STARTS)})[A-Za-z0-9+/_-]{{100}}")


def is_gap(item: Any) -> bool:
    """Whether an item of a list stands for items that were not stored."""
    if isinstance(item, str):
        return item == TRUNCATED
    return isinstance(item, dict) and len(item) == 1 and isinstance(item.get(TRUNCATED), str)


def has_gap(items: Any) -> bool:
    """Whether items of a list were not stored."""
    return isinstance(items, list) and any(map(is_gap, items))


def missing_part(item: Any) -> str:
    """How much a gap stands for: `31 messages, 84 kB`; `more` where that is not known."""
    said = item.get(TRUNCATED) if isinstance(item, dict) else None
    return said if isinstance(said, str) and _COUNT.match(said) else "more"


def missing_count(item: Any) -> int | None:
    """How many items a gap stands for, where that is known."""
    found = _COUNT.match(missing_part(item))
    return int(found[1]) if found else None


def not_recorded(item: Any, *, on_tape: bool = False) -> str:
    """What a gap means, as a sentence without its full stop; `on_tape` says that the tape has what is missing."""
    count = missing_count(item)
    if on_tape:
        return f"{missing_part(item)}, not in the log; the tape has {'it' if count in (None, 1) else 'them'}"
    if count is None:
        return "more was not recorded"
    return f"{missing_part(item)}, {'was' if count == 1 else 'were'} not recorded"


def text_in_words(text: str, *, on_tape: bool = False) -> str:
    """A text with words in the places of the marks; `on_tape` says that the tape has what is missing."""
    if TRUNCATED in text:
        where = "is not in the log; the tape has it" if on_tape else "was not recorded"
        if text == TRUNCATED:
            return "[not in the log; the tape has it]" if on_tape else "[not recorded]"
        if text.endswith(TRUNCATED):
            text = text.removesuffix(TRUNCATED) + f"… [the rest {where}]"
        text = text.replace(TRUNCATED, f"… [the middle {where}] …")
    return media_in_words(text) if MEDIA in text else text


def media_in_words(text: str) -> str:
    """A text with `[image/png, 30 kB]` in the place of each descriptor, or of the base64 that it is."""
    if is_media(text):
        head, _, data = text.rpartition(",")
        kind = head[5:].partition(";")[0] or next(kind for start, kind in _STARTS.items() if text.startswith(start))
        return f"[{kind}, {_size(len(data) * 3 // 4)}]"
    return _MEDIA.sub(lambda found: f"[{found[1]}, {_size(int(found[2]))}]", text)


def is_media(text: str) -> bool:
    """Whether a whole text is the base64 of an image, a sound or a PDF, as far as its beginning tells."""
    return _BASE64_MEDIA.match(text) is not None


def _size(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{(size + 500) // 1000} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def in_words(value: Any, depth: int = 0, *, on_tape: bool = False) -> Any:
    """A stored value for people to read: with words in the places of all marks."""
    if isinstance(value, str):
        return text_in_words(value, on_tape=on_tape)
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [
            f"… {not_recorded(item, on_tape=on_tape)} …" if is_gap(item) else in_words(item, depth + 1, on_tape=on_tape)
            for item in value
        ]
    if not isinstance(value, dict):
        return value
    said = {key: in_words(item, depth + 1, on_tape=on_tape) for key, item in value.items() if key != TRUNCATED}
    return {**said, "…": not_recorded(TRUNCATED, on_tape=on_tape)} if TRUNCATED in value else said
