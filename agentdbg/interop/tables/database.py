"""
Ask the cached tables in SQL.

DuckDB runs in this process, in memory, and is locked down before it sees a question: it reads the cached files and
nothing else, it writes nothing, loads no extension, reaches no network and no variable of ours. One SELECT is one
question, and only the tables it is about are brought up to date.

The tables of one data folder: runs, events and findings, each kept in <data_dir>/index/tables and brought up to date
only when a question needs it.

The views a question is asked of, as SQL over the cached files: runs, events, llm_calls, tool_calls, findings.

Times are UTC without a zone, so that `date_trunc('day', started_at)` means the same on every machine; what holds JSON
is of type JSON, so that `args->>'city'` reads into it.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.encoding import encode_json
from agentdbg.exceptions import UsageError
from agentdbg.interop.exports.run_content import appearing, events_of
from agentdbg.interop.tables.cache import CachedFile, TableCache
from agentdbg.interop.tables.parquet import require, write_table
from agentdbg.interop.tables.table_columns import EVENTS, FINDINGS, RUNS, Column, event_row, finding_row, run_row
from agentdbg.storage.layout import make_private_folder, tables_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from agentdbg.events import RunMeta

__all__ = ["VIEWS", "Answer", "Files", "ask"]

_ATTEMPTS = 3
_ROWS_AT_ONCE = 1_000
_MEMORY = "1GB"
_ON_DISK = "8GB"
"""What a question may take; what does not fit into memory is spilled to a folder of its own."""
_ZONED = "WITH TIME ZONE"
_AT_START: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
}


class Answer(NamedTuple):
    """The names and types of the columns, and the rows as they come."""

    columns: list[str]
    types: list[str]
    rows: Iterator[tuple[Any, ...]]


@contextmanager
def ask(
    question: str,
    runs: Sequence[RunMeta],
    data_dir: Path,
    progress: Callable[[float], None],
    seconds: float | None = None,
) -> Iterator[Answer]:
    """
    Answer one SELECT over every run given, reading first what changed since the last question.

    A question that takes longer than `seconds` is stopped; reading what changed does not count.
    """
    duckdb = require("duckdb")
    with (
        _ctrl_c_is_itself(),
        _folder(data_dir) as folder,
        tempfile.TemporaryDirectory(prefix="agentdbg-sql-") as spill,
    ):
        tables = StoredTables(data_dir, folder)
        clock = _Clock(seconds)
        for attempt in range(_ATTEMPTS):
            try:
                files = tables.refresh(runs, **_needs(question), progress=progress)
                connection, answer = _answer(question, files, spill, clock)
                break
            except duckdb.Error as error:
                # Another process may have tidied up just now. If it was not that, a file is damaged.
                if str(folder) not in str(error) or attempt == _ATTEMPTS - 1:
                    raise UsageError(clock.said() or _kindly(error)) from None
                if attempt == _ATTEMPTS - 2:
                    tables.forget()
        with clock, connection:
            yield Answer(answer.columns, answer.types, _kind_rows(answer.rows, clock))


@contextmanager
def _ctrl_c_is_itself() -> Iterator[None]:
    """DuckDB takes notice of Ctrl-C by itself, and has a word of its own for it."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


class _Clock:
    """Stops a question that takes too long."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._timer: threading.Timer | None = None
        self._is_over = False

    def start(self, connection: Any) -> None:
        """Count from now on."""
        if self._seconds is not None:
            self._timer = threading.Timer(self._seconds, self._stop, [connection])
            self._timer.daemon = True
            self._timer.start()

    def _stop(self, connection: Any) -> None:
        self._is_over = True
        connection.interrupt()

    def said(self) -> str | None:
        """What to tell when it was stopped."""
        if not self._is_over:
            return None
        return f"the question took longer than {self._seconds:g} seconds; ask for less, or give --timeout more"

    def __enter__(self) -> _Clock:
        return self

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            # It holds the connection until it has ended, and DuckDB tells at length what is held when Python exits.
            self._timer.join()
            self._timer = None


def _needs(question: str) -> dict[str, bool]:
    """Which tables a question may be about; one that makes its names up as it goes may be about any."""
    words = question.lower()
    any_of_them = "query" in words
    return {
        "events": any_of_them or any(name in words for name in ("events", "llm_calls", "tool_calls")),
        "findings": any_of_them or "findings" in words,
    }


@contextmanager
def _folder(data_dir: Path) -> Iterator[Path]:
    """Where the tables are kept; a folder for this question alone where none can be, or where a link leads away."""
    folder = tables_dir(data_dir)
    try:
        if any(path.is_symlink() for path in (folder.parent, folder, *folder.rglob("*"))):
            raise OSError("a data folder that came from elsewhere must not lead to other files")
        make_private_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        with tempfile.TemporaryDirectory(prefix="agentdbg-sql-") as made:
            yield type(folder)(made)
        return
    yield folder


def _answer(question: str, files: Files, spill: str, clock: _Clock) -> tuple[Any, Answer]:
    connection = _locked_down(files, spill)
    clock.start(connection)
    try:
        return connection, _execute(connection, question)
    except BaseException:
        clock.__exit__()
        connection.close()
        raise


def _locked_down(files: Files, spill: str) -> Any:
    duckdb = require("duckdb")
    connection = duckdb.connect(":memory:", config=_AT_START)
    paths = [str(file.path) for table in (files.runs, files.events, files.findings) for file in table]
    for setting, value in (
        ("allowed_paths", paths),
        ("temp_directory", spill),
        ("max_temp_directory_size", _ON_DISK),
        ("memory_limit", _MEMORY),
        ("TimeZone", "UTC"),
        ("python_enable_replacements", False),
        ("enable_external_access", False),
    ):
        connection.execute(f"SET {setting} = {_literal(value)}")
    for statement in view_statements(files):
        connection.execute(statement)
    connection.execute("SET lock_configuration = true")
    return connection


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'{}'".format(str(value).replace("'", "''"))


def _execute(connection: Any, question: str) -> Answer:
    duckdb = require("duckdb")
    statements = connection.extract_statements(question)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError("one SELECT is one question: nothing here can change a run, a file or a setting")
    shape = connection.sql(question)  # what it would give, without asking yet
    columns, types = list(shape.columns), [str(kind) for kind in shape.types]
    if any(_ZONED in kind for kind in types):
        # Python gets these only with a package that is not ours to ask for; as text they need none.
        chosen = ", ".join(f"#{at}::VARCHAR" if _ZONED in kind else f"#{at}" for at, kind in enumerate(types, 1))
        question = _select(chosen, f"({question.strip().rstrip(';')}\n)")
    return Answer(columns, types, _rows(connection.execute(question)))


def _rows(answer: Any) -> Iterator[tuple[Any, ...]]:
    while rows := answer.fetchmany(_ROWS_AT_ONCE):
        yield from rows


def _kind_rows(rows: Iterator[tuple[Any, ...]], clock: _Clock) -> Iterator[tuple[Any, ...]]:
    """Rows are made as they are read, so a division by nothing may show only now."""
    duckdb = require("duckdb")
    try:
        yield from rows
    except duckdb.Error as error:
        raise UsageError(clock.said() or _kindly(error)) from None


def _kindly(error: Exception) -> str:
    """What DuckDB says, without its stack, and where to look."""
    said = str(error).strip().partition("\n\nLINE ")[0]
    if "Out of Memory" in said:
        return f"the question needs more than {_MEMORY} of memory; ask for fewer rows or columns"
    if "does not exist" in said or "not found in FROM" in said:
        said += f"\nThe views are {', '.join(VIEWS)}; `agentdbg sql` without a question lists their columns."
    return said


@dataclass(frozen=True)
class Files:
    """Where the tables are; a table nobody asked for is empty."""

    runs: list[CachedFile] = field(default_factory=list)
    events: list[CachedFile] = field(default_factory=list)
    findings: list[CachedFile] = field(default_factory=list)


class StoredTables:
    """What the runs of one data folder hold, as tables in `folder`."""

    def __init__(self, data_dir: Path, folder: Path) -> None:
        self._folder = folder
        self._events = TableCache(data_dir, folder / "events", EVENTS, _event_rows)
        self._findings = TableCache(data_dir, folder / "findings", FINDINGS, _finding_rows)

    def refresh(
        self, runs: Sequence[RunMeta], *, events: bool, findings: bool, progress: Callable[[float], None]
    ) -> Files:
        """Bring the tables up to date that are asked for; `runs` is every run there is, and of others nothing stays."""
        for table, is_wanted in ((self._events, events), (self._findings, findings)):
            if not is_wanted:
                table.let_go(runs)
        return Files(
            runs=[CachedFile(self._runs(runs), None)],
            events=self._events.refresh(runs, progress) if events else [],
            findings=self._findings.refresh(runs, progress) if findings else [],
        )

    def forget(self) -> None:
        """Let go of everything, to begin again."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _runs(self, runs: Sequence[RunMeta]) -> Path:
        """The table of runs, made anew when anything in it changed."""
        path = self._folder / f"runs-{hashlib.sha256(encode_json(runs)).hexdigest()[:24]}.parquet"
        if not path.exists():
            require("pyarrow")
            make_private_folder(self._folder)
            with appearing(path) as temporary:
                write_table(temporary, RUNS, map(run_row, runs))
            for earlier in set(self._folder.glob("runs-*.parquet")) - {path}:
                earlier.unlink(missing_ok=True)
        return path


def _event_rows(meta: RunMeta, folder: Path) -> Iterator[tuple[Any, ...]]:
    for number, event in enumerate(events_of(folder, meta["run_id"]), 1):
        yield event_row(number, event)


def _finding_rows(meta: RunMeta, folder: Path) -> Iterator[tuple[Any, ...]]:
    from agentdbg.analysis.findings import find  # noqa: PLC0415 -- few questions are about findings

    for finding in find(events_of(folder, meta["run_id"]), meta):
        yield finding_row(meta["run_id"], finding)


_TIMES = tuple(column for column in EVENTS if column.name in ("started_at", "duration_ms", "status"))
_FAILURE = tuple(column for column in EVENTS if column.name in ("error_type", "error_message"))
_PLACE = tuple(column for column in EVENTS if column.name in ("run_id", "n", "event_id", "parent_id"))
_REST = tuple(column for column in EVENTS if column.name in ("source", "meta"))
_MODEL = (
    "model",
    "provider",
    "temperature",
    "stop_reason",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "cost_usd",
)
_OF_EVENTS = {column.name: column for column in EVENTS}

VIEWS: dict[str, tuple[Column, ...]] = {
    "runs": RUNS,
    "events": EVENTS,
    "llm_calls": (
        *_PLACE,
        *_TIMES,
        *(_OF_EVENTS[name] for name in _MODEL),
        *_FAILURE,
        Column("prompt", "json", "what the model was given"),
        Column("response", "json", "what it answered"),
        *_REST,
    ),
    "tool_calls": (
        *_PLACE,
        *_TIMES,
        Column("tool", "word", "the tool"),
        Column("args", "json", "what it was called with"),
        Column("result", "json", "what it gave back"),
        *_FAILURE,
        *_REST,
    ),
    "findings": FINDINGS,
}
"""Each view's columns, in order."""

_NAMED_OTHERWISE = {
    "llm_calls": {"prompt": "payload->'prompt'", "response": "payload->'response'"},
    "tool_calls": {"tool": "name", "args": "tool_args", "result": "tool_result"},
}


def view_statements(files: Files) -> Iterator[str]:
    """The statements that make the views."""
    yield _table("runs", RUNS, files.runs)
    yield _table("events", EVENTS, files.events)
    yield _table("findings", FINDINGS, files.findings)
    for name, event_type in (("llm_calls", "LLM_CALL"), ("tool_calls", "TOOL_CALL")):
        renamed = _NAMED_OTHERWISE[name]
        chosen = ", ".join(f"{renamed.get(column.name, column.name)} AS {column.name}" for column in VIEWS[name])
        yield f"CREATE VIEW {name} AS {_select(chosen, 'events')} WHERE event_type = '{event_type}'"


def _table(name: str, columns: Sequence[Column], files: Sequence[CachedFile]) -> str:
    whole = [file.path for file in files if file.live is None]
    parts = [_read(whole)] if whole else []
    # Of the others only some runs count: another file holds a newer reading of the rest.
    parts += [f"{_read([file.path])} WHERE run_id IN ({_texts(file.live)})" for file in files if file.live is not None]
    rows = " UNION ALL ".join(_select(_typed(columns), part) for part in parts)
    return f"CREATE VIEW {name} AS {rows or _nothing(columns)}"


def _typed(columns: Iterable[Column]) -> str:
    casts = {"time": "TIMESTAMP", "json": "JSON"}
    return ", ".join(
        f"{column.name}::{casts[column.type]} AS {column.name}" if column.type in casts else column.name
        for column in columns
    )


def _nothing(columns: Iterable[Column]) -> str:
    types = {"integer": "BIGINT", "float": "DOUBLE", "time": "TIMESTAMP", "json": "JSON"}
    empty = ", ".join(f"NULL::{types.get(column.type, 'VARCHAR')} AS {column.name}" for column in columns)
    return f"SELECT {empty} WHERE false"


def _read(paths: Iterable[Path]) -> str:
    return f"read_parquet([{_texts(map(str, paths))}])"


def _texts(values: Iterable[str]) -> str:
    return ", ".join("'{}'".format(value.replace("'", "''")) for value in values)


def _select(columns: str, source: str) -> str:
    """Names of ours, or a question that is checked to be one SELECT and is answered locked down."""
    return " ".join(("SELECT", columns, "FROM", source))
