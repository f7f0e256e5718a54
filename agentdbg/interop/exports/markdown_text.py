"""
Foreign text inside Markdown: always as code, never as Markdown.

What an agent read or a model wrote may hold fences, links, images, HTML, mentions and control characters. As a code
span or a fenced block longer than any in the text it is shown as it is, and does nothing.
"""

from __future__ import annotations

import re

__all__ = ["code", "cut_middle", "escaped", "fenced", "visible"]

# Control characters, what turns or hides text, line separators, lone surrogates: shown as escapes.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&#])")
_TICKS = re.compile("`+")


def visible(text: str) -> str:
    """The text with what nobody could see written out; lines and tabs stay."""
    text = text.replace("\r\n", "\n")
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def code(text: str, limit: int = 300) -> str:
    """A code span on one line, with `…` where it was cut."""
    shown = " ".join(visible(text[: 4 * limit]).split())
    if len(shown) > limit or len(text) > 4 * limit:
        shown = shown[: limit - 1].rstrip() + "…"
    ticks = "`" * (_longest_ticks(shown) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fenced(text: str) -> str:
    """A block, between fences that nothing in it can close."""
    shown = visible(text).strip("\n")
    fence = "`" * max(3, _longest_ticks(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}"


def escaped(text: str) -> str:
    """Our own words with what Markdown would take for signs escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))


def cut_middle(text: str, limit: int) -> str:
    """At most about `limit` characters: the beginning and the end, and how much is missing between."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head].rstrip()}\n… {len(text) - head - tail:,} characters left out …\n{text[-tail:].lstrip()}"


def _longest_ticks(text: str) -> int:
    return max((len(found) for found in _TICKS.findall(text)), default=0)
