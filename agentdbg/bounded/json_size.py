"""
About how much memory a JSON text would take, found out before it is read.
"""

from __future__ import annotations

import re

from agentdbg.bounded import TooMuch

__all__ = ["MOST_MEMORY", "SMALL", "check_json_size", "takes_too_much"]

SMALL = 1 << 20
"""A text this long cannot do harm and is not looked at: at the very worst it becomes thirty times as much."""
MOST_MEMORY = 160 << 20
_OBJECT, _LIST, _TEXT, _ITEM = 200, 64, 60, 32
"""Bytes that each takes, besides its content."""
_QUOTE = ord('"')
_PARTS = re.compile(rb'"[^"]*"?|[^"]+')
"""Texts, and what stands between them, once no quote is escaped any more."""


def check_json_size(text: bytes, most: int = MOST_MEMORY) -> None:
    """Raise TooMuch when the text would take more than `most` bytes of memory."""
    if takes_too_much(text, most):
        raise TooMuch(f"read at once it would take more than {most >> 20} MB of memory")


def takes_too_much(text: bytes, most: int = MOST_MEMORY) -> bool:
    """Whether the text would take more than `most` bytes of memory."""
    if len(text) <= SMALL:
        return False
    room = most - len(text)  # for the texts in it
    if room < 0:
        return True
    # Signs inside texts are counted too here, so this is the most it can be.
    if _structure(text) + _TEXT * text.count(b'"') // 2 <= room:
        return False
    text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    for part in _PARTS.finditer(text):
        start, end = part.span()
        room -= _TEXT if text[start] == _QUOTE else _structure(text, start, end)
        if room < 0:
            return True
    return False


def _structure(text: bytes, start: int = 0, end: int | None = None) -> int:
    end = len(text) if end is None else end
    objects, lists, items = (text.count(sign, start, end) for sign in (b"{", b"[", b","))
    return _OBJECT * objects + _LIST * lists + _ITEM * items
