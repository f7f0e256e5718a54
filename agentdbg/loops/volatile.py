"""
Take ids and clocks out of a result, so that they cannot hide a loop.

A request id, a `call_…` id or the time of day differs on every call and says nothing. Only shapes that are never data
are removed, and ids only while they are few: a page of a hundred different ids is a page of data.

Looking for the shapes themselves would mean a regular expression at every byte. So each is first looked for by a mark
that C finds: a byte that few texts have, or a long run of digits or of the bytes that ids are made of. Only there is
the text looked at closely.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from agentdbg.encoding import decode_json, encode_json
from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["VOLATILE_KEYS", "strip_volatile"]

VOLATILE_KEYS = frozenset(
    {
        *("call_id", "correlation_id", "created", "created_at", "duration_ms", "elapsed_ms", "idempotency_key"),
        *("latency_ms", "nonce", "request_id", "response_id", "span_id", "timestamp", "took", "took_ms"),
        *("tool_call_id", "tool_use_id", "trace_id", "ts"),
    }
)
"""Keys whose value belongs to the single call and not to what came back."""

_FEW = 4
"""How many different ids an answer may carry and still be an envelope around the same content."""
_MOST_PLACES = 64
_TAKEN_OUT = b"<>"
"""What stands where something was."""

_DIGITS = bytes(120 if byte in b"0123456789" else 32 for byte in range(256))
_TOKENS = bytes(120 if (chr(byte).isalnum() and byte < 128) or byte in b"_-" else 32 for byte in range(256))
_EPOCH_DIGITS, _ID_BYTES = 10, 16
_REST_OF_TIME = re.compile(rb"(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_DATE = re.compile(rb"\d{4}-\d\d-\d\d[T ]")
_EPOCH = re.compile(rb"1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?!\d)")
_ID = re.compile(
    rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    rb"|(?=[a-f]*[0-9])[0-9a-f]{16,64}"
    rb"|(?:call|toolu|chatcmpl|resp|req|msg|run)[_-](?=[A-Za-z_-]*[0-9])[0-9A-Za-z_-]{8,}"
)
# These begin with one literal byte, which is what makes them fast; hence the looks backwards.
_COLONS = re.compile(rb":(?<=\d\d:)\d\d:\d\d")
_FRACTION_OF_TIME = re.compile(rb"\.\d+ ?(?:ms|s|sec|secs|seconds)\b")
_ADDRESS = re.compile(rb"0x(?<= at 0x)[0-9a-fA-F]{6,16}")


def strip_volatile(text: bytes) -> bytes:
    """`text` without clocks, timings, the fields of `VOLATILE_KEYS` and, where they are few, ids."""
    if text.startswith(b"{"):
        text = _without_keys(text)
    spans = [*_clocks(text), *_epochs(text), *_ids(text)]
    return _without(text, spans) if spans else text


def _without_keys(text: bytes) -> bytes:
    try:
        value = decode_json(text)
    except ValueError as error:  # cut short, or only looks like JSON
        pass_on(error)
        return text
    if VOLATILE_KEYS.isdisjoint(value):
        return text
    return encode_json({key: item for key, item in value.items() if key not in VOLATILE_KEYS})


def _clocks(text: bytes) -> Iterator[tuple[int, int]]:
    """Times of day, with the date before them, timings such as `0.31s`, and addresses in memory."""
    if b":" in text:
        yield from _times_of_day(text)
    if b" at 0x" in text:
        yield from (match.span() for match in islice(_ADDRESS.finditer(text), _MOST_PLACES))
    if b"." in text:
        for match in _FRACTION_OF_TIME.finditer(text):
            yield len(text[: match.start()].rstrip(b"0123456789")), match.end()


def _times_of_day(text: bytes) -> Iterator[tuple[int, int]]:
    # The search ends with the last such byte, which spares most texts a walk through the rest.
    past, end = 0, text.rfind(b":") + 3
    for _ in range(_MOST_PLACES):
        found = _COLONS.search(text, past, end)
        if found is None:
            return
        begin, rest = found.start() - 2, _REST_OF_TIME.match(text, found.end())
        past = rest.end() if rest is not None else found.end()
        yield begin - 11 if begin >= 11 and _DATE.match(text, begin - 11) else begin, past
        past += 2


def _epochs(text: bytes) -> Iterator[tuple[int, int]]:
    """Unix times, in seconds or milliseconds."""
    for begin, _ in islice(_runs(text, _DIGITS, _EPOCH_DIGITS), _MOST_PLACES):
        match = _EPOCH.match(text, begin)
        if match is not None:
            yield match.span()


def _ids(text: bytes) -> list[tuple[int, int]]:
    """Where ids stand; nowhere when there are so many that they are what the text is about."""
    spans: list[tuple[int, int]] = []
    different: set[bytes] = set()
    for begin, end in _runs(text, _TOKENS, _ID_BYTES):
        if _ID.fullmatch(text, begin, end):
            different.add(text[begin:end])
            spans.append((begin, end))
            if len(different) > _FEW or len(spans) > _MOST_PLACES:
                break
    return [] if len(different) > _FEW else spans


def _runs(text: bytes, table: bytes, shortest: int) -> Iterator[tuple[int, int]]:
    """The whole runs of the bytes that a table marks, from some length on."""
    marks, mark = text.translate(table), b"x" * shortest
    place = marks.find(mark)
    while place >= 0:
        end = marks.find(b" ", place)
        end = len(marks) if end < 0 else end
        yield place, end
        place = marks.find(mark, end)


def _without(text: bytes, spans: list[tuple[int, int]]) -> bytes:
    kept = []
    position = 0
    for begin, end in sorted(spans):
        if begin >= position:
            kept.append(text[position:begin])
            position = end
    kept.append(text[position:])
    return _TAKEN_OUT.join(kept)
