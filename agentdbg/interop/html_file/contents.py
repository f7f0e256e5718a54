"""
What the file holds of a run: everything the page would ask the viewer's server for.

What was left out of a run before it was given away: how it was redacted, how often each rule struck, what was cut.

A run's files say whether it was recorded with redaction, but neither with which rules nor how often each one struck.
So the rules are those in force where the file is made, and the counts are of the markers that stand in the log; the
receipt says both.

Data inside an HTML file: compressed, in letters that mean nothing to HTML, in elements that no browser runs.

Models are sent the same messages again and again, too far apart for a compressor to notice. So every long string is
stored once, in blocks of strings, and an event refers to it by number. What is written here is read in the page by
core/embedded-blocks.js and model/embedded-text.js.
"""

from __future__ import annotations

import re
import time
import zlib
from base64 import b64encode
from collections import Counter
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.findings import add_to_summary
from agentdbg.analysis.report import build_report, summarise
from agentdbg.analysis.rows import RowBuilder
from agentdbg.analysis.stats import Tally
from agentdbg.encoding import decode_json, encode_json
from agentdbg.events import MEDIA, REDACTED, TRUNCATED, utc_timestamp
from agentdbg.index.column_cache import pack_skeleton
from agentdbg.index.events import NOT_STRICT, EventIndex
from agentdbg.index.kept_findings import examined_if_short
from agentdbg.redaction.keys import plain_spelling, words_of
from agentdbg.redaction.rules import WHOLE_WORD_KEYS
from agentdbg.storage.layout import index_dir, is_run_id, run_dir
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.config import Config
    from agentdbg.events import RunMeta

__all__ = ["Contents", "Packer"]

_STRETCH = 200
_HASHED_AT_ONCE = 1 << 20
# The packer gives these a meaning of its own; a reader may have let one pass inside a string.
_CONTROL = bytes(range(0x20))
_STILL_RUNNING = "Still running when this file was made. What came later is not in it."


class Contents:
    """The blocks of one run, as it was when this was made."""

    def __init__(self, run: RunMeta, config: Config) -> None:
        # Who ran it on which machine is needed to tell whether it still runs, and by nobody who is given the file.
        self._run: RunMeta = {**run}
        self._run.pop("owner", None)
        self._config = config
        self._index = EventIndex(run_dir(config.data_dir, run["run_id"]), run["run_id"], index_dir(config.data_dir))
        self._index.extend()
        self._rows = RowBuilder(self._index)
        self._packer = Packer()
        self._receipt = Receipt(self._run, config)
        self._now_ms = time.time_ns() // 1_000_000

    def opening(self) -> Iterator[bytes]:
        """What the first screen shows, and the report, for which the same is counted."""
        index = self._index
        tally = Tally(index)
        summary = summarise(
            tally,
            self._run,
            now_ms=self._now_ms,
            damaged_lines=index.damaged_lines,
            damaged_total=index.damaged_total,
        )
        if self._run["status"] == "running":
            summary["notes"].append(_STILL_RUNNING)
        elif (found := examined_if_short(self._config.data_dir, self._run, index.total)) is not None:
            add_to_summary(summary, found)
        columns, types = pack_skeleton(index)
        yield data_block("summary", encode_json(summary))
        yield data_block("types", encode_json(types))
        yield data_block("skeleton", columns)
        yield data_block("report", build_report(tally, self._run, self._now_ms).encode())
        yield from self._stretch(1)

    def rest(self, progress: Callable[[float], object]) -> Iterator[bytes]:
        """All that follows the first screen, and the receipt."""
        total = self._index.total
        for first in range(1 + _STRETCH, total + 1, _STRETCH):
            yield from self._stretch(first)
            progress(min(1.0, (first + _STRETCH) / total))
        yield self._receipt.block(self._source(), self._now_ms)

    def _stretch(self, first: int) -> Iterator[bytes]:
        """Some events one after the other: their rows, and themselves."""
        last = min(first + _STRETCH - 1, self._index.total)
        if last < first:
            return
        rows = []
        for number in range(first, last + 1):
            line = self._line(number)
            rows.append(self._row(number, line))
            self._receipt.count(line)
            if blocks := self._packer.add(line):
                yield blocks
        yield self._packer.flush() + data_block("rows", b"\n".join(rows), first, last)

    def _row(self, number: int, line: bytes) -> bytes:
        """A row, without the event's id where the page can take that from the event: no other part packs so badly."""
        row: dict[str, Any] = {**self._rows.row(number, running=self._run["status"] == "running")}
        event_id: str = row["event_id"]
        # Of a long one the packer would leave a number in the event.
        if is_run_id(event_id) and line.startswith(b'{"spec_version":"0.1","event_id":"%s",' % event_id.encode()):
            del row["event_id"]
        return encode_json(row)

    def close(self) -> None:
        """Let go of the file."""
        self._index.close()

    def _line(self, number: int) -> bytes:
        """One event in the strict form, on one line."""
        line = self._index.line(number).strip()
        if self._index.strictness[number - 1] == NOT_STRICT or len(line.translate(None, _CONTROL)) < len(line):
            return encode_json(self._index.event(number))
        return line

    def _source(self) -> dict[str, object]:
        """What the file was made from, so that anyone who has the log can tell whether it is the same."""
        index = self._index
        digest = sha256()
        for start in range(0, index.indexed_bytes, _HASHED_AT_ONCE):
            digest.update(index.read(start, min(_HASHED_AT_ONCE, index.indexed_bytes - start)))
        return {
            "file": "events.jsonl",
            "sha256": digest.hexdigest(),
            "bytes": index.indexed_bytes,
            "events": index.total,
            "damaged_lines": index.damaged_total,
        }


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


_LEVEL = 6
# Shorter strings cost about as much as the number that would stand for them.
_LONG = 64
_MOST_REMEMBERED = 200_000
_BLOCK = 1 << 19

# None of these bytes stands in JSON as it is: control characters in strings are always escaped.
_BACKSLASH = b"\x02"
_QUOTE = b"\x03"
_REFERENCE = b"\x01"
_DIGITS = bytes.maketrans(b"0123456789abcdef", bytes(range(0x10, 0x20)))


def data_block(kind: str, content: bytes, first: int = 0, last: int = 0) -> bytes:
    """One element that holds `content`, of which the page is told what it is and which numbers it covers."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = b64encode(packer.compress(content) + packer.flush())
    return b'<script type="text/plain" data-block="%s" data-first="%d" data-last="%d">%s</script>\n' % (
        kind.encode(),
        first,
        last,
        packed,
    )


class Packer:
    """Takes the lines of a run's events one by one and gives blocks of strings and of events."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}
        self._strings: list[bytes] = []
        self._first_string = 0
        self._lines: list[bytes] = []
        self._first_line = 1
        self._size = 0

    def add(self, line: bytes) -> bytes:
        """Take one event in strict JSON; gives what is ready to be written, mostly nothing."""
        pieces = line.replace(b"\\\\", _BACKSLASH).replace(b'\\"', _QUOTE).split(b'"')
        packed = b'"'.join([piece if len(piece) < _LONG else self._reference(piece) for piece in pieces])
        self._lines.append(packed)
        self._size += len(packed)
        return self.flush() if self._size > _BLOCK else b""

    def flush(self) -> bytes:
        """The blocks of what was taken since the last time: the strings first, then the events that need them."""
        blocks = b""
        if self._strings:
            following = self._first_string + len(self._strings)
            blocks += data_block("strings", b"\n".join(self._strings), self._first_string, following - 1)
            self._first_string, self._strings = following, []
        if self._lines:
            following = self._first_line + len(self._lines)
            blocks += data_block("events", b"\n".join(self._lines), self._first_line, following - 1)
            self._first_line, self._lines = following, []
        self._size = 0
        return blocks

    def _reference(self, string: bytes) -> bytes:
        key = blake2b(string, digest_size=16).digest()
        number = self._known.get(key)
        if number is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()  # a string that comes again after that is stored once more
            number = self._known[key] = self._first_string + len(self._strings)
            self._strings.append(string)
            self._size += len(string)
        return _REFERENCE + (b"%x" % number).translate(_DIGITS)
