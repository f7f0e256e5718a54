"""
How many things a body would become, found out before it is read.

A body of two-byte messages becomes fifty times as large in memory, and reading it is too late to find that out. Small
bodies cannot do harm and are not looked at; the messages of large ones are counted on the wire, as far as the limit.
"""

from __future__ import annotations

__all__ = ["Malformed", "has_too_many_messages", "has_too_many_values"]

_SMALL = 1 << 20
_MOST_MESSAGES = 2_000_000
"""Spans, attributes, their values and what else repeats; a collector sends 8,192 spans at a time."""
_DEEPEST = 100
_MOST_OBJECTS, _MOST_KEYS = 2_000_000, 4_000_000
"""In JSON. The messages of models are JSON in JSON, and what stands in texts cannot be told apart this quickly."""

_Shape = dict[int, "_Shape"]
_VALUE: _Shape = {}
_PAIR: _Shape = {2: _VALUE}
_VALUE.update({5: {1: _VALUE}, 6: {1: _PAIR}})
_SPAN: _Shape = {9: _PAIR, 11: {3: _PAIR}, 13: {4: _PAIR}, 15: {}}
_TRACES: _Shape = {1: {1: {1: _PAIR}, 2: {1: {3: _PAIR}, 2: _SPAN}}}
"""Which fields of a request hold messages, by number, and which fields those hold."""

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


class Malformed(ValueError):
    """No protobuf."""


def has_too_many_values(body: bytes) -> bool:
    """Whether a body of JSON would become too many objects, or objects with too many keys."""
    if len(body) <= _SMALL:
        return False
    return body.count(b"{") + body.count(b"[") > _MOST_OBJECTS or body.count(b":") > _MOST_KEYS


def has_too_many_messages(body: bytes) -> bool:
    """Whether a body of protobuf holds more messages than any honest request of its size. Raises Malformed."""
    if len(body) <= _SMALL:
        return False
    found, at, end, shape = 0, 0, len(body), _TRACES
    around: list[tuple[int, _Shape]] = []
    try:
        while at < end or around:
            if at >= end:
                end, shape = around.pop()
                continue
            tag, at = _read_varint(body, at)
            kind = tag & 7
            if kind == _BYTES:
                size, at = _read_varint(body, at)
                inside = shape.get(tag >> 3)
                if inside is None:
                    at += size
                    continue
                found += 1
                if found > _MOST_MESSAGES:
                    return True
                if len(around) > _DEEPEST or at + size > end:
                    raise Malformed("a message is nested too deeply, or longer than what it is in")
                around.append((end, shape))
                end, shape = at + size, inside
            elif kind == _VARINT:
                _, at = _read_varint(body, at)
            elif kind in (_FIXED_64, _FIXED_32):
                at += 8 if kind == _FIXED_64 else 4
            else:
                raise Malformed(f"a field has the kind {kind}")
    except IndexError:
        raise Malformed("it ends in the middle of a field") from None
    return False


def _read_varint(body: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends."""
    byte = body[at]
    if byte < 0x80:
        return byte, at + 1
    number = byte & 0x7F
    for shift in range(7, 70, 7):
        at += 1
        byte = body[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at + 1
    raise Malformed("a number does not end")
