"""Fork from a step in the page: the command is shown, and a viewer with --control runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_manners import axe_findings
from tests.server.running import end

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

PROGRAM = """
from agentdbg import tool, trace

@tool(effect="read")
def search(query):
    return {"hits": [query]}

@trace
def agent():
    return [search("a"), search("b")]

agent()
"""


@pytest.fixture
def page(tmp_path: Path, chromium: Browser) -> Iterator[Page]:
    """The page of a viewer that may run programs, with one recorded run."""
    (tmp_path / "agent.py").write_text(PROGRAM)
    env = {**os.environ, "AGENTDBG_DATA_DIR": str(tmp_path / "data"), "PYTHONPATH": os.getcwd()}
    subprocess.run([sys.executable, "agent.py"], cwd=tmp_path, env=env, check=True)
    words = [sys.executable, "-m", "agentdbg", "view", "--control", "--no-browser", "--json", "--port", "0"]
    served = subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None
    url = served.stdout.readline().partition('"url":"')[2].partition('"')[0]
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    try:
        page.goto(url)
        yield page
    finally:
        page.close()
        end(served)


def test_a_changed_step_is_forked_from_the_page(page: Page) -> None:
    """The command says exactly what is run, and the fork comes up as a run of its own."""
    page.locator("event-rows .row", has_text="search").first.click()
    page.keyboard.press("f")
    expect(page.locator("fork-dialog h2")).to_contain_text("search")
    assert axe_findings(page) == []
    page.locator("#fork-editor").fill('{"hits": []}')
    expect(page.locator("fork-dialog .fork-command")).to_contain_text("""--set 'result={"hits":[]}'""")
    page.get_by_role("button", name="Run the fork").click()

    expect(page.locator("run-rail .run")).to_have_count(2)
