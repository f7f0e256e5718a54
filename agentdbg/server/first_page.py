"""
The page and its files, from memory.

The page is written as small modules and style sheets, and that is how they are kept. A browser would ask for each of
them, some seventy requests before the first row; so the page that is served names one script and one style sheet,
joined here from the very same files. Their addresses hold a hash of everything, so a browser keeps them for good and
asks again only when they have changed.

Only files found under the folder are served, by their own names; no path is built from a request.

What the reader chose (dark, no list of runs) comes as a cookie and is written into the page. Its script could ask the
browser's storage, but that waits for another process, longer than everything else before the first row.
"""

from __future__ import annotations

import hashlib
import mimetypes
import os
import posixpath
import re
import threading
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from agentdbg.interop.html_file.joining import join_modules
from agentdbg.server.http_answers import error_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["StaticFiles", "preferences"]

_PREFIX = "/static/"
_PAGE = "index.html"
_ENTRY = "app.js"
_ONE_SCRIPT, _ONE_SHEET = "page.js", "page.css"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
}
_NO_PAGE = (
    b"<!doctype html><title>AgentDbg</title><p>The page is missing from this installation. The API is at /api/runs."
)
_SHEET_LINK = re.compile(r'[ \t]*<link rel="stylesheet" href="/static/([^"]+)" />\n')
_SHEET_LINKS = re.compile(f"(?:{_SHEET_LINK.pattern})+")
_SHEET_IMPORT = re.compile(r'^@import url\("([^"]+)"\);$', re.MULTILINE)
_SCRIPT = re.compile(r'<script type="module" src="/static/app\.js"></script>')

# Asked about each time, and sent only when it has changed.
_ASK_AGAIN = "no-cache"
_FOR_GOOD = "private, max-age=31536000, immutable"


class StaticFiles:
    """ASGI middleware that answers for `/` and everything under `/static/`, and passes on the rest."""

    def __init__(self, app: ASGIApp, folder: Path) -> None:
        self._app = app
        self._folder = Path(folder)
        self._lock = threading.Lock()
        self._edition: Edition | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (scope["path"] == "/" or scope["path"].startswith(_PREFIX)):
            await self._app(scope, receive, send)
            return
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        if scope["method"] != "GET":
            return error_response(405, "method_not_allowed", f"{scope['method']} is not answered here")
        return self._page(scope) if scope["path"] == "/" else self._file(scope)

    def _page(self, scope: Scope) -> Response:
        """The page the way this visitor likes it."""
        page = with_preferences(self._newest().files.get(_PAGE, _NO_PAGE), preferences(Request(scope).cookies))
        return _unless_known(scope, page, _ASK_AGAIN, _type_of(_PAGE))

    def _file(self, scope: Scope) -> Response:
        edition = self._edition or self._newest()
        name, lasts = edition.name_of(scope["path"].removeprefix(_PREFIX))
        content = edition.files.get(name)
        if content is None:
            return error_response(404, "not_found", "there is no such file")
        return _unless_known(scope, content, lasts, _type_of(name))

    def _newest(self) -> Edition:
        """The files as they are now: whoever works on the page sees a change at the next visit."""
        with self._lock:
            found = _look_at(self._folder)
            if self._edition is None or self._edition.found != found:
                self._edition = Edition(self._folder, found)
            return self._edition


class Edition:
    """The files under one folder as they were at one moment, and the page made from them."""

    def __init__(self, folder: Path, found: dict[str, tuple[int, int]]) -> None:
        self.found = found
        self.files = {name: (folder / name).read_bytes() for name in found}
        digest = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            digest.update(b"%s %d %s" % (name.encode(), len(content), content))
        self.version = digest.hexdigest()[:16]
        if _PAGE in self.files and _ENTRY in self.files:
            self._make_page()

    def name_of(self, path: str) -> tuple[str, str]:
        """The file that a path under `/static/` means, and how long a browser may keep it."""
        version, _, name = path.partition("/")
        return (name, _FOR_GOOD) if version == self.version else (path, _ASK_AGAIN)

    def _make_page(self) -> None:
        page = self._text(_PAGE)
        self.files[_ONE_SCRIPT] = join_modules(self._text, _ENTRY, {}).encode()
        styles = "\n".join(map(self._sheet, _SHEET_LINK.findall(page)))
        self.files[_ONE_SHEET] = styles.replace(_PREFIX, f"{_PREFIX}{self.version}/").encode()
        sheet = f'    <link rel="stylesheet" href="{_PREFIX}{_ONE_SHEET}" />\n'
        script = f'<script defer src="{_PREFIX}{_ONE_SCRIPT}"></script>'
        page = _SCRIPT.sub(script, _SHEET_LINKS.sub(sheet, page))
        self.files[_PAGE] = page.replace(_PREFIX, f"{_PREFIX}{self.version}/").encode()

    def _sheet(self, name: str) -> str:
        """A style sheet with those it imports in their place."""
        folder = posixpath.dirname(name)
        return _SHEET_IMPORT.sub(lambda found: self._sheet(posixpath.join(folder, found[1])), self._text(name))

    def _text(self, name: str) -> str:
        return self.files[name].decode()


def _unless_known(scope: Scope, content: bytes, lasts: str, media_type: str) -> Response:
    """The content, or only that it is what the browser has already."""
    headers = {"cache-control": lasts, "etag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}
    if headers["etag"].encode() in dict(scope["headers"]).get(b"if-none-match", b""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers={**headers, "content-type": media_type})


def _look_at(folder: Path) -> dict[str, tuple[int, int]]:
    """When each file was changed, and its size."""
    found: dict[str, tuple[int, int]] = {}
    for entry in os.scandir(folder):
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            found |= {f"{entry.name}/{name}": stat for name, stat in _look_at(Path(entry)).items()}
        elif entry.is_file(follow_symlinks=False):
            stat = entry.stat()
            found[entry.name] = (stat.st_mtime_ns, stat.st_size)
    return found


def _type_of(name: str) -> str:
    suffix = posixpath.splitext(name)[1]
    return _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


_COOKIE = "agentdbg_preferences"
_PREFERENCES = re.compile(r"[a-z]+=[a-z0-9]+(?:&[a-z]+=[a-z0-9]+)*")
_THEME = re.compile(r"(?:^|&)theme=(light|dark)(?:&|$)")
_LONGEST = 300
_ROOT = b'<html lang="en"'


def preferences(cookies: Mapping[str, str]) -> str:
    """What the reader chose, as `name=value&name=value`; empty when nothing was, or when it is not ours."""
    text = unquote(cookies.get(_COOKIE, ""))
    return text if len(text) <= _LONGEST and _PREFERENCES.fullmatch(text) else ""


def with_preferences(page: bytes, chosen: str) -> bytes:
    """The page with what the reader chose at its root, where styles and script find it."""
    if not chosen:
        return page
    theme = _THEME.search(chosen)
    root = f' data-theme="{theme[1]}"' if theme else ""
    return page.replace(_ROOT, _ROOT + f'{root} data-preferences="{escape(chosen)}"'.encode(), 1)
