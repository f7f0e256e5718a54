"""
The viewer's first visitor is the viewer itself.

What a web framework makes or loads when it is first asked (the joined page, the routes, the pool of threads) costs a
fifth of a second. It is made before the address is told, so that no person waits for it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["visit"]


async def visit(app: ASGIApp, *paths: str) -> None:
    """Ask for each path and throw the answer away; whatever goes wrong is for a real visitor to see."""
    for path in paths:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"127.0.0.1")],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 80),
        }
        with contextlib.suppress(Exception):
            await app(scope, _nothing_more, _ignore)


async def _nothing_more() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(_: Any) -> None:
    return None
