"""
Requests that the viewer makes of itself, without a network: they take the same way as a browser's.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from agentdbg.server.peer_user import Peer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message

__all__ = ["ask", "visit"]

_REQUEST: Mapping[str, Any] = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "scheme": "http",
    "root_path": "",
    "headers": [(b"host", b"127.0.0.1")],
    "client": ("127.0.0.1", 0),
    "server": ("127.0.0.1", 80),
    "state": Peer(None, is_own_user=True).as_state(),
}


async def ask(app: ASGIApp, address: str, request: Mapping[str, Any] = _REQUEST) -> bytes | None:
    """The answer to a GET, made on behalf of `request`; None when it is refused or goes wrong."""
    path, _, query = address.partition("?")
    scope = {
        **request,
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
    }
    status, pieces = 0, []

    async def note(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)
        pieces.append(message.get("body", b""))

    with contextlib.suppress(Exception):  # for whoever asks by the network to see
        await app(scope, _nothing_more, note)
        return b"".join(pieces) if status == 200 else None
    return None


async def visit(app: ASGIApp, *paths: str) -> None:
    """
    Ask for each path and throw the answer away.

    What a web framework makes or loads when it is first asked (the joined page, the routes, the pool of threads) costs
    a fifth of a second. It is made before the address is told, so that no person waits for it.
    """
    for path in paths:
        await ask(app, path)


async def _nothing_more() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}
