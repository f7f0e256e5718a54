"""
The viewer as an application: routes, one guard around all of them, one handler for everything that goes wrong.
"""

from __future__ import annotations

import secrets
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 -- FastAPI reads the annotations of routes when it starts
from starlette.responses import Response  # noqa: TC002

from agentdbg.exceptions import AgentDbgError
from agentdbg.server.answers import error_response
from agentdbg.server.compare import Comparisons
from agentdbg.server.compare import router as compare_router
from agentdbg.server.guard import BodyTooLarge, Guard, Policy
from agentdbg.server.head import HeadAsGet
from agentdbg.server.html_download import router as html_router
from agentdbg.server.inside import visit
from agentdbg.server.routes import router
from agentdbg.server.sockets import router as socket_router
from agentdbg.server.state import ViewerState
from agentdbg.server.static import StaticFiles
from agentdbg.storage.housekeeping import empty_trash

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["create_app"]

UI_FOLDER = Path(__file__).parent.parent / "ui_static"


def create_app(
    data_dir: str | Path,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    allowed_hosts: tuple[str, ...] = (),
    ui_folder: Path = UI_FOLDER,
) -> FastAPI:
    """The application that serves one data folder to whoever the guard lets in."""
    policy = Policy(
        token=token or secrets.token_urlsafe(24),
        allowed_hosts=frozenset(name.strip().lower() for name in allowed_hosts),
        bound_host=host,
    )
    state = ViewerState(Path(data_dir), policy)

    @asynccontextmanager
    async def lifespan(served: FastAPI) -> AsyncIterator[None]:
        empty_trash(state.data_dir)
        await visit(served, "/", "/api/info")
        try:
            yield
        finally:
            state.close()

    app = FastAPI(
        title="AgentDbg", openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan, redirect_slashes=False
    )
    app.state.viewer = state
    app.state.comparisons = Comparisons()

    app.include_router(router)
    app.include_router(html_router)
    app.include_router(compare_router)
    app.include_router(socket_router)
    _answer_errors(app)
    app.add_middleware(StaticFiles, folder=ui_folder)
    app.add_middleware(HeadAsGet)
    app.add_middleware(Guard, policy=policy)
    return app


def _answer_errors(app: FastAPI) -> None:
    """Every error leaves in one shape; what nobody expected is answered by the guard."""

    @app.exception_handler(AgentDbgError)
    async def ours(_: Request, error: AgentDbgError) -> Response:
        return error_response(error.http_status, error.code, str(error))

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
        return error_response(error.status_code, code, str(error.detail))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0] if error.errors() else {}
        where = ".".join(str(part) for part in first.get("loc", ())[1:])
        return error_response(400, "bad_request", f"{where}: {first.get('msg', 'not valid')}".removeprefix(": "))

    @app.exception_handler(BodyTooLarge)
    async def too_large(_: Request, __: BodyTooLarge) -> Response:
        return error_response(413, "body_too_large", "a request has at most 65536 bytes")
