"""
Ask the cached tables in SQL.

DuckDB runs in this process, in memory, and is locked down before it sees a question: it reads the cached files and
nothing else, it writes nothing, loads no extension, reaches no network and no variable of ours. One SELECT is one
question, and only the tables it is about are brought up to date.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.exceptions import UsageError
from agentdbg.interop.tables.parquet import require
from agentdbg.interop.tables.stored import Files, StoredTables
from agentdbg.interop.tables.views import VIEWS, view_statements
from agentdbg.storage.layout import make_private_folder, tables_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from agentdbg.events import RunMeta

__all__ = ["Answer", "ask"]

_ATTEMPTS = 3
_ROWS_AT_ONCE = 1_000
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
def ask(question: str, runs: Sequence[RunMeta], data_dir: Path, progress: Callable[[float], None]) -> Iterator[Answer]:
    """Answer one SELECT over every run given, reading first what changed since the last question."""
    require("duckdb")
    import duckdb  # noqa: PLC0415 -- an extra

    with _folder(data_dir) as folder, tempfile.TemporaryDirectory(prefix="agentdbg-sql-") as spill:
        tables = StoredTables(data_dir, folder)
        for attempt in range(_ATTEMPTS):
            try:
                files = tables.refresh(runs, **_needs(question), progress=progress)
                connection, answer = _answer(question, files, spill)
                break
            except duckdb.Error as error:
                # Another process may have tidied up just now. If it was not that, a file is damaged.
                if str(folder) not in str(error) or attempt == _ATTEMPTS - 1:
                    raise UsageError(_kindly(error)) from None
                if attempt == _ATTEMPTS - 2:
                    tables.forget()
        with connection:
            yield Answer(answer.columns, answer.types, _kind_rows(answer.rows))


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


def _answer(question: str, files: Files, spill: str) -> tuple[Any, Answer]:
    connection = _locked_down(files, spill)
    try:
        return connection, _execute(connection, question)
    except BaseException:
        connection.close()
        raise


def _locked_down(files: Files, spill: str) -> Any:
    import duckdb  # noqa: PLC0415

    connection = duckdb.connect(":memory:", config=_AT_START)
    paths = [str(file.path) for table in (files.runs, files.events, files.findings) for file in table]
    for setting, value in (
        ("allowed_paths", paths),
        ("temp_directory", spill),
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
    import duckdb  # noqa: PLC0415

    statements = connection.extract_statements(question)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError("one SELECT is one question: nothing here can change a run, a file or a setting")
    shape = connection.sql(question)  # what it would give, without asking yet
    columns, types = list(shape.columns), [str(kind) for kind in shape.types]
    if any(_ZONED in kind for kind in types):
        # Python gets these only with a package that is not ours to ask for; as text they need none.
        chosen = ", ".join(f"#{at}::VARCHAR" if _ZONED in kind else f"#{at}" for at, kind in enumerate(types, 1))
        question = f"SELECT {chosen} FROM ({question.strip().rstrip(';')}\n)"  # noqa: S608 -- it is a SELECT, locked down
    return Answer(columns, types, _rows(connection.execute(question)))


def _rows(answer: Any) -> Iterator[tuple[Any, ...]]:
    while rows := answer.fetchmany(_ROWS_AT_ONCE):
        yield from rows


def _kind_rows(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Rows are made as they are read, so a division by nothing may show only now."""
    import duckdb  # noqa: PLC0415

    try:
        yield from rows
    except duckdb.Error as error:
        raise UsageError(_kindly(error)) from None


def _kindly(error: Exception) -> str:
    """What DuckDB says, without its stack, and where to look."""
    said = str(error).strip().partition("\n\nLINE ")[0]
    if "does not exist" in said or "not found in FROM" in said:
        said += f"\nThe views are {', '.join(VIEWS)}; `agentdbg sql` without a question lists their columns."
    return said
