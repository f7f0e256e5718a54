"""The page's files: few requests, kept by the browser, and never older than what is on the disk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from agentdbg.server.viewer import UI_FOLDER, create_app

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.running import RunningViewer

pytestmark = pytest.mark.slow


def addresses(page: str) -> list[str]:
    """What a browser asks for because the page names it."""
    return re.findall(r'(?:href|src)="(/static/[^"]+)"', page)


def test_the_page_needs_one_script_and_one_style_sheet(served: RunningViewer) -> None:
    """Seventy small requests one behind the other were most of what a first visit waited for."""
    named = addresses(served.ask("/").body.decode())

    files = [name.rpartition("/")[2] for name in named]
    assert files == ["idle.svg", "inter.woff2", "jetbrains-mono.woff2", "page.css", "page.js"]
    for name in named:
        assert served.ask(name).status == 200, name


def test_a_browser_keeps_what_the_page_names_for_good(served: RunningViewer) -> None:
    """Opening another run asks for the page and its data, and for none of the files."""
    for name in addresses(served.ask("/").body.decode()):
        assert served.ask(name).headers["cache-control"] == "private, max-age=31536000, immutable", name
    assert served.ask("/").headers["cache-control"] == "no-cache"


def test_the_joined_files_hold_every_module_and_every_sheet(served: RunningViewer) -> None:
    """A module left out would be missed only by whoever opens the one thing that needs it."""
    page = served.ask("/").body.decode()
    sheet, script = (served.ask(name).body.decode() for name in addresses(page)[-2:])

    assert '"views/details/event-details.js"()' in script
    assert not re.search(r"^import ", script, re.MULTILINE)
    assert "@import" not in sheet
    for path in UI_FOLDER.glob("views/*.css"):
        if path.name != "file-foot.css":  # of files that were exported
            assert path.read_text(encoding="utf-8").strip() in sheet, path.name


def test_a_changed_file_is_served_at_the_next_visit(tmp_path: Path) -> None:
    """Whoever works on the page reloads and sees the change; whoever upgrades never gets half of the old one."""
    (tmp_path / "app.js").write_text("export const one = 1;\n")
    (tmp_path / "index.html").write_text('<script type="module" src="/static/app.js"></script>')
    app = create_app(tmp_path / "data", token="t", ui_folder=tmp_path)
    client = TestClient(app, base_url="http://127.0.0.1", headers={"X-AgentDbg-Token": "t"})
    before = addresses(client.get("/").text)[-1]
    (tmp_path / "app.js").write_text("export const other = 2;\n")
    after = addresses(client.get("/").text)[-1]

    assert before != after
    assert "other" in client.get(after).text
    assert client.get(before).status_code == 404


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/info", "/api/runs", "/api/runs/nothing", "/nowhere"])
def test_head_answers_as_get_does_without_the_body(served: RunningViewer, path: str) -> None:
    """Scripts and proxies ask with HEAD whether something is there."""
    got, asked = served.ask(path), served.ask(path, "HEAD")

    assert (asked.status, asked.body) == (got.status, b"")
    assert asked.headers["content-length"] == got.headers["content-length"]
    assert asked.headers["content-type"] == got.headers["content-type"]


def test_head_of_a_long_run_reads_none_of_it(served: RunningViewer, run_id: str) -> None:
    """The stream ends with its headers, and the connection goes on."""
    asked = served.ask(f"/api/runs/{run_id}/events", "HEAD")

    assert (asked.status, asked.body) == (200, b"")
    assert served.ask("/api/info").status == 200


@pytest.mark.parametrize("path", ["/", "/static/app.js"])
def test_the_page_is_only_read(served: RunningViewer, path: str) -> None:
    """Nothing is posted to a file."""
    answer = served.ask(path, "DELETE", {"X-AgentDbg-Token": served.token})

    assert (answer.status, answer.json()["error"]["code"]) == (405, "method_not_allowed")
