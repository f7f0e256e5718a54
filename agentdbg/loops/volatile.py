"""
Take ids and clocks out of a result, so that they cannot hide a loop.

A request id, a `call_…` id or the time of day differs on every call and says nothing. Only shapes that are never data
are removed, and ids only while they are few: a page of a hundred different ids is a page of data.

Looking for the shapes themselves would mean a regular expression at every byte. So each is first looked for by a mark
that C finds: a byte that few texts have, or, for long runs of digits and hex, hits in a row in a sample of every third
byte. Only around a mark is the text looked at closely.
"""

from __future__ import annotations

import re
from itertools import islice

from agentdbg.encoding import decode_json, encode_json
from agentdbg.faults import pass_on
from agentdbg.loops.signatures import VOLATILE_KEYS

__all__ = ["VOLATILE_KEYS", "is_lasting", "lasting_beginning", "strip_volatile"]

_FEW = 4
"""How many different ids an answer may carry and still be an envelope around the same content."""
_MOST_PLACES = 64
_SHORT = 256

_STRIDE = 3
_HEX = bytes(120 if byte in b"0123456789abcdefABCDEF-" else 32 for byte in range(256))
_LONG_NUMBER = b"x" * 10
_TEN_DIGITS, _HEX_ID = b"x" * (10 // _STRIDE), b"x" * (16 // _STRIDE)
"""What runs of ten and of sixteen bytes come to, at least, in the sample."""

_TOKEN_BYTES = bytes(byte for byte in range(128) if chr(byte).isalnum() or byte in b"_-")
_TOKENS = bytes(120 if byte in _TOKEN_BYTES else 32 for byte in range(256))
_LONG_TOKEN = b"x" * 16
_REST_OF_TOKEN = re.compile(rb"[0-9A-Za-z_-]*")

_REST_OF_TIME = re.compile(rb"(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_DATE = re.compile(rb"\d{4}-\d\d-\d\d[T ]")
_EPOCH = re.compile(rb"(?<!\d)1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?!\d)")
_FRACTION_OF_TIME = re.compile(rb"\.\d+ ?(?:ms|s|sec|secs|seconds)\b")
_BEFORE_ADDRESS = b" at 0x"
_ADDRESS = re.compile(rb"0x(?<= at 0x)[0-9a-fA-F]{6,16}")
_MARKS = b":_-"
_TAKEN_OUT = b"<>"
"""What stands where something was."""
_LONGEST_SHORT_WORD = 9
_HARMLESS = bytes(byte for byte in range(128) if chr(byte).isalnum()) + b" ,;!?'\"()*#`/"
"""In a short word of these bytes nothing can be volatile, but for a memory address."""
_PREFIXES = (b"call", b"toolu", b"chatcmpl", b"resp", b"req", b"msg", b"run")
_ID = re.compile(
    rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    rb"|(?=[a-f]*[0-9])[0-9a-f]{16,64}"
    rb"|(?:%b)[_-](?=[A-Za-z_-]*[0-9])[0-9A-Za-z_-]{8,}" % b"|".join(_PREFIXES)
)

# Marks begin with one literal byte, which is what makes them fast; hence the looks backwards.
_COLONS = re.compile(rb":(?<=\d\d:)\d\d:\d\d")
_EPOCH_BEGINS = re.compile(rb"1[5-9]\d{8}")
# Most hyphens have the wrong letter before them, which is quicker to see than that no prefix is there.
_PREFIXED = [
    (
        separator,
        re.compile(
            rb"%b(?<=[%b]%b)(?:%b)"
            % (
                separator,
                b"".join(word[-1:] for word in _PREFIXES),
                separator,
                b"|".join(b"(?<=%b%b)" % (word, separator) for word in _PREFIXES),
            )
        ),
    )
    for separator in (b"_", b"-")
]


def strip_volatile(text: bytes, has_keys: bool = True) -> bytes:
    """
    `text` without clocks, timings, the fields of `VOLATILE_KEYS` and, where they are few, ids.

    `has_keys=False` says that there are no such fields, which saves reading the text.
    """
    if has_keys and text.startswith(b"{"):
        text = _without_keys(text)
    if len(text) <= _SHORT and _is_unmarked(text):
        return text
    marks = text[::_STRIDE].translate(_HEX)
    runs = _stretch(marks)
    spans = _clocks(text, runs) + _ids(text, marks, runs)
    return _without(text, spans) if spans else text


def is_lasting(text: bytes) -> bool:
    """Whether a text is surely equal to no other text, whatever ids and clocks are taken out of that."""
    return text[:1] != b"{" and text.find(_TAKEN_OUT) < 0 and _is_unmarked(text)


def lasting_beginning(text: bytes) -> bytes:
    """
    The first three words of `text` if nothing in them can be volatile; else empty.

    Texts that differ here differ in more than ids and clocks, which is known without looking for those.
    """
    *beginning, _ = text[: 3 * _LONGEST_SHORT_WORD + 3].split(b" ", 3)
    if len(beginning) < 3 or not all(beginning) or len(max(beginning, key=len)) > _LONGEST_SHORT_WORD:
        return b""
    words = b" ".join(beginning)
    # What a tool printed as an address may be short, and stands behind a space.
    return b"" if words.translate(None, _HARMLESS) or words.find(b" 0x") >= 0 else words


def _is_unmarked(text: bytes) -> bool:
    """Whether a text has none of the marks, without one of which nothing is volatile."""
    if text.find(b".") >= 0 or text.find(_BEFORE_ADDRESS) >= 0 or len(text.translate(None, _MARKS)) < len(text):
        return False
    return text.translate(_HEX).find(_LONG_NUMBER) < 0


def _without_keys(text: bytes) -> bytes:
    try:
        value = decode_json(text)
    except ValueError as error:  # cut short, or only looks like JSON
        pass_on(error)
        return text
    if VOLATILE_KEYS.isdisjoint(value):
        return text
    return encode_json({key: item for key, item in value.items() if key not in VOLATILE_KEYS})


def _clocks(text: bytes, runs: tuple[int, int] | None) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    # The search ends with the last such byte, which spares most texts a walk through the rest.
    last_colon = text.rfind(b":")
    if last_colon > 0:
        spans = _times_of_day(text, last_colon + 3)
    if runs is not None:
        spans += _epochs(text, *_place(*runs))
    last_x = text.rfind(b"x")
    if last_x > 0 and text.find(_BEFORE_ADDRESS, 0, last_x + 1) >= 0:
        spans += [match.span() for match in islice(_ADDRESS.finditer(text), _MOST_PLACES)]
    if text.find(b".") >= 0:
        for match in _FRACTION_OF_TIME.finditer(text):
            spans.append((len(text[: match.start()].rstrip(b"0123456789")), match.end()))
    return spans


def _times_of_day(text: bytes, end: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    found = _COLONS.search(text, 0, end)
    while found is not None and len(spans) < _MOST_PLACES:
        begin, past = found.start() - 2, found.end()
        rest = _REST_OF_TIME.match(text, past)
        past = rest.end() if rest is not None else past
        spans.append((begin - 11 if begin >= 11 and _DATE.match(text, begin - 11) else begin, past))
        found = _COLONS.search(text, past + 2, end) if past + 2 < end else None
    return spans


def _epochs(text: bytes, begin: int, end: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    found = _EPOCH_BEGINS.search(text, begin, end)
    while found is not None and len(spans) < _MOST_PLACES:
        match = _EPOCH.match(text, found.start())
        if match is not None:
            spans.append(match.span())
        found = _EPOCH_BEGINS.search(text, (match or found).end(), end)
    return spans


def _stretch(marks: bytes) -> tuple[int, int] | None:
    """Where all runs of ten digits or hex digits and more stand in the sample; None for nowhere."""
    first = marks.find(_TEN_DIGITS)
    if first < 0:
        return None
    return first, marks.rfind(_TEN_DIGITS) + len(_TEN_DIGITS)


def _place(first: int, end: int) -> tuple[int, int]:
    """Where in the text a stretch of its sample stands."""
    # What begins before its first sampled byte begins less than a stride before it.
    return max(first - 1, 0) * _STRIDE, end * _STRIDE


def _ids(text: bytes, marks: bytes, runs: tuple[int, int] | None) -> list[tuple[int, int]]:
    offset, stop = _with_ids(text, marks, runs)
    if not stop:
        return []
    tokens = text[offset:stop].translate(_TOKENS)
    spans: list[tuple[int, int]] = []
    different: set[bytes] = set()
    place = tokens.find(_LONG_TOKEN)
    while place >= 0 and len(spans) <= _MOST_PLACES:
        begin, end = tokens.rfind(b" ", 0, place) + 1, tokens.find(b" ", place)
        if end < 0:
            end = len(tokens)
        token = text[offset + begin : offset + end]
        if _ID.fullmatch(token):
            different.add(token)
            if len(different) > _FEW:
                return []
            spans.append((offset + begin, offset + end))
        place = tokens.find(_LONG_TOKEN, end)
    return spans


def _with_ids(text: bytes, marks: bytes, runs: tuple[int, int] | None) -> tuple[int, int]:
    """The stretch of whole tokens outside of which there are no ids; (0, 0) when there are none at all."""
    begin, end = len(text), 0
    if runs is not None:
        first_run, last_run = runs
        first = marks.find(_HEX_ID, first_run, last_run)
        if first >= 0:
            begin, end = _place(first, marks.rfind(_HEX_ID, first, last_run) + len(_HEX_ID))
    for separator, prefixed in _PREFIXED:
        last = text.rfind(separator)
        match = prefixed.search(text, 0, last + 1) if last > 0 else None
        while match is not None:
            begin, end = min(begin, match.start()), max(end, match.end())
            match = prefixed.search(text, match.end(), last + 1)
    if not end:
        return 0, 0
    rest = _REST_OF_TOKEN.match(text, end)
    return len(text[:begin].rstrip(_TOKEN_BYTES)), rest.end() if rest is not None else end


def _without(text: bytes, spans: list[tuple[int, int]]) -> bytes:
    kept = []
    position = 0
    for begin, end in sorted(spans):
        if begin >= position:
            kept.append(text[position:begin])
            position = end
    kept.append(text[position:])
    return _TAKEN_OUT.join(kept)
