"""
Take the secrets out of a text and leave the rest readable.

`TextCleaner.clean` is the one truth about what is secret inside text; it uses the standard library alone, and every
expression in it is bounded or starts at a boundary its own run cannot contain, so its time grows with the text and no
faster. `Suspicion` only decides, quickly, whether asking is worth while.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.events import REDACTED
from agentdbg.redaction.assignments import AssignmentScanner
from agentdbg.redaction.rules import WHOLE_WORD_KEYS
from agentdbg.redaction.shaped import shaped_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentdbg.redaction.keys import KeyJudge
    from agentdbg.redaction.patterns import UserPattern
    from agentdbg.redaction.suspicion import Suspicion
    from agentdbg.redaction.values import Span

__all__ = ["TextCleaner", "telling_words"]


def telling_words(keys: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The literals that can begin a secret's name in text: those matched anywhere, and those matched as whole words."""
    anywhere: dict[str, None] = {}
    for key in keys:
        anywhere.update(dict.fromkeys(_spellings(key)))
    whole: dict[str, None] = {}
    for key in WHOLE_WORD_KEYS:
        whole.update(dict.fromkeys(_spellings(key)))
    return tuple(anywhere), tuple(word for word in whole if not any(part in word for part in anywhere))


def _spellings(key: str) -> list[str]:
    words = [word for word in re.split(r"[^a-z0-9]+", key.lower()) if word]
    if not words:
        return []
    return list(dict.fromkeys(joint.join(words) for joint in ("_", "-", "", " ", ".")))


class TextCleaner:
    """Replaces what is secret in a text by the marker."""

    __slots__ = ("_judge", "_patterns", "_suspicion", "_words")

    def __init__(self, judge: KeyJudge, keys: Iterable[str], suspicion: Suspicion, patterns: list[UserPattern]) -> None:
        anywhere, whole = telling_words(keys)
        self._judge = judge
        self._words = anywhere + whole
        self._suspicion = suspicion
        self._patterns = patterns

    def clean(self, text: str) -> str:
        """`text` with every secret in it replaced; the same object when there is none."""
        spans: list[Span] = []
        named, shaped = self._suspicion.of_text(text)
        if named:
            spans.extend(self._assigned(text))
        if shaped:
            spans.extend(shaped_secrets(text))
        for pattern in self._patterns:
            spans.extend(pattern.spans(text))
        return _without(text, spans) if spans else text

    def _assigned(self, text: str) -> Iterator[Span]:
        return AssignmentScanner(self._judge, self._words).spans(text)


def _without(text: str, spans: list[Span]) -> str:
    spans.sort()
    pieces: list[str] = []
    kept_to = 0
    for start, end in spans:
        if end <= kept_to:
            continue
        if start >= kept_to:
            pieces.append(text[kept_to:start])
            pieces.append(REDACTED)
        kept_to = end
    pieces.append(text[kept_to:])
    return "".join(pieces)
