"""
Secrets that the name of their column gives away: CSV, tables in text, `INSERT INTO users (…) VALUES (…)`.

Both read the few lines or rows below a name, each once, within the bounds given here.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.redaction.assigned_values import Span

__all__ = ["aligned_below", "cells_below", "values_inserted"]

_LONGEST_LINE = 400
_MOST_ROWS = 200
_HEADING = re.compile(r"[ \"'`*\\]*(?:[A-Za-z0-9_.\-$]+(?: [A-Za-z0-9_.\-$]+)?)?[ \"'`*\\]*\r?", re.ASCII)
_AFTER_HEADING = re.compile(r"(?: [A-Za-z0-9_.\-$]+)?[ \"'`*\\]*[,;|\t\r\nnt]")
_RULER = re.compile(r"[\s|:=+\-]*")
_CELL = re.compile(r"[^\s\"'`*\\](?:[^\"'`\\]*[^\s\"'`*\\])?")


def cells_below(text: str, start: int, end: int) -> Iterator[Span]:
    """What stands in the lines below a heading, in the column of it."""
    if not _AFTER_HEADING.match(text, end):
        return
    newline = "\n" if "\n" in text[max(0, start - _LONGEST_LINE) : end + _LONGEST_LINE] else "\\n"
    first = text.rfind(newline, max(0, start - _LONGEST_LINE), start)
    first = first + len(newline) if first >= 0 else 0
    last = text.find(newline, end, end + _LONGEST_LINE)
    if last < 0 or start - first > _LONGEST_LINE:
        return
    heading = text[first:last]
    sign = next((sign for sign in ("|", "\t", "\\t", ";", ",") if sign in heading), "")
    names = heading.split(sign) if sign else []
    if sum(map(bool, map(str.strip, names))) < 2 or not all(map(_HEADING.fullmatch, names)):
        return
    place, width = text.count(sign, first, start), heading.count(sign)
    for _ in range(_MOST_ROWS):
        first = last + len(newline)
        if first >= len(text):
            return
        last = text.find(newline, first)
        last = last if last >= 0 else len(text)
        line = text[first : min(last, first + _LONGEST_LINE)]
        if _RULER.fullmatch(line):
            continue
        if line.count(sign) != width:
            return
        yield from _cell(text, first, line, sign, place)


_WORDS = re.compile(r"[^\s]+")
_NAME = re.compile(r"[A-Za-z_][\w.\-]*:?")


def aligned_below(text: str, start: int, end: int) -> Iterator[Span]:
    """What stands below a heading in columns that spaces make, as pandas and kubectl print them."""
    first = text.rfind("\n", max(0, start - _LONGEST_LINE), start) + 1
    last = text.find("\n", end, end + _LONGEST_LINE)
    heading = text[first:last] if last >= 0 and start - first <= _LONGEST_LINE else ""
    names = heading.split()
    if len(names) < 2 or not ("  " in heading or heading.startswith(" ")) or not all(map(_NAME.fullmatch, names)):
        return
    left, right = start - first, end - first
    for _ in range(_MOST_ROWS):
        first, last = last + 1, text.find("\n", last + 1)
        line = text[first : min(last if last >= 0 else len(text), first + _LONGEST_LINE)]
        words = list(_WORDS.finditer(line))
        if not words or not -1 <= len(words) - len(names) <= len(names):
            return
        for word in words:
            if word.start() == left or word.end() == right:
                yield first + word.start(), first + word.end()
        if last < 0:
            return


def _cell(text: str, first: int, line: str, sign: str, place: int) -> Iterator[Span]:
    before = sum(len(cell) + len(sign) for cell in islice(line.split(sign), place))
    following = line.find(sign, before)
    if cell := _CELL.search(text, first + before, first + (following if following >= 0 else len(line))):
        yield cell.span()


_VALUES = re.compile(r"[^()]{0,400}\)\s{0,40}values\s{0,40}(?=\()", re.IGNORECASE)
_ROW = re.compile(r"\s{0,40},?\s{0,40}\(((?:'[^']{0,400}'|[^()']){0,400})\)")
_VALUE = re.compile(r"'((?:[^']|'')*)'|[^,'\s][^,']*")


_AFTER_COLUMN = frozenset(',) "`]\n')


def values_inserted(text: str, start: int, end: int) -> Iterator[Span]:
    """What an SQL statement inserts into a column."""
    if text[end : end + 1] not in _AFTER_COLUMN:
        return
    values = _VALUES.match(text, end)
    opening = text.rfind("(", max(0, start - _LONGEST_LINE), start)
    if values is None or opening < 0 or ")" in text[opening:start]:
        return
    place, at = text.count(",", opening, start), values.end()
    for _ in range(_MOST_ROWS):
        row = _ROW.match(text, at)
        if row is None:
            return
        at = row.end()
        found = next(islice(_VALUE.finditer(text, *row.span(1)), place, None), None)
        if found is not None and found[1]:
            yield found.span(1)
