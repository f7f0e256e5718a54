"""
The viewer's page as the frame of a file: its markup, styles and code in one piece, allowed to do nothing else.

The policy names the one script and the one style sheet by their hashes and forbids every connection, so that whatever
a recorded text may contain, nothing of it is run and nothing leaves.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from agentdbg.interop.html_file.joining import join_modules
from agentdbg.version import __version__

if TYPE_CHECKING:
    from agentdbg.events import RunMeta

__all__ = ["UI_FOLDER", "page_around", "page_script", "page_styles"]

UI_FOLDER = Path(__file__).parents[2] / "ui_static"

_ENTRY = "embedded-app.js"
# The one way to the server becomes the one way to what the file holds.
_INSTEAD = {"core/api.js": "core/embedded-api.js"}
_STYLE_LINK = re.compile(r'<link rel="stylesheet" href="/static/([^"]+)"')
_STYLE_IMPORT = re.compile(r"^@import .*\n", re.MULTILINE)
_FONT = re.compile(r'url\("/static/(fonts/[^"]+)"\)')
_CSS_COMMENT = re.compile(r"/\*(?:(?!\*/).)*\*/[ \t]*\n?", re.DOTALL)
_BODY = re.compile(r"<body>(.*)</body>", re.DOTALL)
_LONGEST_TITLE = 200

_HEAD = """<!doctype html>
<html lang="en" data-embedded-run="{run_id}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="AgentDbg {version}">
<title>{title}</title>
<link rel="icon" href="data:image/svg+xml,{icon}">
<style>{styles}</style>
</head>
<body>{body}
"""


def page_around(run: RunMeta) -> tuple[bytes, bytes, bytes]:
    """What stands before the first data of a run, the script, and what stands after the last."""
    script, styles = page_script(), page_styles()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(styles)}; img-src data:; "
        "media-src data:; font-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'"
    )
    head = _HEAD.format(
        run_id=escape(run["run_id"]),
        policy=policy,
        version=__version__,
        title=escape((run["run_name"] or "AgentDbg")[:_LONGEST_TITLE]),
        icon=quote(_read(f"icons/{run['status']}.svg").strip()),
        styles=styles,
        body=_body(),
    )
    return head.encode(errors="replace"), f"<script>{script}</script>\n".encode(), b"</body>\n</html>\n"


@cache
def page_script() -> str:
    """All the page's code."""
    return join_modules(_read, _ENTRY, _INSTEAD)


@cache
def page_styles() -> str:
    """All the page's styles: first those it links, in their order, then those it loads later."""
    linked = _STYLE_LINK.findall(_read("index.html"))
    others = sorted(path.relative_to(UI_FOLDER).as_posix() for path in UI_FOLDER.glob("views/**/*.css"))
    sheets = [_STYLE_IMPORT.sub("", _read(name)) for name in dict.fromkeys([*linked, *others])]
    return _FONT.sub(_inlined, _CSS_COMMENT.sub("", "\n".join(sheets)))


def _inlined(font: re.Match[str]) -> str:
    content = b64encode((UI_FOLDER / font[1]).read_bytes()).decode()
    return f'url("data:font/woff2;base64,{content}")'


@cache
def _body() -> str:
    found = _BODY.search(_read("index.html"))
    return found[1].strip() if found else ""


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return (UI_FOLDER / name).read_text(encoding="utf-8")
