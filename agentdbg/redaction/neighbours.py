"""
Secrets in lists that only their neighbours give away: cells of a table, words of a command.

A query's answer comes as the names of its columns and rows without names, and a command as a list of its words. What a
name or an option says of another item of such a list is looked up here; the walk takes it away.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.redaction.kept import speaks_of_grammar, stays
from agentdbg.redaction.keys import COUNTER, SAFE, SECRET, USERS_OWN, is_told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentdbg.redaction.keys import KeyJudge

__all__ = ["ROWS", "Column", "columns_among", "columns_of", "row_without_secrets", "words_of_line"]

Column = tuple[int, str]
"""What the name of a column says of what stands in it, and the name."""
ROWS = frozenset({list, tuple})
_LONGEST_NAME = 200
_MOST_COLUMNS = 200
_MOST_WORDS = 64
_LONGEST_LINE = 2000
_OPTION = re.compile(r"--?[A-Za-z]")


def columns_among(values: Iterable[Any], judge: KeyJudge) -> tuple[Column, ...]:
    """The columns whose names one of the values lists and whose rows another one holds; nothing when none is secret."""
    lists = [cells for value in values if (cells := _cells(value))]
    if len(lists) < 2:
        return ()
    widths = {len(cells) for rows in lists if (cells := _cells(rows[0])) is not None}
    for names in lists:
        if len(names) in widths and (columns := _named(names, judge)):
            return columns
    return ()


def columns_of(rows: Sequence[Any], judge: KeyJudge) -> tuple[Column, ...]:
    """The columns of a table whose first row has their names; nothing when it is none, or none is secret."""
    if len(rows) < 2:
        return ()
    first, second = _cells(rows[0]), _cells(rows[1])
    if first is None or second is None or len(first) != len(second):
        return ()
    columns = _named(first, judge)
    # The first of several pairs has a name and a value.
    return columns if columns and (len(first) > 2 or columns[0][0] == SAFE) else ()


def _cells(row: Any) -> Sequence[Any] | None:
    """The values of a row, also as a tape writes it; None when it is none."""
    if type(row) is dict and row.get("$t") == "tuple":
        row = row.get("v")
    return row if type(row) in ROWS else None


def _named(names: Sequence[Any], judge: KeyJudge) -> tuple[Column, ...]:
    if not 2 <= len(names) <= _MOST_COLUMNS or speaks_of_grammar(names):
        return ()
    columns = []
    for name in names:
        called = name.get("name", name.get("field")) if type(name) is dict else name
        if type(called) is not str or not called or len(called) > _LONGEST_NAME or is_told(called):
            return ()
        columns.append((judge.judge(called), called))
    return tuple(columns) if any(verdict not in {SAFE, COUNTER} for verdict, _ in columns) else ()


def row_without_secrets(row: Any, columns: tuple[Column, ...], judge: KeyJudge, mark: Callable[[Any], str]) -> Any:
    """A row without what stands in the columns of secrets; the same object when it is none."""
    cells = _cells(row)
    if cells is None or len(cells) != len(columns):
        return row
    plain = [
        mark(cell) if _is_hidden(cell, verdict, name, judge) else cell
        for cell, (verdict, name) in zip(cells, columns, strict=True)
    ]
    return {**row, "v": plain} if type(row) is dict else plain


def _is_hidden(cell: Any, verdict: int, name: str, judge: KeyJudge) -> bool:
    if verdict in {SAFE, COUNTER} or cell == name:  # an example of the names
        return False
    if verdict in {SECRET, USERS_OWN}:
        return verdict == USERS_OWN or not stays(name, cell)
    return type(cell) is str and judge.hides(name, cell)


def words_of_line(items: Sequence[Any], clean: Callable[[str], str]) -> Sequence[Any]:
    """The words of a command without what is secret in the line they make, as in `["mysql", "-p…"]`; or nothing."""
    if not 2 <= len(items) <= _MOST_WORDS or not any(type(item) is str and _OPTION.match(item) for item in items):
        return ()
    if not all(type(item) is str for item in items) or sum(map(len, items)) > _LONGEST_LINE:
        return ()
    line = " ".join(items)
    pieces = clean(line).split(" ")
    if len(pieces) != line.count(" ") + 1:  # something with spaces in it went; each word is looked at by itself as well
        return ()
    words, at = [], 0
    for item in items:
        width = item.count(" ") + 1
        words.append(" ".join(pieces[at : at + width]))
        at += width
    return words
