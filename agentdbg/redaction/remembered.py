"""
Remember what cleaning made of long texts, because the history of a conversation comes again with every call.

A text is found by itself, never by a number made of it, so nothing is taken for something else. What is kept has a
ceiling; when that is reached, everything is forgotten.
"""

from __future__ import annotations

from typing import Any

__all__ = ["WORTH_REMEMBERING", "RememberedTexts"]

WORTH_REMEMBERING = 500
"""Characters; a shorter text is cleaned as quickly as it is found."""
_MOST_CHARACTERS = 2_000_000


class RememberedTexts:
    """What became of the long texts seen lately. Shared by the threads of a process; a lost entry costs only time."""

    __slots__ = ("_cleaned", "_left")

    def __init__(self) -> None:
        self._cleaned: dict[str, str | None] = {}
        """The clean text for each, None where it was clean already."""
        self._left = _MOST_CHARACTERS

    def find(self, text: str) -> str | None:
        """What became of a text; None when that is not known."""
        if len(text) < WORTH_REMEMBERING:
            return None
        cleaned = self._cleaned.get(text, "")
        return text if cleaned is None else cleaned or None

    def add(self, text: str, cleaned: str) -> None:
        """Note what became of a text."""
        if len(text) < WORTH_REMEMBERING:
            return
        if self._left < 2 * len(text):
            self._cleaned.clear()
            self._left = _MOST_CHARACTERS
        self._left -= 2 * len(text)
        self._cleaned[text] = None if cleaned == text else cleaned

    def without_clean(self, value: Any) -> Any:
        """A plain value without the long texts that are known to be clean."""
        kind = type(value)
        if kind is str:
            return "" if len(value) >= WORTH_REMEMBERING and self._cleaned.get(value, value) is None else value
        if kind is dict:
            return {key: self.without_clean(child) for key, child in value.items()}
        return [self.without_clean(child) for child in value] if kind is list else value
