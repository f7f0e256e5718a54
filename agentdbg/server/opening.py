"""
The page as one visitor gets it: the way they like it, and with the first answers it would ask for.

A page that asks for its first rows when its script runs waits for the script first and for the server afterwards. So
the answers stand at the end of the page itself: the browser fetches script and styles while they are made. An answer
that takes too long is left out, and then the page asks.

What the reader chose (dark, no list of runs) comes as a cookie and is written into the page. Its script could ask the
browser's storage, but that waits for another process, longer than everything else before the first row.
"""

from __future__ import annotations

import asyncio
import re
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote

from agentdbg.server.inside import ask
from agentdbg.storage.layout import is_run_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.types import ASGIApp, Scope

__all__ = ["opened_run", "preferences", "with_answers", "with_preferences"]

_COOKIE = "agentdbg_preferences"
_PREFERENCES = re.compile(r"[a-z]+=[a-z]+(?:&[a-z]+=[a-z]+)*")
_THEME = re.compile(r"(?:^|&)theme=(light|dark)(?:&|$)")
_LONGEST = 200
_ROOT = b'<html lang="en"'
_END = b"</body>"
# What the page asks for first, in its own words.
_FIRST_ANSWERS = ("rows?offset=0&limit=80", "summary")
_WITHIN_SECONDS = 0.3


def opened_run(scope: Scope) -> str | None:
    """The run whose first rows this visit will show; None when it begins elsewhere."""
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=100)
    run_id = asked.get("run_id", [""])[0]
    return run_id if is_run_id(run_id) and not asked.keys() & {"event", "compare"} else None


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


async def with_answers(app: ASGIApp, scope: Scope, page: bytes, run_id: str) -> AsyncIterator[bytes]:
    """The page, piece by piece, with the first answers about a run before its end."""
    head, end, rest = page.rpartition(_END)
    yield head
    for what in _FIRST_ANSWERS:
        path = f"/api/runs/{run_id}/{what}"
        answer = asyncio.ensure_future(ask(app, path, scope))
        await asyncio.wait({answer}, timeout=_WITHIN_SECONDS)  # what runs in a thread cannot be stopped, only left
        content = answer.result() if answer.done() else None
        if content is None:
            break
        yield _block(path, content)
    yield end + rest


def _block(path: str, answer: bytes) -> bytes:
    """An answer in an element that nobody runs; without `<`, nothing in it can end the element."""
    name = escape(path).encode()
    return b'<script type="application/json" data-answer="%s">%s</script>\n' % (name, answer.replace(b"<", b"\\u003c"))
