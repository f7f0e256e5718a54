"""Fork from a step, or replay a run, in the page: the command is shown, and a viewer with --control runs it."""

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
        page.wait_for_selector("event-rows .row .outcome")  # before that no key has a run to act on
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
    expect(page.locator("fork-dialog .fork-command")).to_contain_text("--set 'result.hits=[]' --writes deny")
    page.get_by_role("button", name="Start the fork").click()

    expect(page.locator("run-rail .run")).to_have_count(2)
    page.locator('run-rail .run[data-depth="1"]').click()
    expect(page.locator("run-family .said")).to_contain_text("at #3, result.hits=[]")
    expect(page.locator("run-family tbody tr")).to_have_count(2)
    assert axe_findings(page) == []
    page.keyboard.press("p")
    expect(page.locator("run-compare")).to_contain_text("hits")
    expect(page.locator("run-compare .heads")).to_contain_text("fork at #3, result.hits=[]")


def test_mocks_trials_and_the_policy_stand_in_the_command(page: Page) -> None:
    """What is wrong is said where it stands, and nothing can be started then; trials fold into one line."""
    page.locator("event-rows .row", has_text="search").first.click()
    page.keyboard.press("f")
    command, start = page.locator("fork-dialog .fork-command"), page.locator("fork-dialog .primary")
    page.locator("#fork-editor").fill('{"hits": ')
    expect(page.locator("#fork-state")).to_have_text("Line 1: expected a value")
    expect(start).to_be_disabled()
    page.get_by_role("button", name="No edit, live after it").click()
    expect(command).to_contain_text("--after")
    page.locator("#fork-mocks").fill("search=tomorrow")
    expect(page.locator("#fork-state")).to_contain_text("neither JSON nor a fault")
    page.locator("#fork-mocks").fill('search#2={"hits": ["m"]}')
    page.locator("#fork-writes").select_option("recorded")
    page.locator("#fork-trials").fill("2")
    expect(command).to_contain_text("""--mock 'search#2={"hits": ["m"]}' --writes recorded --trials 2""")
    page.get_by_role("button", name="Start 2 forks").click()

    expect(page.locator("run-rail .trials")).to_contain_text("2 trials from #3")
    page.locator("run-rail .trials").click()
    expect(page.locator("run-family tbody tr")).to_have_count(3)


def test_the_dialog_fits_a_phone_and_the_dark(page: Page) -> None:
    """One column, full screen, targets large enough."""
    page.locator("event-rows .row", has_text="search").first.click()
    page.keyboard.press("f")
    expect(page.locator("fork-dialog h2")).to_be_visible()
    for scheme in ("light", "dark"):
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme=scheme)
        assert axe_findings(page) == []
        assert page.evaluate("document.querySelector('fork-dialog dialog').scrollWidth") <= 390


def test_a_run_is_replayed_from_the_page(page: Page) -> None:
    """The program is shown before it runs, and the new run is opened; it says what it is."""
    recorded = page.url
    page.get_by_role("button", name="Replay…").first.click()
    expect(page.locator("replay-dialog code").first).to_have_text("python agent.py")
    assert axe_findings(page) == []
    page.get_by_role("button", name="Run the replay").click()

    expect(page.locator("run-rail .run")).to_have_count(2)
    expect(page.locator("run-family .said")).to_contain_text(", equal")
    expect(page.locator("page-notices .notice")).to_have_count(0)
    assert page.url != recorded


def test_where_a_replay_diverged_is_shown(page: Page, tmp_path: Path) -> None:
    """Somebody has edited the program since."""
    (tmp_path / "agent.py").write_text(PROGRAM.replace('"b"', '"B"'))
    page.keyboard.press("R")
    page.get_by_role("button", name="Run the replay").click()

    expect(page.locator("page-notices")).to_contain_text("diverged at call 2 of 2, search (agent.py:")
    expect(page.locator("run-family")).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator("run-compare .top")).to_be_visible()
    expect(page.locator("run-family")).to_be_hidden()
    expect(page.locator("run-suspects")).to_be_hidden()


def test_a_program_that_is_gone_is_told(page: Page, tmp_path: Path) -> None:
    """The command's own words reach the page, before anything is run."""
    (tmp_path / "agent.py").unlink()
    page.keyboard.press("R")

    expect(page.locator("replay-dialog [role=status]")).to_contain_text("is gone")
    expect(page.get_by_role("button", name="Run the replay")).to_be_hidden()
