"""
Tools over many runs: list them, and find text in all of them.

Tools over the events of one run: read them as lines, read one in full, find text.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.run_columns import CALL_START, ENDED, ERROR, EXCEPTION
from agentdbg.analysis.wording import since as moment
from agentdbg.index.run_index import RunFilter
from agentdbg.index.search_runs import RunsWithText, search_events
from agentdbg.mcp_server.run_access import event_line, run_brief
from agentdbg.mcp_server.tool import OFFSET, RUN, SINCE, Parameter, Tool, limit
from agentdbg.mcp_server.tool_answers import paged, read_part
from agentdbg.storage.layout import run_dir
from agentdbg.tape.whole_events import WholeEvents, is_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentdbg.events import RunMeta
    from agentdbg.index.search_runs import RunWithText
    from agentdbg.mcp_server.run_access import Reader
    from agentdbg.server.run_view import RunView

__all__ = ["FIND", "LIST_RUNS", "READ_EVENT", "READ_EVENTS", "SEARCH_RUN"]

_HEADLINES_SECONDS = 2.0
_SEARCH_SECONDS = 8.0

_STATUS = Parameter(
    "status",
    "string",
    "Only runs of this status. A run whose process died is `error`; `problems` are those that ended by themselves and "
    "did not do well.",
    "",
    choices=("ok", "problems", "error", "running"),
)
_NAME = Parameter("name", "string", "Only runs with this text in their name.", "")


def _list_runs(
    reader: Reader,
    *,
    status: str,
    name: str,
    since: str,
    meta: dict[str, str],
    limit: int,
    offset: int,
    max_bytes: int,
) -> dict[str, Any]:
    runs = reader.runs()
    if status == "problems":
        ended = runs.page(_filter("ok", name, since, meta), None).runs
        runs.headlines([run["run_id"] for run in ended], within_s=_SEARCH_SECONDS)
    page = runs.page(_filter(status, name, since, meta), limit + 1, offset)
    headlines = runs.headlines([run["run_id"] for run in page.runs[:limit]], within_s=_HEADLINES_SECONDS)
    head = {"data_dir": str(reader.data_dir), "total": page.total, "by_status": page.counts_by_status}
    states = runs.states(headlines)
    briefs = (run_brief(run, headlines.get(run["run_id"]), states.get(run["run_id"])) for run in page.runs)
    return paged(head, "runs", briefs, offset=offset, limit=limit, max_bytes=max_bytes)


LIST_RUNS = Tool(
    "list_runs",
    "List recorded runs",
    "The recorded agent runs, newest first: id, name, status, duration, number of LLM and tool calls, errors, loop "
    "warnings, tokens, cost in USD, and half a line on what came of each. Start here, or go straight to explain_run "
    "for the latest run.",
    (
        _STATUS,
        _NAME,
        SINCE,
        Parameter("meta", "object", 'Only runs with this metadata, such as {"session_id": "s-12"}.', {}),
        limit(20, 200, "runs"),
        OFFSET,
    ),
    _list_runs,
    "data_dir total by_status runs",
)


def _find(
    reader: Reader,
    *,
    text: str,
    status: str,
    name: str,
    since: str,
    limit: int,
    offset: int,
    max_bytes: int,
) -> dict[str, Any]:
    runs = reader.runs().page(_filter(status, name, since, {}), None).runs
    search = RunsWithText(text, runs[offset:], reader.data_dir, within_s=_SEARCH_SECONDS)
    found = list(islice(search, limit))
    # `offset` counts runs that were looked through, found or not.
    looked_at = search.looked_at
    head = {"text": text, "runs": len(runs)}
    answer = paged(head, "found", map(_found, found), offset=0, limit=limit, max_bytes=max_bytes - 100)
    if answer["next"] is not None:
        looked_at = found[len(answer["found"])].position
    answer["searched"] = offset + looked_at
    answer["next"] = {"offset": offset + looked_at} if offset + looked_at < len(runs) else None
    return answer


def _found(run: RunWithText) -> dict[str, Any]:
    return {**run_brief(run.meta), "matching_events": run.count, "events": [event_line(row) for row in run.rows]}


FIND = Tool(
    "find",
    "Find text in all runs",
    "Runs whose events hold some text (a prompt, an argument, a result, an error message), newest first, each with "
    "the number of matching events and the first few of them. Upper and lower case are the same; names of fields are "
    "not searched. Where many runs are stored, one call looks through some of them, and `next` goes on.",
    (
        Parameter("text", "string", "The text to look for, as it stands."),
        _STATUS,
        _NAME,
        SINCE,
        limit(10, 100, "runs"),
        OFFSET,
    ),
    _find,
    "text runs found searched",
)


def _filter(status: str, name: str, since: str, meta: dict[str, str]) -> RunFilter:
    return RunFilter(status=status or None, name=name or None, since=moment(since) if since else None, meta=meta)


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
    "run_id status total events",
)


def _read_event(
    reader: Reader, *, run: str, event: str, path: str, full: bool, offset: int, max_bytes: int
) -> dict[str, Any]:
    _, view = reader.open(run)
    number = reader.event_number(view, event)
    with view.index.lock:
        found: Any = view.index.event(number)
    said: dict[str, Any] = {"n": number}
    if full:
        with WholeEvents(run_dir(reader.data_dir, view.run_id)) as kept:
            found, filled = kept.whole(found)
            said["whole"] = filled
            if not filled and is_cut(found):
                said["whole_problem"] = kept.problem or "the tape does not have this call"
    return {**said, **read_part(found, path, offset, max_bytes - 300)}


READ_EVENT = Tool(
    "read_event",
    "Read one event in full",
    "Everything one event holds: prompt and response, arguments and result, error and stack, state, metadata. What "
    "does not fit is shortened and listed in `cut` with its path, length and how much is shown; ask again with that "
    "`path` and `offset` to read on. What the log itself left out (__TRUNCATED__, __MEDIA__) is fetched with `full`.",
    (
        RUN,
        Parameter("event", "string", "The event: its number `n`, or its event_id."),
        Parameter(
            "path", "string", "Only this part of the event, as a JSON Pointer such as /payload/prompt/0/content.", ""
        ),
        Parameter(
            "full",
            "boolean",
            "Fetch what the log left out from the tape, where the run has one; `whole` names the fields.",
            False,
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
    "n event",
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
    "run_id status total matching events",
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
