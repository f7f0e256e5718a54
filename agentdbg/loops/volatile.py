"""
Take ids and clocks out of a result, so that they cannot hide a loop.

A request id, a `call_…` id or the time of day differs on every call and says nothing. Only shapes that are never data
are removed, and ids only while they are few: a page of a hundred different ids is a page of data. Everything works on
bytes: two translated copies of the text turn each shape into one literal search, ten times cheaper than a regular
expression over the whole.
"""

from __future__ import annotations

import re

from agentdbg.encoding import decode_json, encode_json
from agentdbg.loops.signatures import VOLATILE_KEYS

__all__ = ["VOLATILE_KEYS", "strip_volatile"]

_FEW = 4
"""How many different ids an answer may carry and still be an envelope around the same content."""
_MOST_PLACES = 64

# Translated copies keep one kind of character and blank the rest, so that a shape is one literal, found in C.
_TOKENS = bytes(120 if (chr(byte).isalnum() and byte < 128) or byte in b"_-" else 32 for byte in range(256))
_NUMBERS = bytes(48 if 48 <= byte <= 57 else byte if byte in b":." else 32 for byte in range(256))

_TIME_OF_DAY = re.compile(rb"(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_EPOCH = re.compile(rb"(?<!\d)1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?!\d)")
_FRACTION_OF_TIME = re.compile(rb"\.\d+ ?(?:ms|s|sec|secs|seconds)\b")
_ADDRESS = re.compile(rb"0x[0-9a-fA-F]{6,16}")
_ID = re.compile(
    rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    rb"|(?=[a-f]*[0-9])[0-9a-f]{16,64}"
    rb"|(?:call|toolu|chatcmpl|resp|req|msg|run)[_-](?=[A-Za-z_-]*[0-9])[0-9A-Za-z_-]{8,}"
)


def strip_volatile(text: bytes) -> bytes:
    """`text` without clocks, timings, the fields of `VOLATILE_KEYS` and, where they are few, ids."""
    if text.startswith(b"{"):
        text = _without_keys(text)
    spans = _clocks(text) + _ids(text)
    return _without(text, spans) if spans else text


def _without_keys(text: bytes) -> bytes:
    try:
        value = decode_json(text)
    except ValueError:  # cut short, or only looks like JSON
        return text
    if VOLATILE_KEYS.isdisjoint(value):
        return text
    return encode_json({key: item for key, item in value.items() if key not in VOLATILE_KEYS})


def _clocks(text: bytes) -> list[tuple[int, int]]:
    numbers = text.translate(_NUMBERS)
    spans = _near(numbers, b"00:00:00", text, _TIME_OF_DAY, 11) if b":" in text else []
    spans += _near(numbers, b"0000000000", text, _EPOCH, 0)
    if b" at 0x" in text:
        spans += _near(text, b" at 0x", text, _ADDRESS, 0)
    if b"." in text:
        for match in _FRACTION_OF_TIME.finditer(text):
            whole = match.start() - len(numbers[: match.start()]) + len(numbers[: match.start()].rstrip(b"0"))
            spans.append((whole, match.end()))
    return spans


def _near(marks: bytes, shape: bytes, text: bytes, pattern: re.Pattern[bytes], before: int) -> list[tuple[int, int]]:
    """Where `pattern` matches around the places at which `shape` stands in `marks`."""
    spans: list[tuple[int, int]] = []
    place = marks.find(shape)
    while place >= 0 and len(spans) < _MOST_PLACES:
        end = place + len(shape)
        match = pattern.search(text, max(place - before, 0), end + 16)
        if match is not None:
            spans.append(match.span())
            end = max(end, match.end())
        place = marks.find(shape, end)
    return spans


def _ids(text: bytes) -> list[tuple[int, int]]:
    tokens = text.translate(_TOKENS)
    spans: list[tuple[int, int]] = []
    different: set[bytes] = set()
    place = tokens.find(b"x" * 16)
    while place >= 0:
        begin, end = tokens.rfind(b" ", 0, place) + 1, tokens.find(b" ", place)
        token = text[begin:] if end < 0 else text[begin:end]
        if _ID.fullmatch(token):
            different.add(token)
            if len(different) > _FEW:
                return []
            spans.append((begin, begin + len(token)))
        if end < 0 or len(spans) > _MOST_PLACES:
            break
        place = tokens.find(b"x" * 16, end)
    return spans


def _without(text: bytes, spans: list[tuple[int, int]]) -> bytes:
    kept = []
    position = 0
    for begin, end in sorted(spans):
        if begin >= position:
            kept.append(text[position:begin])
            position = end
    kept.append(text[position:])
    return b"<>".join(kept)
