"""The page on other tools' runs: every file of public trajectories beside the project opens."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentdbg.storage import list_runs
from tests.browser.conftest import settle
from tests.interop.files import DATA
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


FILES = sorted(path for path in DATA.rglob("*") if path.is_file() and path.suffix in {".json", ".traj", ".jsonl"})


@pytest.mark.skipif(not FILES, reason="the public trajectories are not beside the project")
def test_the_page_opens_the_runs_of_every_imported_file(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    """A run that was imported and cannot be looked at was not imported."""
    environment = {**os.environ, "AGENTDBG_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "agentdbg", "import", *map(str, FILES)]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=300)
    runs = list_runs(data_dir=tmp_path)
    one_of_each_file = {run["metadata"]["imported_from"]["file"]: run for run in runs}
    assert len(one_of_each_file) == len(FILES)

    with viewer(tmp_path) as running:
        page = open_page(running.origin)
        for name, run in one_of_each_file.items():
            page.goto(f"{running.origin}/?run_id={run['run_id']}")
            page.wait_for_selector("event-rows .row .what .outcome")
            settle(page)
            shown = page.locator("event-rows .row[data-event-id]").count()
            assert shown > 1, f"{name} shows {shown} rows"
            assert str(run["run_name"]) in page.title(), name
            # Where nobody knows when things happened, a line over time would say what is not so.
            is_timed = not run["metadata"]["imported_from"].get("times")
            assert page.locator("run-strip").is_visible() == is_timed, name
