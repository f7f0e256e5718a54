"""
Rows into a Parquet file, a group of rows at a time, so that memory does not grow with the table.

The files are plain Parquet with UTC microseconds and Zstandard pages: DuckDB, Spark, pandas, Polars and every warehouse
read them without knowing of us.

Runs and their events as two Parquet files in a folder of the user's: runs.parquet and events.parquet.

Both are written aside and take their places together when both are whole; a failed export leaves what was there before.
"""

from __future__ import annotations

import contextlib
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from agentdbg.extra_packages import load_extra
from agentdbg.interop.exports.run_content import appearing, events_of, part_of
from agentdbg.interop.tables.table_columns import EVENTS, RUNS, event_row, run_row
from agentdbg.storage.layout import open_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from agentdbg.interop.exports.run_content import Progress, Run
    from agentdbg.interop.tables.table_columns import Column

__all__ = ["TableFile", "copy_rows", "require", "write_table", "write_tables"]

_ROWS_AT_ONCE = 20_000
_BYTES_AT_ONCE = 16_000_000
_WRITTEN_WITH = {"compression": "zstd", "version": "2.6", "coerce_timestamps": "us"}


def require(package: str) -> Any:
    """A package of the extra, loaded; UsageError says how to install it."""
    return load_extra("sql", package, f"this needs {package.partition('.')[0]}")


class TableFile:
    """A table being written to a new private file. Whoever opens it moves it into place, or takes it away."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self.rows = 0
        self._arrow = require("pyarrow")
        self._schema = _schema(columns)
        self._text_at = [at for at, column in enumerate(columns) if column.type == "json"]
        self._file = os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")
        words = [column.name for column in columns if column.type == "word"]
        self._writer = require("pyarrow.parquet").ParquetWriter(
            self._file, self._schema, use_dictionary=words, **_WRITTEN_WITH
        )
        self._waiting: list[tuple[Any, ...]] = []
        self._bytes = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Take one row, its values in the order of the columns."""
        self._waiting.append(row)
        self.rows += 1
        for at in self._text_at:
            text = row[at]
            if text is not None:
                self._bytes += len(text)
        if len(self._waiting) >= _ROWS_AT_ONCE or self._bytes >= _BYTES_AT_ONCE:
            self._flush()

    def add_batch(self, batch: Any) -> None:
        """Take rows that are in columns already."""
        if self._waiting:
            self._flush()
        if batch.num_rows:
            self._writer.write_batch(batch.cast(self._schema))
            self.rows += int(batch.num_rows)

    def close(self) -> None:
        """Write what is waiting and the end of the file."""
        try:
            if self._waiting:
                self._flush()
            self._writer.close()
        finally:
            self._file.close()

    def _flush(self) -> None:
        values = zip(*self._waiting, strict=True)
        arrays = [self._arrow.array(column, field.type) for column, field in zip(values, self._schema, strict=True)]
        self._writer.write_batch(self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._waiting.clear()
        self._bytes = 0

    def __enter__(self) -> TableFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        # Its end is written although nobody will read the file: the writer would try later, when the file is closed.
        with contextlib.suppress(OSError, ValueError):
            self._writer.close()
        with contextlib.suppress(OSError):
            self._file.close()


def write_table(path: Path, columns: Sequence[Column], rows: Iterable[tuple[Any, ...]]) -> None:
    """A whole table at once."""
    with TableFile(path, columns) as table:
        for row in rows:
            table.add(row)


def copy_rows(source: Path, target: TableFile, run_ids: Iterable[str]) -> None:
    """Add the rows of some runs from another file of the same columns."""
    pa, compute = require("pyarrow"), require("pyarrow.compute")
    wanted = pa.array(sorted(run_ids), pa.string())
    with require("pyarrow.parquet").ParquetFile(source) as file:
        for batch in file.iter_batches(_ROWS_AT_ONCE):
            target.add_batch(batch.filter(compute.is_in(batch.column("run_id"), value_set=wanted)))


def _schema(columns: Sequence[Column]) -> Any:
    pa = require("pyarrow")
    types = {
        "text": pa.string(),
        "word": pa.string(),
        "json": pa.string(),
        "integer": pa.int64(),
        "float": pa.float64(),
        "time": pa.timestamp("us", "UTC"),
    }
    return pa.schema([pa.field(column.name, types[column.type]) for column in columns])


def write_tables(runs: Sequence[Run], folder: Path, progress: Progress) -> None:
    """Write the two tables, the runs in the order given."""
    require("pyarrow")
    with ExitStack() as files:
        runs_file = files.enter_context(appearing(folder / "runs.parquet"))
        events_file = files.enter_context(appearing(folder / "events.parquet"))
        with TableFile(events_file, EVENTS) as events:
            for position, run in enumerate(runs):
                report = part_of(progress, position, len(runs))
                for number, event in enumerate(events_of(run.folder, run.run_id, report), 1):
                    events.add(event_row(number, event))
                report(1.0)
        write_table(runs_file, RUNS, (run_row(run.meta) for run in runs))
