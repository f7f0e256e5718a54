"""
Data inside an HTML file: compressed, in letters that mean nothing to HTML, in elements that no browser runs.

Models are sent the same messages again and again, too far apart for a compressor to notice. So every long string is
stored once, in blocks of strings, and an event refers to it by number. What is written here is read in the page by
core/embedded-blocks.js and model/embedded-text.js.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from hashlib import blake2b

__all__ = ["Packer", "data_block"]

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
