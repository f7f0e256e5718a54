"""`agentdbg sql`: ask every stored run at once."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import math
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.commands.options import Argument, Option, chosen_format
from agentdbg.commands.terminal import Column, Progress, Styled, Terminal, cell_width, problem, table_width
from agentdbg.encoding import RawJson, decode_json, encode_json
from agentdbg.exceptions import UsageError
from agentdbg.index.run_index import RunIndex
from agentdbg.interop.tables.database import VIEWS, ask
from agentdbg.storage.reader import default_data_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentdbg.interop.tables.database import Answer

EXAMPLES = """
agentdbg sql                                                   # the views and their columns
agentdbg sql "select tool, count(*), avg(duration_ms) from tool_calls group by tool order by 3 desc"
agentdbg sql "select started_at::date as day, sum(cost_usd) from runs group by day order by day"
agentdbg sql "select run_id, sentence from findings where severity = 'critical'" --json
cat question.sql | agentdbg sql - --format csv
"""

_MOST_ROWS = 1_000
_LONGEST_QUESTION = 1_000_000


def command(
    question: Annotated[str | None, Argument("[SELECT]", "The question; `-` reads it from standard input.")] = None,
    form: Annotated[str, Option("--format", "-f", metavar="FORMAT", help="table, json or csv.")] = "table",
    as_json: Annotated[bool, Option("--json", help="The same as --format json.")] = False,
    timeout: Annotated[int, Option("--timeout", metavar="SECONDS", help="Stop a longer question.", at_least=1)] = 120,
) -> None:
    """
    Query stored runs with SQL: the views are runs, events, llm_calls, tool_calls and findings. DuckDB answers, locked
    down: a question reads these views and nothing else, and changes nothing. What was read is kept as Parquet in the
    index, so the next question reads only what changed. A question may take 1 GB of memory and --timeout
    seconds; Ctrl-C ends it sooner. Without a question the views and their columns are listed.
    """
    writers: dict[str, Callable[[Terminal, Answer], None]] = {"table": _table, "json": _json, "csv": _csv}
    form = chosen_format(form, "table", as_json=as_json)
    if form not in writers:
        raise UsageError(f"there is no format {form!r}; it is one of {', '.join(writers)}")
    out = Terminal()
    if question is None:
        _list_views(out, form)
        return
    text = sys.stdin.read(_LONGEST_QUESTION) if question == "-" else question
    data_dir = default_data_dir()
    index = RunIndex(data_dir)
    with Progress("Reading runs") as progress:
        index.refresh(thorough=False, progress=progress.at)
    runs = index.page(None, None).runs
    with Progress("Reading events") as progress, ask(text, runs, data_dir, progress.at, timeout) as answer:
        writers[form](out, answer)
    out.flush()


def _list_views(out: Terminal, form: str) -> None:
    types = {"integer": "BIGINT", "float": "DOUBLE", "time": "TIMESTAMP", "json": "JSON"}
    rows = [
        (view, column.name, types.get(column.type, "VARCHAR"), column.meaning)
        for view, columns in VIEWS.items()
        for column in columns
    ]
    if form == "json":
        out.json([dict(zip(("view", "column", "type", "meaning"), row, strict=True)) for row in rows])
        return
    if form == "csv":
        out.bytes(_csv_lines([("view", "column", "type", "meaning"), *rows]))
        return
    for view, columns in itertools.groupby(rows, key=lambda row: row[0]):
        out.line(Styled(view, "strong"))
        listed = [(f"  {name}", Styled(kind, "muted"), meaning) for _, name, kind, meaning in columns]
        out.table([Column("  column"), Column("type", optional=1), Column("meaning", least=20)], listed)
        out.line()


def _table(out: Terminal, answer: Answer) -> None:
    rows = list(itertools.islice(answer.rows, _MOST_ROWS + 1))
    columns = [
        Column(name, right=_is_number(kind), least=min(len(name), 12) or 1)
        for name, kind in zip(answer.columns, answer.types, strict=True)
    ]
    shown = [[_shown(value) for value in row] for row in rows[:_MOST_ROWS]]
    if out.width is None or table_width(columns, shown) <= out.width:
        out.table(columns, shown)
    else:
        _records(out, answer.columns, shown)
    if len(rows) > _MOST_ROWS:
        problem(f"these are the first {_MOST_ROWS:,} rows; --format csv or json gives all, `limit` fewer")


def _records(out: Terminal, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A line for each value, where the columns do not fit beside each other."""
    width = max(map(cell_width, names))
    for at, row in enumerate(rows):
        if at:
            out.line()
        for name, value in zip(names, row, strict=True):
            out.line(Styled(name.ljust(width), "muted"), "  ", value)


def _json(out: Terminal, answer: Answer) -> None:
    """An array of objects, written as the rows come."""
    names = _distinct(answer.columns)
    holds_json = [kind == "JSON" for kind in answer.types]
    before = b"["
    for row in answer.rows:
        values = [
            _spliced(value) if is_json and value is not None else _plain(value)
            for value, is_json in zip(row, holds_json, strict=True)
        ]
        out.bytes(before + encode_json(dict(zip(names, values, strict=True))))
        before = b",\n"
    out.bytes(b"[]\n" if before == b"[" else b"]\n")


def _spliced(text: str) -> Any:
    """JSON as it stands; what only DuckDB takes for JSON (NaN, a comma too many) as the text it is."""
    try:
        decode_json(text)
    except ValueError:
        return text
    return RawJson(text.encode())


def _csv(out: Terminal, answer: Answer) -> None:
    out.bytes(_csv_lines([answer.columns]))
    for row in answer.rows:
        out.bytes(_csv_lines([["" if value is None else _shown(value) for value in row]]))


def _csv_lines(rows: Iterable[Iterable[str]]) -> bytes:
    lines = io.StringIO()
    # No reader of CSV expects a NUL, and Python 3.10 does not even write one.
    cells = ([cell.replace("\0", "\ufffd") for cell in row] for row in rows)
    csv.writer(lines, lineterminator="\n").writerows(cells)
    return lines.getvalue().encode("utf-8", "replace")


def _is_number(kind: str) -> bool:
    return kind.startswith("DECIMAL") or kind.endswith(("INT", "INTEGER", "DOUBLE", "FLOAT"))


def _shown(value: Any) -> str:
    """A value as a person or a spreadsheet reads it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    plain = _plain(value)
    return encode_json(plain).decode() if isinstance(plain, (dict, list)) else str(plain)


def _plain(value: Any) -> Any:
    """A value of DuckDB's as JSON has it: times as ISO 8601 in UTC, bytes as base64, what is no number null."""
    convert = _AS_JSON.get(type(value))
    if convert is not None:
        return convert(value)
    return value if value is None or isinstance(value, (str, int)) else str(value)


_AS_JSON: dict[type, Callable[[Any], Any]] = {
    datetime: lambda value: f"{value.isoformat(timespec='milliseconds')}Z",
    date: date.isoformat,
    time: time.isoformat,
    timedelta: str,
    Decimal: lambda value: int(value) if value == value.to_integral_value() else float(value),
    float: lambda value: value if math.isfinite(value) else None,
    bytes: lambda value: base64.b64encode(value).decode(),
    dict: lambda value: {str(key): _plain(item) for key, item in value.items()},
    list: lambda value: [_plain(item) for item in value],
    tuple: lambda value: [_plain(item) for item in value],
}


def _distinct(names: Iterable[str]) -> list[str]:
    """Two columns of one name would be one key."""
    distinct: list[str] = []
    for name in names:
        number = 2
        fresh = name
        while fresh in distinct:
            fresh = f"{name}_{number}"
            number += 1
        distinct.append(fresh)
    return distinct
