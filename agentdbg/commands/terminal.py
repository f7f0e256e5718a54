"""
What reaches the terminal: cleaned text, colours where a person looks, aligned tables, progress for what takes long.

Everything printed goes through `clean`, so no name or message recorded by a program can move the cursor, change the
title or hide text. In a pipe there are no colours and nothing is cut.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
import unicodedata
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from agentdbg.safe_text import JOINERS, UNSAFE, clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Column",
    "Progress",
    "Styled",
    "Terminal",
    "cell_width",
    "clean",
    "fit",
    "problem",
    "table_width",
    "wrapped",
]

_WORD = re.compile("( *)([^ ]*)")
_CODES = {
    "strong": "1",
    "muted": "2",
    "error": "31",
    "ok": "32",
    "warn": "33",
    "accent": "34",
    "llm": "35",
    "tool": "36",
}


class Styled(NamedTuple):
    """A piece of text and the name of a style; the style is dropped where nobody sees colours."""

    text: str
    style: str = ""


def cell_width(text: str) -> int:
    """How many columns a cleaned text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if character in JOINERS or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int) -> str:
    """The text within so many columns; a cut ends in `…`."""
    if cell_width(text) <= width:
        return text
    kept, used = [], 0
    for character in text:
        used += _columns(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…" if width > 0 else ""


class Column(NamedTuple):
    """
    A column of a table. `least` is how narrow it may get; 0 keeps it whole.

    Where there is too little room the columns with the largest `optional` go first, together: those of one number say
    one thing. One with 0 never goes.
    """

    title: str
    right: bool = False
    least: int = 0
    optional: int = 0


class Terminal:
    """Standard output as a person or a program sees it."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stdout
        self.is_terminal = _is_terminal(self._stream)
        self.has_colour = _wants_colour(self.is_terminal)
        self.width = _width(self._stream) if self.is_terminal else None

    def line(self, *pieces: str | Styled, indent: int = 0, cut: bool = True, right: str = "") -> None:
        """One line; on a terminal it is cut to the width unless `cut` is off, and `right` stands at the margin."""
        right = clean(right)
        room = self.width - indent if cut and self.width is not None else None
        if room is not None and right:
            room = max(room - cell_width(right) - 2, 0)
        written = [" " * indent]
        for piece in pieces:
            text, style = (piece, "") if isinstance(piece, str) else piece
            text = clean(text)
            if room is not None:
                text = fit(text, room)
                room -= cell_width(text)
            written.append(self.paint(text, style))
        if right:
            written.append(" " * ((room or 0) + 2) + self.paint(right, "muted"))
        self._stream.write("".join(written).rstrip(" ") + "\n")

    def sentence(self, *pieces: str | Styled, indent: int = 0, hang: int = 0) -> None:
        """Text that is read whole: on a terminal broken between words, and all but its first line indented further."""
        if self.width is None:
            self.line(*pieces, indent=indent, cut=False)
            return
        line: list[Styled] = []
        used = indent
        for before, word in _words(pieces):
            spaces, width = before, sum(cell_width(part.text) for part in word)
            if line and used + len(spaces) + width > self.width:
                self.line(*line, indent=indent, cut=False)
                line, used, spaces = [], indent, " " * hang
            line += [Styled(spaces), *word]
            used += len(spaces) + width
        self.line(*line, indent=indent, cut=False)

    def block(self, text: str, indent: int = 0, style: str = "") -> None:
        """Text of several lines, each kept whole."""
        for line in clean(text, keep_lines=True).split("\n"):
            self._stream.write(" " * indent + self.paint(line, style) + "\n")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str | Styled]]) -> None:
        """
        Aligned columns. On a terminal optional ones give way first, then the flexible ones get narrower; where even
        that is too wide, each row becomes a sentence.
        """
        cells = [[_cleaned(cell) for cell in row] for row in rows]
        shown = list(range(len(columns)))
        widths = _widths(columns, cells)
        if self.width is not None:
            shown = _fit_columns(columns, widths, self.width)
            if _width_of(widths, shown) > self.width:
                self._print_rows_as_sentences(cells, shown)
                return
        header = [Styled(columns[at].title, "muted") for at in range(len(columns))]
        for row in (header, *cells):
            self._stream.write(self._table_line(columns, widths, shown, row))

    def _print_rows_as_sentences(self, rows: Iterable[Sequence[Styled]], shown: list[int]) -> None:
        for row in rows:
            cells = [row[at] for at in shown if row[at].text.strip()]
            self.sentence(*(Styled(f"{text}  ", style) for text, style in cells), hang=4)

    def _table_line(self, columns: Sequence[Column], widths: list[int], shown: list[int], row: Sequence[Styled]) -> str:
        parts = []
        for at in shown:
            text = fit(row[at].text, widths[at])
            gap = " " * (widths[at] - cell_width(text))
            painted = self.paint(text, row[at].style)
            parts.append(gap + painted if columns[at].right else painted + gap)
        return "  ".join(parts).rstrip() + "\n"

    def json(self, value: Any) -> None:
        """One JSON document and nothing else."""
        from agentdbg.encoding import encode_json  # noqa: PLC0415 -- only where JSON is asked for

        self.bytes(encode_json(value) + b"\n")

    def bytes(self, content: bytes) -> None:
        """Bytes of whole characters, in order with what was printed before; as they are, unless a person looks."""
        self._stream.flush()
        if self.is_terminal:
            content = UNSAFE.sub(_as_json_escape, content.decode("utf-8", "replace")).encode()
        buffer = getattr(self._stream, "buffer", None)
        if buffer is None:
            self._stream.write(content.decode())
        else:
            buffer.write(content)

    def flush(self) -> None:
        self._stream.flush()

    def paint(self, text: str, style: str) -> str:
        """Text that was cleaned before, in a colour if somebody sees it."""
        code = _CODES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if code and text and self.has_colour else text


def _words(pieces: Iterable[str | Styled]) -> list[tuple[str, list[Styled]]]:
    """Each word with the spaces before it; one that changes its style on the way is still one."""
    words: list[tuple[str, list[Styled]]] = []
    spaces = ""
    for piece in pieces:
        text, style = _cleaned(piece)
        for before, part in _WORD.findall(text):
            spaces += before
            if part and (spaces or not words):
                words.append((spaces, [Styled(part, style)]))
            elif part:
                words[-1][1].append(Styled(part, style))
            spaces = "" if part else spaces
    return words


def _as_json_escape(found: re.Match[str]) -> str:
    """What would act on the terminal, written so that JSON still means the same."""
    if found[0] in "\n\t":
        return found[0]
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def table_width(columns: Sequence[Column], rows: Iterable[Sequence[str | Styled]]) -> int:
    """How many columns of the terminal a table takes at the least, when none of its own columns is left out."""
    widths = _widths(columns, [[_cleaned(cell) for cell in row] for row in rows])
    narrowest = [min(column.least or width, width) for column, width in zip(columns, widths, strict=True)]
    return _width_of(narrowest, range(len(columns)))


def _cleaned(cell: str | Styled) -> Styled:
    return Styled(clean(cell)) if isinstance(cell, str) else Styled(clean(cell.text), cell.style)


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[Styled]]) -> list[int]:
    return [
        max([cell_width(column.title), *(cell_width(row[at].text) for row in cells)])
        for at, column in enumerate(columns)
    ]


def _fit_columns(columns: Sequence[Column], widths: list[int], room: int) -> list[int]:
    """Which columns are shown; the widths of flexible ones are made smaller in place."""
    narrowest = [min(column.least or width, width) for column, width in zip(columns, widths, strict=True)]
    shown = list(range(len(columns)))
    while _width_of(narrowest, shown) > room:
        least_wanted = max(columns[at].optional for at in shown)
        if not least_wanted:
            break
        shown = [at for at in shown if columns[at].optional != least_wanted]
    widths[:] = [max(least, min(width, room)) for least, width in zip(narrowest, widths, strict=True)]
    # The widest gives way until it is as narrow as the next, so that none is cut to a stump beside a long one.
    while _width_of(widths, shown) > room and (flexible := [at for at in shown if widths[at] > narrowest[at]]):
        widths[max(flexible, key=widths.__getitem__)] -= 1
    return shown


def _width_of(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[at] for at in shown) + 2 * (len(shown) - 1)


def problem(message: str) -> None:
    """Say on stderr what happened and what to do."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # nobody is listening
            Terminal(sys.stderr).sentence(Styled("agentdbg: ", "error"), message)


class Progress:
    """A line on stderr that says how far something is, once it has taken a second and if a person watches."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._shown_at = 0.0
        self._is_on = _is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"  # which cannot rewrite a line

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown_at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def at(self, share: float) -> None:
        """Say how much is done, from 0 to 1."""
        now = time.monotonic()
        if self._is_on and now - self._began > 1 and now - self._shown_at > 0.1:
            self._shown_at = now
            sys.stderr.write(f"\r{clean(self._what)} {min(share, 1):.0%}\x1b[K")
            sys.stderr.flush()


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _wants_colour(is_terminal: bool) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"


def _width(stream: Any) -> int:
    try:
        given = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        given = 0
    if given <= 0:
        try:
            given = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError, AttributeError):
            given = 80
    return max(given, 20)


def wrapped(text: str, width: int | None) -> list[str]:
    """The text in lines of at most that many cells, broken between words; one line where there is no width."""
    if width is None:
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        if line and cell_width(line) + 1 + cell_width(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
