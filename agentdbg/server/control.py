"""
The routes that answer a paused run: what waits, what it is told, and where it should pause from now on.

They write files in the run's folder, nothing else; the paused process takes values from them, never code. The guard
lets in only our own page or whoever has the token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from agentdbg.control.where import parse_breakpoint
from agentdbg.encoding import decode_json
from agentdbg.exceptions import UsageError
from agentdbg.server.http_answers import error_response, json_response
from agentdbg.storage.control_files import answer_pause, paused_in, read_breaks, write_breaks
from agentdbg.storage.layout import run_dir

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response

    from agentdbg.server.viewer import ViewerState

__all__ = ["router"]

router = APIRouter()

_MOST_BREAKS = 100


@router.get("/api/runs/{run_id}/control")
def get_control(request: Request, run_id: str) -> Response:
    """What waits for an answer, the longest first, and where the run pauses as set from outside."""
    folder = _folder(request, run_id)
    return json_response({"paused": paused_in(folder), "breaks": read_breaks(folder)})


@router.post("/api/runs/{run_id}/control")
async def answer(request: Request, run_id: str) -> Response:
    """Answer a pause: `{"pause_id", "do", "value"?, "error"?}`. 409 when somebody was first, or it no longer waits."""
    command = _object(await request.body())
    folder = await run_in_threadpool(_folder, request, run_id)
    pause_id, do = command.pop("pause_id", None), command.get("do")
    if not isinstance(pause_id, str) or not isinstance(do, str):
        raise UsageError('the body has to be {"pause_id": "…", "do": "continue", …}')
    if await run_in_threadpool(answer_pause, folder, pause_id, {**command, "by": "page"}):
        return json_response({"pause_id": pause_id, "do": do})
    return error_response(409, "answered_elsewhere", "this pause was answered elsewhere, or no longer waits")


@router.post("/api/runs/{run_id}/breaks")
async def set_breaks(request: Request, run_id: str) -> Response:
    """Set where the run pauses: `{"breaks": ["tool:refund"]}`. A run without breakpoints at its start ignores it."""
    breaks = _object(await request.body()).get("breaks")
    if not isinstance(breaks, list) or not all(isinstance(one, str) for one in breaks) or len(breaks) > _MOST_BREAKS:
        raise UsageError('the body has to be {"breaks": ["tool:refund", …]}')
    for one in breaks:
        parse_breakpoint(one)
    folder = await run_in_threadpool(_folder, request, run_id)
    await run_in_threadpool(write_breaks, folder, breaks)
    return json_response({"breaks": breaks})


def _folder(request: Request, run_id: str) -> Path:
    state: ViewerState = request.app.state.viewer
    state.run(run_id)
    return run_dir(state.data_dir, run_id)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = decode_json(body)
    except ValueError:
        raise UsageError("the body is not JSON") from None
    if not isinstance(value, dict):
        raise UsageError("the body has to be a JSON object")
    return value
