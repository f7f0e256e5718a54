"""The button in the page: the same file, from the viewer's server."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from agentdbg.config import load_config
from agentdbg.interop.html_file import html_pieces
from tests.interop.html_file.opened import opened
from tests.server.running import viewer
from tests.storage.handmade import write_run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_the_server_sends_the_file_that_export_writes(data_dir: Path) -> None:
    """Whichever way it is made, it is the same file; only the moment differs."""
    run_id = write_run(data_dir)
    with viewer(data_dir) as served:
        answer = served.ask(f"/api/runs/{run_id}/html")
    written = opened(b"".join(html_pieces(run_id, load_config()._replace(data_dir=data_dir))))

    assert answer.status == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{run_id}.html"'
    assert answer.headers["content-type"].startswith("text/html")
    sent = opened(answer.body)
    assert sent.events() == written.events()
    assert sent.policy == written.policy
    assert sent.receipt["source"] == written.receipt["source"]


def test_the_file_is_guarded_like_everything_else(data_dir: Path) -> None:
    """A page from elsewhere may not fetch a run, in whatever form."""
    run_id = write_run(data_dir)
    with viewer(data_dir) as served:
        assert served.ask(f"/api/runs/{run_id}/html", headers={"Host": "evil.example"}).status == 403
        assert served.ask(f"/api/runs/{run_id}/html", headers={"Origin": "https://evil.example"}).status == 403
        assert served.ask(f"/api/runs/{uuid.uuid4()}/html").status == 404
        assert served.ask("/api/runs/..%2f..%2fetc/html").status in (400, 404)
