"""
The HTTP routes: what is asked of which run, and in what form it is answered.

Routes are plain functions run in threads; only the stream of a whole run is written piece by piece on the event loop.
They raise what the rest of the package raises, and one handler answers that.

A run as one HTML file, for the button in the page: made while it is sent, so nothing of it is kept.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, cast

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from agentdbg.config import load_config
from agentdbg.encoding import RawJson, decode_json
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import EventNotFound, UsageError
from agentdbg.index.run_index import RunFilter
from agentdbg.index.search_runs import RunsWithText, search_events
from agentdbg.interop.html_file import html_pieces
from agentdbg.server.code_view import source_lines
from agentdbg.server.http_answers import json_response
from agentdbg.server.open_runs import types_header
from agentdbg.server.request_values import Query, Request, Router
from agentdbg.server.stream import CleanMark, Selection, WholeRun
from agentdbg.storage.housekeeping import delete_run, mark_run, rename_run, restore_run
from agentdbg.storage.layout import index_dir, is_run_id, run_dir
from agentdbg.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.events import RunMeta
    from agentdbg.server.viewer import ViewerState

__all__ = ["router"]

router = Router()

_MOST_AT = 500
_ROWS_WITHIN_MS = 2_000.0
_FIND_SECONDS = 0.5
_MOST_FOUND = 100
# Up to here a file is indexed before its stream begins, so that the headers can say what is damaged.
_SMALL_FILE = 4_000_000

Offset = Annotated[int, Query(ge=0, le=1 << 40)]


@router.get("/api/info")
def info(request: Request) -> Response:
    """What serves here."""
    state = _state(request)
    return json_response(
        {
            "version": __version__,
            "spec_version": SPEC_VERSION,
            "data_dir": str(state.data_dir),
            "token": None,
            "writable": True,
            "control": state.may_control,
        }
    )


@router.get("/api/runs")
def list_runs(
    request: Request,
    limit: Annotated[int, Query(ge=0, le=10_000)] = 200,
    offset: Offset = 0,
    q: Annotated[str, Query(max_length=1_000)] = "",
    status: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Runs newest first."""
    state = _state(request)
    state.look_for_runs()
    page = state.runs.page(RunFilter(q=q, status=status or None), limit, offset)
    return json_response(
        {
            "spec_version": SPEC_VERSION,
            "runs": RawJson(state.headed(page.runs)),
            "total": page.total,
            "counts_by_status": page.counts_by_status,
            "advice": state.runs.advice(q) if q and not page.total else None,
        }
    )


@router.get("/api/find")
def find_inside(request: Request, q: Annotated[str, Query(max_length=1_000)], offset: Offset = 0) -> Response:
    """
    Runs whose events hold those words of a query that their name, metadata and headline do not hold; newest first.

    One answer looks through as many runs as half a second allows; `next` is the offset to go on from.
    """
    state = _state(request)
    wanted = state.runs.lacking(q)
    deadline = time.monotonic() + _FIND_SECONDS
    found: list[tuple[RunMeta, dict[str, int]]] = []
    at = offset
    while at < len(wanted) and len(found) < _MOST_FOUND and (at == offset or time.monotonic() < deadline):
        meta, words = wanted[at]
        at += 1
        first: dict[str, int] = {}
        for word in words:
            hit = next(iter(RunsWithText(word, [meta], state.data_dir)), None)
            if hit is None:
                break
            first[word] = hit.rows[0]["n"]
        else:
            found.append((meta, first))
    return json_response(
        {
            "runs": RawJson(state.headed([meta for meta, _ in found])),
            "at": {meta["run_id"]: min(first.values()) for meta, first in found},
            "searched": at,
            "total": len(wanted),
            "next": at if at < len(wanted) else None,
        }
    )


@router.get("/api/runs/{run_id}")
def get_run(request: Request, run_id: str) -> Response:
    """run.json, as a reader sees it."""
    return json_response(_state(request).run(run_id))


@router.get("/api/runs/{run_id}/events")
async def get_events(
    request: Request,
    run_id: str,
    offset: Offset = 0,
    limit: Annotated[int | None, Query(ge=0, le=1 << 40)] = None,
    types: Annotated[tuple[str, ...], Query(alias="type", max_length=100)] = (),
    q: Annotated[str, Query(max_length=1_000)] = "",
) -> Response:
    """The array of events, streamed; `offset` and `limit` count what is left after filtering."""
    state = _state(request)
    await run_in_threadpool(state.run, run_id)
    if offset or limit is not None or types or q:
        selection, headers = await run_in_threadpool(_selection, state, run_id, (",".join(types), q, offset, limit))
        return StreamingResponse(selection.pieces(), headers=headers, media_type="application/json")
    whole, headers = await run_in_threadpool(_whole_run, state, run_id)
    return StreamingResponse(whole.pieces(), headers=headers, media_type="application/json")


@router.get("/api/runs/{run_id}/events/{event_id}")
def get_event(request: Request, run_id: str, event_id: str) -> Response:
    """One event by its id or its number."""
    number, event, _ = _event(request, run_id, event_id)
    return json_response(event, headers={"x-event-number": str(number)})


@router.get("/api/runs/{run_id}/events/{event_id}/full")
def get_whole_event(request: Request, run_id: str, event_id: str) -> Response:
    """One event with what was cut of it in the log, from the run's tape; `whole` names the payload's fields."""
    from agentdbg.tape.whole_events import WholeEvents, is_cut  # noqa: PLC0415 -- most visits read no tape

    number, event, folder = _event(request, run_id, event_id)
    with WholeEvents(folder) as kept:
        found, filled = kept.whole(event)
        problem = kept.problem
        if not filled and problem is None and is_cut(event):
            problem = "the tape does not have this call, or it is larger than a page takes"
    return json_response({"event": found, "whole": filled, "problem": problem}, headers={"x-event-number": str(number)})


def _event(request: Request, run_id: str, event_id: str) -> tuple[int, Any, Path]:
    state = _state(request)
    with state.looking_at(run_id) as (_, view):
        number = int(event_id) if event_id.isascii() and event_id.isdigit() and len(event_id) < 12 else None
        known = number or view.index.number_of(event_id)
        if known is None or known > view.index.total:
            view.reach(1 << 40, 60_000)  # not among what is indexed so far
            known = number or view.index.number_of(event_id)
        if known is None:
            raise EventNotFound(event_id[:100], run_id)
        with view.index.lock:
            return known, view.index.event(known), run_dir(state.data_dir, view.run_id)


@router.get("/api/runs/{run_id}/source")
def get_source(request: Request, run_id: str, n: Annotated[int, Query(ge=1, le=1 << 40)]) -> Response:
    """The lines of code around an event's source."""
    with _state(request).looking_at(run_id) as (run, view):
        view.reach(n, _ROWS_WITHIN_MS)
        with view.index.lock:
            start, event = view.index.event(1), view.index.event(n)
    return json_response(source_lines(start, event, run))


@router.get("/api/runs/{run_id}/origins")
def get_origins(request: Request, run_id: str, n: Annotated[int, Query(ge=1, le=1 << 40)]) -> Response:
    """Where every value that an event gave a call or said came from."""
    with _state(request).looking_at(run_id) as (_, view):
        return json_response({"values": view.origins(n)})


@router.get("/api/runs/{run_id}/rows")
def get_rows(
    request: Request,
    run_id: str,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=0, le=2_000)] = 200,
    at: Annotated[str, Query(max_length=8_000)] = "",
) -> Response:
    """What the timeline shows, a page of it or the events numbered in `at`."""
    numbers = _numbers(at) if at else range(offset + 1, offset + limit + 1)
    with _state(request).looking_at(run_id) as (run, view):
        view.reach(max(numbers, default=0), _ROWS_WITHIN_MS)
        rows = view.rows([number for number in numbers if number <= view.index.total], run)
        return json_response(
            {"spec_version": SPEC_VERSION, "rows": rows, "total": view.index.total, "complete": view.index.complete}
        )


@router.get("/api/runs/{run_id}/skeleton")
def get_skeleton(request: Request, run_id: str, start: Annotated[int, Query(alias="from", ge=0)] = 0) -> Response:
    """The columns of all events, for the page to order, filter and draw."""
    with _state(request).looking_at(run_id) as (_, view):
        body, types = view.skeleton(start)
    return Response(body, media_type="application/octet-stream", headers={"x-types": types_header(types)})


@router.get("/api/runs/{run_id}/summary")
def get_summary(request: Request, run_id: str) -> Response:
    """The verdict and the figures, as far as the run is indexed."""
    with _state(request).looking_at(run_id) as (run, view):
        return json_response(view.summary(run))


@router.get("/api/runs/{run_id}/search")
def search(
    request: Request,
    run_id: str,
    q: Annotated[str, Query(max_length=1_000)] = "",
    limit: Annotated[int, Query(ge=0, le=1_000_000)] = 10_000,
) -> Response:
    """The numbers of the events that hold some text."""
    with _state(request).looking_at(run_id) as (_, view):
        view.reach(1 << 40, 10_000)
        numbers: list[int] = []
        for found in search_events(view.index, q, limit):
            numbers += found
        return json_response({"total": len(numbers), "numbers": numbers, "complete": view.index.complete})


@router.get("/api/runs/{run_id}/report")
def get_report(request: Request, run_id: str) -> Response:
    """The run in a few kilobytes of Markdown."""
    with _state(request).looking_at(run_id) as (run, view):
        view.reach(1 << 40, 10_000)
        return Response(view.report(run), media_type="text/markdown; charset=utf-8")


@router.post("/api/runs/{run_id}/rename")
async def rename(request: Request, run_id: str) -> Response:
    """Give a run another name."""
    state = _state(request)
    name = _member(await request.body(), "run_name")

    def change() -> Any:
        state.run(run_id)
        rename_run(run_id, name, state.data_dir)
        return state.run(run_id)

    return json_response(await run_in_threadpool(change))


@router.post("/api/runs/{run_id}/mark")
async def mark(request: Request, run_id: str) -> Response:
    """Say whether a run did its task: `outcome` is passed, failed, or empty to take the mark away."""
    state = _state(request)
    body = await request.body()
    outcome, why = _member(body, "outcome"), _member(body, "why", "")
    if outcome not in ("passed", "failed", ""):
        raise UsageError('the outcome is "passed", "failed" or "", which takes the mark away')

    def change() -> Any:
        state.run(run_id)
        mark_run(run_id, cast("Any", outcome or None), why, state.data_dir)
        return state.run(run_id)

    return json_response(await run_in_threadpool(change))


@router.delete("/api/runs/{run_id}")
def delete(request: Request, run_id: str) -> Response:
    """Move a run to the trash."""
    state = _state(request)
    state.run(run_id)
    state.views.forget(run_id)  # first: some systems move no folder whose files are open
    delete_run(run_id, state.data_dir)
    state.runs.refresh()
    return json_response({"run_id": run_id, "status": "deleted"})


@router.post("/api/runs/{run_id}/restore")
def restore(request: Request, run_id: str) -> Response:
    """Bring a run back from the trash."""
    state = _state(request)
    if not is_run_id(run_id):
        state.run(run_id)
    restore_run(run_id, state.data_dir)
    state.runs.refresh()
    return json_response(state.run(run_id))


def _state(request: Request) -> ViewerState:
    state: ViewerState = request.app.state.viewer
    return state


def _selection(
    state: ViewerState, run_id: str, wanted: tuple[str, str, int, int | None]
) -> tuple[Selection, dict[str, str]]:
    """Some of a run's events, and what is known of them before they are sent."""
    types, query, offset, limit = wanted
    with state.looking_at(run_id) as (_, view):
        selection = Selection(view, types=types, query=query, offset=offset, limit=limit)
        return selection, selection.headers()


def _whole_run(state: ViewerState, run_id: str) -> tuple[WholeRun, dict[str, str]]:
    """The stream of a whole run, and what is known of it before it begins."""
    folder = run_dir(state.data_dir, run_id)
    view = state.views.peek(run_id)
    if view is None and _size(folder) <= _SMALL_FILE:
        view = state.views.get(run_id)
    if view is not None and _size(folder) - view.index.indexed_bytes <= _SMALL_FILE:
        view.extend(None)
    clean_bytes, headers = 0, {}
    if view is not None:
        with view.index.lock:
            clean_bytes = view.index.clean_bytes
            if view.index.complete:
                headers["x-total-count"] = str(view.index.total)
                headers["x-damaged-lines"] = str(view.index.damaged_total)
    whole = WholeRun(folder, run_id, CleanMark(index_dir(state.data_dir), run_id), clean_bytes)
    if whole.content_length is not None:
        headers["content-length"] = str(whole.content_length)
    return whole, headers


def _size(folder: Any) -> int:
    try:
        return int((folder / "events.jsonl").lstat().st_size)
    except OSError:
        return 0


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    if len(parts) > _MOST_AT or not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts):
        raise UsageError(f"`at` is up to {_MOST_AT} event numbers with commas between them")
    return [number for number in map(int, parts) if number > 0]


def _member(body: bytes, key: str, default: str | None = None) -> str:
    try:
        value = decode_json(body)
    except ValueError:
        raise UsageError("the body is not JSON") from None
    if isinstance(value, dict) and default is not None and value.get(key) is None:
        return default
    if not isinstance(value, dict) or not isinstance(value.get(key), str):
        raise UsageError(f'the body has to be {{"{key}": "…"}}')
    return str(value[key])


@router.get("/api/runs/{run_id}/html")
def get_html(request: Request, run_id: str) -> Response:
    """The same file that `agentdbg export --format html` writes."""
    state: ViewerState = request.app.state.viewer
    state.run(run_id)  # whoever asks for no run is told so before anything is sent
    pieces = html_pieces(run_id, load_config()._replace(data_dir=state.data_dir))
    return StreamingResponse(
        pieces, media_type="text/html", headers={"content-disposition": f'attachment; filename="{run_id}.html"'}
    )
