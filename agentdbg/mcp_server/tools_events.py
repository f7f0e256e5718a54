"""
Tools over the events of one run: read them as lines, read one in full, find text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.run_columns import CALL_START, ENDED, ERROR, EXCEPTION
from agentdbg.index.search import search_events
from agentdbg.mcp_server.answers import paged
from agentdbg.mcp_server.arguments import OFFSET, RUN, Parameter, limit
from agentdbg.mcp_server.pointers import read_part
from agentdbg.mcp_server.reader import event_line
from agentdbg.mcp_server.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentdbg.events import RunMeta
    from agentdbg.mcp_server.reader import Reader
    from agentdbg.server.views import RunView

__all__ = ["READ_EVENT", "READ_EVENTS", "SEARCH_RUN"]

_AROUND = 100
_MOST_FOUND = 100_000


def _read_events(
    reader: Reader,
    *,
    run: str,
    types: Sequence[str],
    failed: bool,
    limit: int,
    offset: int,
    max_bytes: int,
) -> dict[str, Any]:
    meta, view = reader.open(run)
    numbers = _chosen(view, types, failed=failed)
    head = _head(meta, view) | ({"matching": len(numbers)} if types or failed else {})
    lines = _lines(meta, view, numbers[offset:])
    return paged(head, "events", lines, offset=offset, limit=limit, max_bytes=max_bytes)


READ_EVENTS = Tool(
    "read_events",
    "Read a run's events",
    "The events of a run in the order they were recorded, one line each: number `n`, type, name, parent's number, "
    "time into the run, duration, status, tokens, and input and outcome in short. read_event gives one in full.",
    (
        RUN,
        Parameter(
            "types",
            "strings",
            "Only events of these types: LLM_CALL, TOOL_CALL, STATE_UPDATE, ERROR, LOOP_WARNING, RUN_START, RUN_END, "
            "CALL_START (shown only where the call never ended), or the program's own.",
            (),
        ),
        Parameter("failed", "boolean", "Only errors, failed calls and calls that never returned.", False),
        limit(50, 500, "events"),
        OFFSET,
    ),
    _read_events,
)


def _read_event(reader: Reader, *, run: str, event: str, path: str, offset: int, max_bytes: int) -> dict[str, Any]:
    _, view = reader.open(run)
    number = reader.event_number(view, event)
    with view.index.lock:
        found = view.index.event(number)
    return {"n": number, **read_part(found, path, offset, max_bytes - 100)}


READ_EVENT = Tool(
    "read_event",
    "Read one event in full",
    "Everything one event holds: prompt and response, arguments and result, error and stack, state, metadata. What "
    "does not fit is shortened and listed in `cut` with its path, length and how much is shown; ask again with that "
    "`path` and `offset` to read on.",
    (
        RUN,
        Parameter("event", "string", "The event: its number `n`, or its event_id."),
        Parameter(
            "path", "string", "Only this part of the event, as a JSON Pointer such as /payload/prompt/0/content.", ""
        ),
        Parameter(
            "offset",
            "integer",
            "Where to begin in a long text (characters), list (items) or object (members).",
            0,
            0,
            1 << 40,
        ),
    ),
    _read_event,
)


def _search_run(reader: Reader, *, run: str, text: str, limit: int, offset: int, max_bytes: int) -> dict[str, Any]:
    meta, view = reader.open(run)
    shown = set(_chosen(view, (), failed=False))
    numbers = [number for some in search_events(view.index, text, _MOST_FOUND) for number in some if number in shown]
    head = _head(meta, view) | {"matching": len(numbers)}
    items = (line | {"found": _excerpt(view, line["n"], text)} for line in _lines(meta, view, numbers[offset:]))
    return paged(head, "events", items, offset=offset, limit=limit, max_bytes=max_bytes)


SEARCH_RUN = Tool(
    "search_run",
    "Find text in one run",
    "The events of one run that hold some text, whatever its case, each with the place it was found at (`path`, a JSON "
    "Pointer for read_event) and the words around it. Names of fields are not searched.",
    (
        RUN,
        Parameter("text", "string", "The text to look for, as it stands."),
        limit(20, 200, "events"),
        OFFSET,
    ),
    _search_run,
)


def _head(meta: RunMeta, view: RunView) -> dict[str, Any]:
    head = {"run_id": meta["run_id"], "status": meta["status"], "total": view.index.total}
    return head | ({"damaged_lines": view.index.damaged_total} if view.index.damaged_total else {})


def _chosen(view: RunView, types: Sequence[str], *, failed: bool) -> list[int]:
    """The numbers of the events to show: a started call only where it never ended."""
    index = view.index
    with index.lock:
        wanted = {code for code, name in enumerate(index.types) if not types or name in types}
        return [
            at + 1
            for at, (kind, status, code) in enumerate(zip(index.kind, index.status, index.type, strict=True))
            if code in wanted
            and not (kind == CALL_START and status == ENDED)
            and (not failed or status == ERROR or kind in (EXCEPTION, CALL_START))
        ]


def _lines(meta: RunMeta, view: RunView, numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
    for number in numbers:
        yield from map(event_line, view.rows([number], meta))


def _excerpt(view: RunView, number: int, text: str) -> dict[str, str] | None:
    """The first value that holds the text: where it stands, and the words around it."""
    wanted = text.lower()
    pending: list[tuple[str, Any]] = [("", view.index.event(number))]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            members = [(f"{path}/{key.replace('~', '~0').replace('/', '~1')}", item) for key, item in value.items()]
            pending += reversed(members)
        elif isinstance(value, list):
            pending += reversed([(f"{path}/{at}", item) for at, item in enumerate(value)])
        elif wanted in (said := str(value)).lower():
            at = said.lower().find(wanted)
            start, end = max(0, at - _AROUND), at + len(wanted) + _AROUND
            return {
                "path": path[:300],
                "text": f"{'…' if start else ''}{said[start:end]}{'…' if end < len(said) else ''}",
            }
    return None
