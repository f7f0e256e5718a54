"""
What the server answers in: JSON made once, and errors of one shape.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from agentdbg.encoding import encode_json

__all__ = ["error_response", "json_response"]


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value of plain JSON."""
    return Response(encode_json(value), status, headers, media_type="application/json")


def error_response(status: int, code: str, message: str) -> Response:
    """An error as every route gives it."""
    return json_response({"error": {"code": code, "message": message}}, status)
