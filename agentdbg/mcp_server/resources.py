"""
The runs by address, for assistants that attach resources to a conversation.

    agentdbg://runs                       the newest runs, as list_runs gives them
    agentdbg://runs/{run_id}              one run as a short Markdown report
    agentdbg://runs/{run_id}/events       the first events of it, as read_events gives them
    agentdbg://runs/{run_id}/events/{n}   one event, as read_event gives it

A run is named as everywhere: by its id, the beginning of one, or `latest`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import UsageError
from agentdbg.index.runs import RunFilter
from agentdbg.mcp_server.answers import visible
from agentdbg.mcp_server.reader import run_brief
from agentdbg.mcp_server.tools import TOOLS

if TYPE_CHECKING:
    from agentdbg.mcp_server.reader import Reader

__all__ = ["TEMPLATES", "list_resources", "read_resource"]

_PAGE = 50
_JSON, _MARKDOWN = "application/json", "text/markdown"
_URI = re.compile(r"agentdbg://runs(?:/(?P<run>[^/?#]+)(?:/(?P<events>events)(?:/(?P<event>[^/?#]+))?)?)?/?")

TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": "agentdbg://runs/{run_id}",
        "name": "run",
        "title": "A run",
        "description": "One recorded run as a short report: what was asked, what went wrong, the evidence.",
        "mimeType": _MARKDOWN,
    },
    {
        "uriTemplate": "agentdbg://runs/{run_id}/events",
        "name": "events",
        "title": "A run's events",
        "description": "The first events of a run, one line each; the tool read_events reads on.",
        "mimeType": _JSON,
    },
    {
        "uriTemplate": "agentdbg://runs/{run_id}/events/{n}",
        "name": "event",
        "title": "An event",
        "description": "One event of a run by its number; the tool read_event reads on where it is long.",
        "mimeType": _JSON,
    },
]


def list_resources(reader: Reader, cursor: str | None) -> dict[str, Any]:
    """A page of runs as resources, newest first; the list of runs itself comes first."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 12):
        raise UsageError(f"{cursor[:60]!r} is no cursor that was given out here")
    offset = int(cursor or 0)
    with reader.lock:
        runs = reader.runs()
        page = runs.page(RunFilter(), _PAGE, offset)
        headlines = runs.headlines([run["run_id"] for run in page.runs], within_s=1.0)
    listed = [] if offset else [_the_list()]
    for run in page.runs:
        brief = run_brief(run, headlines.get(run["run_id"]))
        about = f"{brief['status']}, {brief['started_at']}"
        listed.append(
            {
                "uri": f"agentdbg://runs/{run['run_id']}",
                "name": visible(brief.get("run_name") or run["run_id"]),
                "description": visible(f"{about}: {brief['headline']}" if "headline" in brief else about),
                "mimeType": _MARKDOWN,
            }
        )
    end = offset + len(page.runs)
    return {"resources": listed, **({"nextCursor": str(end)} if end < page.total else {})}


def _the_list() -> dict[str, Any]:
    return {
        "uri": "agentdbg://runs",
        "name": "runs",
        "title": "Recorded runs",
        "description": "The newest recorded runs.",
        "mimeType": _JSON,
    }


def read_resource(reader: Reader, uri: str) -> dict[str, Any]:
    """What an address names; AgentDbgError says what is wrong with one that names nothing."""
    found = _URI.fullmatch(uri)
    if found is None:
        raise UsageError(f"{uri[:100]!r} is no address of a run; it is like agentdbg://runs/latest")
    run, event = found["run"], found["event"]
    if run is None:
        text, kind = TOOLS["list_runs"].call(reader, {}), _JSON
    elif event is not None:
        text, kind = TOOLS["read_event"].call(reader, {"run": run, "event": event}), _JSON
    elif found["events"]:
        text, kind = TOOLS["read_events"].call(reader, {"run": run}), _JSON
    else:
        with reader.lock:
            meta, view = reader.open(run)
            text, kind = visible(view.report(meta)), _MARKDOWN
    return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}
