"""
Take ids and clocks out of a result, so that they cannot hide a loop.

A request id, a `call_…` id or the time of day differs on every call and says nothing. Only shapes that are never data
are removed, and ids only while they are few: a page of a hundred different ids is a page of data. Everything works on
bytes: two translated copies of the text turn each shape into one literal search, ten times cheaper than a regular
expression over the whole.
"""

from __future__ import annotations

import re

__all__ = ["VOLATILE_KEYS", "strip_volatile"]

VOLATILE_KEYS = frozenset(
    {
        "call_id",
        "correlation_id",
        "created",
        "created_at",
        "duration_ms",
        "elapsed_ms",
        "idempotency_key",
        "latency_ms",
        "nonce",
        "request_id",
        "response_id",
        "span_id",
        "timestamp",
        "took",
        "took_ms",
        "tool_call_id",
        "tool_use_id",
        "trace_id",
        "ts",
    }
)
"""Keys whose value belongs to the single call and not to what was asked or answered."""

_FEW = 4
"""How many different ids an answer may carry and still be an envelope around the same content."""

_HEX = bytes.maketrans(b"0123456789abcdefABCDEF", b"x" * 22)
_DIGITS = bytes.maketrans(b"0123456789", b"0" * 10)
_KEY_HINTS = (b'_ms"', b"_id", b"timestamp", b"created", b'"ts"', b'"took', b"nonce", b"_key")
_ID_PREFIXES = (b"call_", b"toolu_", b"chatcmpl-", b"resp_", b"req_", b"msg_", b"run-")

_VOLATILE_PAIRS = re.compile(
    rb'"(?:' + b"|".join(sorted(key.encode() for key in VOLATILE_KEYS)) + rb')":\s?(?:"[^"\\]*"|[-+.0-9eE]+|null),?'
)
_CLOCKS = re.compile(
    rb"(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    rb"|(?<!\d)1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?!\d)"
)
_TIMINGS = re.compile(rb"\d+\.\d+ ?(?:ms|s|sec|secs|seconds)\b")
_IDS = re.compile(
    rb"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
    rb"|\b0x[0-9a-fA-F]{6,16}\b"
    rb"|\b(?=[a-f]*[0-9])[0-9a-f]{16,64}\b"
    rb"|\b(?:call|toolu|chatcmpl|resp|req|msg|run)[_-](?=[A-Za-z_-]*[0-9])[0-9A-Za-z_-]{8,}"
)


def strip_volatile(text: bytes) -> bytes:
    """`text` without clocks, timings, the fields of `VOLATILE_KEYS` and, where they are few, ids."""
    if any(hint in text for hint in _KEY_HINTS):
        text = _VOLATILE_PAIRS.sub(b"", text)
    digits = text.translate(_DIGITS)
    if b"00:00:00" in digits or b"0000000000" in digits:
        text = _CLOCKS.sub(b"<clock>", text)
    if b"0s" in digits or b"0 s" in digits or b"0ms" in digits or b"0 ms" in digits:
        text = _TIMINGS.sub(b"<timing>", text)
    if _may_hold_ids(text) and len(set(_IDS.findall(text))) <= _FEW:
        text = _IDS.sub(b"<id>", text)
    return text


def _may_hold_ids(text: bytes) -> bool:
    shape = text.translate(_HEX)
    if b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" in shape or b"xxxxxxxxxxxxxxxx" in shape:
        return True
    return (b"xxxxxxx" in shape and b"0x" in text) or any(prefix in text for prefix in _ID_PREFIXES)
