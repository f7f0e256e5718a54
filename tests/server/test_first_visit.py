"""Nobody waits for what the server makes when it is first asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.server.peer_user import visit
from agentdbg.server.viewer import create_app

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_the_page_is_ready_before_the_server_is(tmp_path: Path) -> None:
    """The first visit is the one that people judge the viewer by."""
    asked: list[str] = []
    app = create_app(tmp_path)
    build = app.build_middleware_stack

    def watched() -> Any:
        stack = build()

        async def watching(scope: Any, receive: Any, send: Any) -> None:
            asked.extend([scope["path"]] if scope["type"] == "http" else [])
            await stack(scope, receive, send)

        return watching

    app.build_middleware_stack = watched  # type: ignore[method-assign]

    async def start() -> None:
        async with app.router.lifespan_context(app):
            assert asked == ["/", "/api/info"]

    asyncio.run(start())


def test_a_visit_that_fails_keeps_nobody_from_starting() -> None:
    """A viewer that does not start shows nobody what is wrong."""

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError(scope["path"])

    asyncio.run(visit(broken, "/", "/api/info"))
