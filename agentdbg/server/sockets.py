"""
The WebSockets: one run as it is written, and the list of runs as it changes.

Nothing is queued for anybody. Each client takes what it has not seen whenever it is ready for more, so a slow or dead
one costs nothing but its own place; and all clients of a run share one index and one look at its file.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from bisect import bisect_left
from typing import TYPE_CHECKING, Annotated, Any

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocketDisconnect

from agentdbg.encoding import RawJson, encode_json
from agentdbg.exceptions import AgentDbgError, EventNotFound
from agentdbg.index.follow import POLL_SECONDS
from agentdbg.server.request_values import Query, Router, WebSocket
from agentdbg.server.stream import numbered_pieces

if TYPE_CHECKING:
    from agentdbg.events import RunMeta
    from agentdbg.server.run_view import RunView
    from agentdbg.server.viewer import ViewerState

__all__ = ["router"]

router = Router()

_PAGE_EVENTS = 500
_PAGE_ROWS = 200
_META_SECONDS = 0.25
_RUNS_IN_A_FRAME = 200
_RUNS_SECONDS = 0.25
_BIGGEST_PAGE = 1 << 18  # a client that reads nothing holds up to four copies of a page


@router.websocket("/ws/run/{run_id}")
async def follow_run(
    socket: WebSocket,
    run_id: str,
    offset: Annotated[int, Query(ge=0)] = 0,
    rows: int = 0,
    start: Annotated[int, Query(alias="from", ge=0)] = 0,
) -> None:
    """What is there, in pages, then each event as it is written."""
    state: ViewerState = socket.app.state.viewer
    try:
        run = await run_in_threadpool(state.run, run_id)
    except AgentDbgError as error:
        await socket.accept()
        await _refuse(socket, error)
        return
    await socket.accept()
    view = state.views.get(run_id)
    client = _RowClient(state, view, start) if rows else _EventClient(state, view, offset)
    await _until_gone(socket, client.serve(socket, run))


@router.websocket("/ws/runs")
async def follow_runs(socket: WebSocket) -> None:
    """Runs that are new, changed or gone."""
    state: ViewerState = socket.app.state.viewer
    await socket.accept()
    await _until_gone(socket, _serve_runs(socket, state))


async def _until_gone(socket: WebSocket, serving: Any) -> None:
    """Serve until the client leaves; what it says is read and thrown away, so that its leaving is noticed."""
    task = asyncio.ensure_future(serving)
    listening = asyncio.ensure_future(_listen(socket))
    try:
        await asyncio.wait({task, listening}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pending in (task, listening):
            pending.cancel()
        results = await asyncio.gather(task, listening, return_exceptions=True)
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        if isinstance(results[0], AgentDbgError):  # the run was deleted while somebody looked
            await _refuse(socket, results[0])
            return
        await socket.close(1001)
    for result in results:
        expected = (asyncio.CancelledError, WebSocketDisconnect, RuntimeError)
        if isinstance(result, Exception) and not isinstance(result, expected):
            raise result


async def _refuse(socket: WebSocket, error: AgentDbgError) -> None:
    await _send(socket, encode_json({"type": "error", "error": {"code": error.code, "message": str(error)}}))
    await socket.close(4404)


async def _listen(socket: WebSocket) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


class _Client:
    """Somebody who follows one run."""

    def __init__(self, state: ViewerState, view: RunView) -> None:
        self._state = state
        self._view = view
        self._generation = view.index.generation

    async def serve(self, socket: WebSocket, run: RunMeta) -> None:
        """Send what is new, again and again."""
        self._view.watchers += 1
        try:
            await self._serve(socket, run)
        except EventNotFound:
            await run_in_threadpool(self._state.run, self._view.run_id)  # raises what is true when the run is gone
            raise
        finally:
            self._view.watchers -= 1

    async def _serve(self, socket: WebSocket, run: RunMeta) -> None:
        shown: RunMeta | None = None
        next_look = 0.0
        while not self._state.is_stopping:
            await self._catch_up()
            message = await run_in_threadpool(self.next_page, run) if self.has_news() else None
            if message is not None:
                await _send(socket, message)
            now = time.monotonic()
            if now >= next_look:
                next_look = now + _META_SECONDS
                run = await run_in_threadpool(self._state.run, self._view.run_id)
                if run != shown:
                    shown = run
                    await _send(socket, encode_json({"type": "run", "data": run}))
                await self.every_now_and_then(socket, run)
            if message is None:
                await asyncio.sleep(POLL_SECONDS)

    async def _catch_up(self) -> None:
        """Index what is new. Whoever comes first does it for all; a look that finds nothing costs a `stat`."""
        if not self._view.index.complete:
            self._state.views.indexer.want(self._view)  # far behind, and no business of one client
        elif self._view.index.is_behind():
            await run_in_threadpool(self._view.extend)

    def has_news(self) -> bool:
        """Whether `next_page` would give something."""
        raise NotImplementedError

    def next_page(self, run: RunMeta) -> bytes | None:
        """The next message, and remember that it was sent."""
        raise NotImplementedError

    async def every_now_and_then(self, socket: WebSocket, run: RunMeta) -> None:
        """Whatever else this client is told a few times a second."""


class _EventClient(_Client):
    """Follows the events themselves."""

    def __init__(self, state: ViewerState, view: RunView, offset: int) -> None:
        super().__init__(state, view)
        self._offset = offset

    def has_news(self) -> bool:
        index = self._view.index
        if index.generation != self._generation:
            self._generation, self._offset = index.generation, 0
        return bool(index.offset) and index.offset[-1] >= self._offset

    def next_page(self, _: RunMeta) -> bytes | None:
        index = self._view.index
        with index.lock:
            first = bisect_left(index.offset, self._offset) + 1
            last = min(index.total, first + _PAGE_EVENTS - 1)
            while last > first and index.offset[last - 1] - index.offset[first - 1] > _BIGGEST_PAGE:
                last = (first + last) // 2
            if last < first:
                return None
            data = numbered_pieces(index, range(first, last + 1))
            self._offset = index.offset[last - 1] + index.length[last - 1]
        return encode_json({"type": "events", "data": RawJson(b"[" + data + b"]"), "offset": self._offset})


class _RowClient(_Client):
    """Follows what the timeline shows."""

    def __init__(self, state: ViewerState, view: RunView, start: int) -> None:
        super().__init__(state, view)
        self._number = start
        self._changes = len(view.index.changed)
        self._summary: Any = None

    def has_news(self) -> bool:
        index = self._view.index
        if index.generation != self._generation:
            self._generation, self._number, self._changes = index.generation, 0, 0
        return index.total > self._number or len(index.changed) > self._changes

    def next_page(self, run: RunMeta) -> bytes | None:
        index = self._view.index
        with index.lock:
            first, last = self._number + 1, min(index.total, self._number + _PAGE_ROWS)
            rows = self._view.encoded_rows(first, last, run)
            changed, self._changes = self._view.changes_since(self._changes)
            self._number = max(self._number, last)
            message: dict[str, Any] = {"type": "rows", "data": RawJson(rows), "total": index.total}
            if changed:
                message["changed"] = changed
            return encode_json(message)

    async def every_now_and_then(self, socket: WebSocket, run: RunMeta) -> None:
        summary = await run_in_threadpool(self._view.recent_summary, run)
        if summary != self._summary:
            self._summary = summary
            await _send(socket, encode_json({"type": "summary", "data": summary}))


async def _send(socket: WebSocket, message: bytes) -> None:
    await socket.send_text(message.decode())


async def _serve_runs(socket: WebSocket, state: ViewerState) -> None:
    _, _, position = state.runs.changes_since(None)
    while not state.is_stopping:
        frames, position = await run_in_threadpool(_changes, state, position)
        for frame in frames:
            await _send(socket, frame)
        await asyncio.sleep(_RUNS_SECONDS)


def _changes(state: ViewerState, position: int) -> tuple[list[bytes], int]:
    """Runs that changed since and ids of those that are gone, so many to a frame; and where we are now."""
    state.look_for_runs()
    changed, removed, position = state.runs.changes_since(position)
    frames = []
    for start in range(0, max(len(changed), len(removed)), _RUNS_IN_A_FRAME):
        part = changed[start : start + _RUNS_IN_A_FRAME]
        gone = removed[start : start + _RUNS_IN_A_FRAME]
        data = RawJson(state.headed(part) if part else b"[]")
        frames.append(encode_json({"type": "runs", "data": data, "removed": gone}))
    return frames, position
