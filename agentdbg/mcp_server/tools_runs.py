"""
Tools over many runs: list them, and find text in all of them.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.wording import since as moment
from agentdbg.index.across import RunsWithText
from agentdbg.index.runs import RunFilter
from agentdbg.mcp_server.answers import paged
from agentdbg.mcp_server.arguments import OFFSET, SINCE, Parameter, limit
from agentdbg.mcp_server.reader import event_line, run_brief
from agentdbg.mcp_server.tool import Tool

if TYPE_CHECKING:
    from agentdbg.index.across import RunWithText
    from agentdbg.mcp_server.reader import Reader

__all__ = ["FIND", "LIST_RUNS"]

_HEADLINES_SECONDS = 2.0
_SEARCH_SECONDS = 8.0

_STATUS = Parameter(
    "status",
    "string",
    "Only runs of this status. A run whose process died is `error`.",
    "",
    choices=("ok", "error", "running"),
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
    page = runs.page(_filter(status, name, since, meta), limit + 1, offset)
    headlines = runs.headlines([run["run_id"] for run in page.runs[:limit]], within_s=_HEADLINES_SECONDS)
    head = {"data_dir": str(reader.data_dir), "total": page.total, "by_status": page.counts_by_status}
    briefs = (run_brief(run, headlines.get(run["run_id"])) for run in page.runs)
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
)


def _filter(status: str, name: str, since: str, meta: dict[str, str]) -> RunFilter:
    return RunFilter(status=status or None, name=name or None, since=moment(since) if since else None, meta=meta)
