"""
What was left out of a run before it was given away: how it was redacted, how often each rule struck, what was cut.

A run's files say whether it was recorded with redaction, but neither with which rules nor how often each one struck.
So the rules are those in force where the file is made, and the counts are of the markers that stand in the log; the
receipt says both.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.events import MEDIA, REDACTED, TRUNCATED, utc_timestamp
from agentdbg.redaction.keys import plain_spelling, words_of
from agentdbg.redaction.rules import WHOLE_WORD_KEYS
from agentdbg.version import __version__

if TYPE_CHECKING:
    from agentdbg.config import Config
    from agentdbg.events import RunMeta

__all__ = ["IN_TEXT", "OTHER_KEY", "Receipt"]

IN_TEXT = "inside text"
OTHER_KEY = "another key"

_MARKERS = re.compile(f"{REDACTED}|{TRUNCATED}|{MEDIA}".encode())
_NAMES_OF_PAIRS = ("name", "key", "header")
_BETWEEN_LETTERS = re.compile(r"[\W_]+")
# As `<` is written here it means nothing to HTML, whatever a rule is called.
_PLAIN_IN_HTML = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}


class Receipt:
    """Counts the markers of one run, line by line."""

    def __init__(self, run: RunMeta, config: Config) -> None:
        self._run = run
        self._config = config
        self._redacted: Counter[str] = Counter()
        self._cut: Counter[str] = Counter()

    def count(self, line: bytes) -> None:
        """Take one event as it is stored."""
        if _MARKERS.search(line) is None:
            return
        event = decode_json(line)
        for part in ("name", "payload", "meta"):
            self._walk(event.get(part), part)

    def _walk(self, value: Any, key: str) -> None:
        if isinstance(value, str):
            self._look_at(value, key)
        elif isinstance(value, dict):
            named = next((value[name] for name in _NAMES_OF_PAIRS if isinstance(value.get(name), str)), None)
            for name, item in value.items():
                self._redacted[IN_TEXT] += name.count(REDACTED)
                self._walk(item, named if name == "value" and named is not None else name)
        elif isinstance(value, list):
            is_pair = len(value) == 2 and isinstance(value[0], str)
            for place, item in enumerate(value):
                self._walk(item, value[0] if is_pair and place == 1 else key)

    def _look_at(self, text: str, key: str) -> None:
        if text == REDACTED:
            self._redacted[self._rule(key)] += 1
        elif REDACTED in text:
            self._redacted[IN_TEXT] += text.count(REDACTED)
        if TRUNCATED in (text, key):
            self._cut["lists and objects"] += 1
        elif TRUNCATED in text:
            self._cut["texts"] += 1
        if MEDIA in text:
            self._cut["media"] += text.count(MEDIA)

    def _rule(self, key: str) -> str:
        """The rule that took the value of a key."""
        readable = plain_spelling(key)
        squeezed = _squeeze(readable)
        for wanted in self._config.redact_keys:
            if _squeeze(plain_spelling(wanted)) in squeezed:
                return wanted
        words = words_of(readable)
        for phrase in sorted(WHOLE_WORD_KEYS, key=len, reverse=True):
            if set(phrase.split("_")) <= set(words) or phrase.replace("_", "") in words:
                return phrase
        return OTHER_KEY

    def said(self, source: dict[str, object], now_ms: int) -> dict[str, Any]:
        """All of it, as JSON."""
        config = self._config
        redacted = {rule: count for rule, count in self._redacted.most_common() if count}
        return {
            "made_by": f"agentdbg {__version__}",
            "made_at": utc_timestamp(now_ms / 1000),
            "run_id": self._run["run_id"],
            "recorded_by": self._run.get("agentdbg_version"),
            "source": source,
            "redaction": {
                "recorded_with": self._run.get("redaction"),
                "rules": {
                    "enabled": config.redact,
                    "keys": list(config.redact_keys),
                    "whole_words": list(WHOLE_WORD_KEYS),
                    "secrets_in_text": config.redact_values,
                    "own_patterns": len(config.redact_patterns),
                    "max_field_bytes": config.max_field_bytes,
                },
                "rules_are": "those in force where this file was made; a run does not store its own",
                "redacted": sum(redacted.values()),
                "redacted_by_rule": redacted,
                "counts_are": "the markers that stand in the log, each under the rule that its key fits",
            },
            "cut": {what: count for what, count in self._cut.most_common() if count},
            "dropped_events": self._run.get("dropped_events") or 0,
        }

    def block(self, source: dict[str, object], now_ms: int) -> bytes:
        """The receipt as an element that people and programs can read without a browser."""
        text = encode_json(self.said(source, now_ms))
        for sign, escape in _PLAIN_IN_HTML.items():
            text = text.replace(sign, escape)
        return b'<script type="application/json" id="receipt">' + text + b"</script>\n"


def _squeeze(name: str) -> str:
    return _BETWEEN_LETTERS.sub("", name).lower()
