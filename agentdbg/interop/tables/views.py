"""
The views a question is asked of, as SQL over the cached files: runs, events, llm_calls, tool_calls, findings.

Times are UTC without a zone, so that `date_trunc('day', started_at)` means the same on every machine; what holds JSON
is of type JSON, so that `args->>'city'` reads into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.interop.tables.columns import EVENTS, FINDINGS, RUNS, Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from agentdbg.interop.tables.cache import CachedFile
    from agentdbg.interop.tables.stored import Files

__all__ = ["VIEWS", "view_statements"]

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
        yield f"CREATE VIEW {name} AS SELECT {chosen} FROM events WHERE event_type = '{event_type}'"  # noqa: S608 -- ours


def _table(name: str, columns: Sequence[Column], files: Sequence[CachedFile]) -> str:
    whole = [file.path for file in files if file.live is None]
    parts = [_read(whole)] if whole else []
    # Of the others only some runs count: another file holds a newer reading of the rest.
    parts += [f"{_read([file.path])} WHERE run_id IN ({_texts(file.live)})" for file in files if file.live is not None]
    rows = " UNION ALL ".join(f"SELECT {_typed(columns)} FROM {part}" for part in parts)  # noqa: S608
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
