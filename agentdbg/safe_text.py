"""Text that is safe to print: nothing recorded by a program can move the cursor, change the title or hide text."""

from __future__ import annotations

import re

__all__ = ["JOINERS", "UNSAFE", "clean"]

JOINERS = "\u200c\u200d"
# C0 and C1 controls, what turns or hides text (bidirectional marks, zero-width, tags), line separators, surrogates.
# Between two characters that can be joined, as in Persian words and emoji of families, a joiner is spelling.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
    f"|(?<![^\x00-\x7f{JOINERS}])[{JOINERS}]|[{JOINERS}](?![^\x00-\x7f{JOINERS}])"
)


def clean(text: str, *, keep_lines: bool = False) -> str:
    """Text that is safe to print: what would act on the terminal is shown as an escape instead."""
    if text.isascii() and text.isprintable():
        return text

    def shown(found: re.Match[str]) -> str:
        character = found[0]
        if character in "\n\t" and keep_lines:
            return character
        if character in "\n\r\t":
            return " "
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return UNSAFE.sub(shown, text)
