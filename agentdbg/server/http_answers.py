"""
What the server answers in: JSON made once, and errors of one shape.

HEAD, answered as GET would be and without the body: every route has it, and none has to think of it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from agentdbg.encoding import encode_json

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HeadAsGet", "error_response", "json_response"]


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value of plain JSON."""
    return Response(encode_json(value), status, headers, media_type="application/json")


def error_response(status: int, code: str, message: str) -> Response:
    """An error as every route gives it."""
    return json_response({"error": {"code": code, "message": message}}, status)


class HeadAsGet:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                raise _HeadersWereSent
            await send(message)
            await send({"type": "http.response.body", "body": b""})

        with contextlib.suppress(_HeadersWereSent):  # nobody reads what a long answer would go on to say
            await self._app({**scope, "method": "GET"}, receive, send_without_body)


class _HeadersWereSent(Exception):
    """All that was asked for has been sent."""
