"""
Recorded words as they may stand in Markdown on a pull request: no column, no HTML, no link, no picture.

`#5` is an event here, `@team` a word and an address something the agent read, so all three become code: a comment must
not point at an issue, call anybody, or lead anywhere.
"""

from __future__ import annotations

import re

from agentdbg.commands.terminal import clean

__all__ = ["as_code", "as_text", "with_code"]

_CODE = re.compile(r"((?<!`)`(?!`)[^`]+`(?!`))")
_SIGNS = re.compile(r"[\\*_~\[\]`|]")
_REFERENCES = re.compile(r"((?<!\w)(?:#\d+|@[\w-]+(?:\([^()`\\]*\))?)|(?<!\w)(?:\w{1,20}://|www\.)[^\s<>`|)\]]+)")


def as_code(text: str) -> str:
    """The text as code, on one line; two backticks with nothing between them would begin code of another kind."""
    return f"`{clean(text).replace('`', chr(39)) or chr(34) * 2}`"


def as_text(text: str) -> str:
    """The text as plain words, on one line."""
    return _escaped(clean(text))


def with_code(text: str) -> str:
    """A sentence of ours on one line: what stands between backticks is code, all else is words."""
    pieces = _CODE.split(clean(text))
    # Also in code, a bar would end the column of a table.
    return "".join(piece.replace("|", "\\|") if at % 2 else _escaped(piece) for at, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    pieces = _REFERENCES.split(text)
    return "".join(f"`{piece}`" if at % 2 else _as_words(piece) for at, piece in enumerate(pieces))


def _as_words(text: str) -> str:
    return _SIGNS.sub(r"\\\g<0>", text.replace("&", "&amp;").replace("<", "&lt;"))
