"""
The viewer as an application: routes, one guard around all of them, one handler for everything that goes wrong.

What the routes of one viewer share: the runs, the views on them, and who may ask.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections import OrderedDict
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException

from agentdbg.exceptions import AgentDbgError, InvalidRunId, RunNotFound, UnsupportedSpecVersion
from agentdbg.index.run_index import RunIndex
from agentdbg.server.first_page import StaticFiles
from agentdbg.server.guard import BodyTooLarge, Guard, Policy
from agentdbg.server.http_answers import HeadAsGet, error_response
from agentdbg.server.open_runs import Views
from agentdbg.server.request_values import RoutesOnDemand
from agentdbg.server.routes import router
from agentdbg.server.sockets import router as socket_router
from agentdbg.storage.dialects import is_supported_version
from agentdbg.storage.housekeeping import empty_trash
from agentdbg.storage.layout import is_run_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from agentdbg.analysis.diff import Diff
    from agentdbg.events import RunMeta
    from agentdbg.server.run_view import RunView

__all__ = ["ViewerState", "create_app"]

UI_FOLDER = Path(__file__).parent.parent / "ui_static"


def create_app(
    data_dir: str | Path,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    allowed_hosts: tuple[str, ...] = (),
    ui_folder: Path = UI_FOLDER,
    may_control: bool = False,
) -> Starlette:
    """The application that serves one data folder to whoever the guard lets in."""
    policy = Policy(
        token=token or secrets.token_urlsafe(24),
        allowed_hosts=frozenset(name.strip().lower() for name in allowed_hosts),
        bound_host=host,
    )
    state = ViewerState(Path(data_dir), policy)
    state.may_control = may_control

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        empty_trash(state.data_dir)
        # The first page needs it; it is read while the browser starts, and nobody waits for it to hear the address.
        threading.Thread(target=import_module, args=("agentdbg.server.run_view",), daemon=True).start()
        try:
            yield
        finally:
            state.close()

    app = Starlette(
        routes=[*router.routes, *_SELDOM, *socket_router.routes], lifespan=lifespan, exception_handlers=_ERRORS
    )
    app.router.redirect_slashes = False
    app.state.viewer = state

    app.add_middleware(StaticFiles, folder=ui_folder)
    app.add_middleware(HeadAsGet)
    app.add_middleware(Guard, policy=policy)
    return app


async def _our_error(_: Request, error: Any) -> Response:
    return error_response(error.http_status, error.code, str(error))


async def _http_error(_: Request, error: Any) -> Response:
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
    return error_response(error.status_code, code, str(error.detail))


async def _too_large(_: Request, __: Any) -> Response:
    return error_response(413, "body_too_large", "the request has more bytes than any of ours needs")


# Every error leaves in one shape; what nobody expected is answered by the guard.
_ERRORS: dict[Any, Any] = {AgentDbgError: _our_error, HTTPException: _http_error, BodyTooLarge: _too_large}
# What few sessions ask for is loaded when one does: together these take a quarter of the time to start.
_SELDOM = (
    RoutesOnDemand(r"/api/compare(/.*)?", "agentdbg.server.compare"),
    RoutesOnDemand(r"/api/runs/[^/]+/(control|breaks|again|family)", "agentdbg.server.control"),
)
_HEADLINES_SECONDS = 0.06
_HEADLINES_AT_ONCE = 20


class ViewerState:
    """One data folder being viewed."""

    def __init__(self, data_dir: Path, policy: Policy) -> None:
        self.data_dir = data_dir
        self.policy = policy
        self.runs = RunIndex(data_dir)
        self.views = Views(data_dir, self.runs)
        self.is_stopping = False
        self.may_control = False
        """Whether the page may run recorded programs again."""
        self.compared: OrderedDict[tuple[str, int, str, int], Diff] = OrderedDict()
        """The last few comparisons, so that scrolling through one does not compare again."""
        self.comparing = threading.Lock()
        self._headliner = threading.Lock()
        self._refresher = threading.Lock()

    def run(self, run_id: str) -> RunMeta:
        """A run by its full id, as it is now; InvalidRunId, RunNotFound or UnsupportedSpecVersion otherwise."""
        if not is_run_id(run_id):
            raise InvalidRunId(run_id[:100])
        try:
            meta = self.runs.get(run_id)
        except RunNotFound:
            self.views.forget(run_id)
            raise
        if not is_supported_version(meta["spec_version"]):
            raise UnsupportedSpecVersion(run_id, meta["spec_version"])
        return self._with_damage(meta)

    @contextlib.contextmanager
    def looking_at(self, run_id: str) -> Iterator[tuple[RunMeta, RunView]]:
        """A run and the view of it while somebody is answered; afterwards it goes on being indexed."""
        run = self.run(run_id)
        view = self.views.get(run_id)
        with self.views.indexer.paused():
            if view.index.is_behind():
                view.extend()
            yield run, view
        if not view.index.complete:
            self.views.indexer.want(view)

    def look_for_runs(self) -> None:
        """
        Know of runs that are new, changed or gone.

        Those that came, went or are running are seen right now. That every folder is looked at, which takes a while
        when there are thousands, is left to somebody else once it has been done.
        """
        if not self.runs.is_known():
            self.runs.refresh(thorough=False)
            return
        self.runs.glance()
        if self.runs.is_due() and self._refresher.acquire(blocking=False):
            threading.Thread(target=self._look_at_every_run, daemon=True).start()

    def headed(self, runs: list[RunMeta]) -> bytes:
        """
        Runs for the rail as a JSON array, each with its headline.

        A headline that takes too long is made later and told as a change.
        """
        ids = [meta["run_id"] for meta in runs]
        missing = [run_id for run_id in ids if self.runs.lacks_headline(run_id)]
        if missing:
            self.runs.headlines(missing, within_s=_HEADLINES_SECONDS)
            missing = [run_id for run_id in missing if self.runs.lacks_headline(run_id)]
        if missing and self._headliner.acquire(blocking=False):
            threading.Thread(target=self._make_headlines, args=(missing,), daemon=True).start()
        return self.runs.encoded(ids)

    def close(self) -> None:
        """Stop working in the background."""
        self.is_stopping = True
        self.views.close()

    def _look_at_every_run(self) -> None:
        try:
            self.runs.refresh(thorough=False)
        finally:
            self._refresher.release()

    def _make_headlines(self, ids: list[str]) -> None:
        try:
            for start in range(0, len(ids), _HEADLINES_AT_ONCE):
                if self.is_stopping:
                    return
                self.runs.headlines(ids[start : start + _HEADLINES_AT_ONCE])
        finally:
            self._headliner.release()

    def _with_damage(self, meta: RunMeta) -> RunMeta:
        view = self.views.peek(meta["run_id"])
        if view is None or not view.index.damaged_total:
            return meta
        return {**meta, "damaged_lines": view.index.damaged_total}
