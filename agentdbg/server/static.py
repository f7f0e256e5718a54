"""
The page and its files, read from the package as they are.

Only files found when the server started are served, by their own names; no path is built from a request.
"""

from __future__ import annotations

import hashlib
import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import Response

from agentdbg.server.answers import error_response

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["StaticFiles"]

_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
}
_NO_PAGE = (
    b"<!doctype html><title>AgentDbg</title><p>The page is missing from this installation. The API is at /api/runs."
)


class StaticFiles:
    """The files under one folder, looked up by their names."""

    def __init__(self, folder: Path) -> None:
        root = Path(folder)
        self._files = {
            path.relative_to(root).as_posix(): path
            for path in root.rglob("*")
            if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
        }

    def page(self, request: Request) -> Response:
        """index.html."""
        if "index.html" not in self._files:
            return Response(_NO_PAGE, media_type="text/html; charset=utf-8", headers={"cache-control": "no-cache"})
        return self.answer(request, "index.html")

    def answer(self, request: Request, name: str) -> Response:
        """One file, or 304 when the browser has it already."""
        path = self._files.get(name)
        try:
            content = path.read_bytes() if path is not None else None
        except OSError:
            content = None
        if path is None or content is None:
            return error_response(404, "not_found", "there is no such file")
        etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {"cache-control": "no-cache", "etag": etag}
        if etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        kind = _TYPES.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        kind += "; charset=utf-8" if kind.startswith("text/") else ""
        return Response(content, headers={**headers, "content-type": kind})
