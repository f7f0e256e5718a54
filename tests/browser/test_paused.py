"""A paused run in the page: seen at once, changed in the editor, answered once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import APIResponse, Browser, Page, Route, expect

from tests.browser.conftest import PATIENCE_MS, note_problems, settle
from tests.browser.gallery import Story
from tests.browser.test_manners import axe_findings
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

PROGRAM = """
import agentdbg, json, sys

@agentdbg.tool
def refund(order, amount):
    return {"ok": True, "amount": amount}

print(json.dumps([refund("A-17", 4000), refund("B-18", 1)]))
"""


class Paused:
    """A program that waits, and the page that shows it."""

    def __init__(self, page: Page, process: subprocess.Popen[str]) -> None:
        self.page = page
        self.process = process

    def printed(self) -> str:
        out, _ = self.process.communicate(timeout=120)
        return out.strip()


@pytest.fixture
def paused(tmp_path: Path, chromium: Browser) -> Iterator[Paused]:
    (tmp_path / "agent.py").write_text(PROGRAM)
    data_dir = tmp_path / "data"
    words = [sys.executable, "-m", "agentdbg", "run", "--break", "tool:refund", "--wait", "900", "agent.py"]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        env={**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), "PYTHONPATH": os.getcwd()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        while not list(data_dir.glob("runs/*/control/paused-*.json")):
            assert process.poll() is None
            time.sleep(0.05)  # however busy the machine is: the program waits for minutes
        with viewer(data_dir) as served:
            page = chromium.new_page(viewport={"width": 1440, "height": 900})
            problems: list[str] = []
            note_problems(page, problems)
            page.goto(served.url)
            yield Paused(page, process)
            assert [one for one in problems if "409" not in one] == []
            page.close()
    finally:
        process.kill()
        process.communicate()


def test_a_paused_run_is_seen_and_goes_on_with_a_change(paused: Paused) -> None:
    """Title, bar and editor say what waits; Continue sends what was changed."""
    page = paused.page
    expect(page.locator("hold-bar h2")).to_have_text("Before tool refund")
    expect(page).to_have_title(re.compile("^Paused: agent.py"))
    expect(page.locator("run-verdict .word")).to_have_text("Paused")
    expect(page.locator("run-rail .run .headline")).to_have_text("Paused before refund, waiting for you")
    row = page.locator('event-rows .row[data-state="held"]')
    expect(row).to_contain_text("waiting at a breakpoint, not called yet")
    expect(page.locator("run-verdict .since")).to_contain_text("paused for")
    # The time at a breakpoint is nobody's: no clock of the run goes on.
    figures = page.locator("run-verdict .figures")
    before = figures.inner_text()
    page.wait_for_timeout(2_500)
    assert figures.inner_text() == before
    editor = page.locator("hold-bar textarea")
    editor.fill('{"order": "A-17", "amount": }')
    expect(page.locator("hold-bar .state")).to_contain_text("Line 1: expected a value")
    expect(page.locator("hold-bar .hold")).to_be_disabled()
    editor.fill('{"order": "A-17", "amount": 40}')
    page.get_by_role("button", name="Continue with 1 change").click()
    expect(page.locator("hold-bar .facts")).to_contain_text("call 2")
    expect(page.locator("event-rows .stop").first).to_be_attached()  # the first call's row offers a breakpoint
    assert axe_findings(page) == []
    page.keyboard.press("F8")
    expect(page.locator("hold-bar")).to_be_hidden()

    assert paused.printed() == '[{"ok": true, "amount": 40}, {"ok": true, "amount": 1}]'


def test_skip_and_raise_have_their_own_buttons(paused: Paused) -> None:
    """The call that must not be made is not made."""
    page = paused.page
    page.get_by_role("button", name="Skip with value…").click()
    page.locator("hold-bar textarea").fill('{"ok": false}')
    page.get_by_role("button", name="Skip the call").click()
    expect(page.locator("hold-bar .facts")).to_contain_text("call 2")
    page.get_by_role("button", name="Abort run").click()
    page.get_by_role("button", name="Really abort?").click()
    expect(page.locator("hold-bar")).to_be_hidden()

    assert paused.printed() == ""


def test_a_pause_is_told_where_another_run_is_read(paused: Paused, tmp_path: Path) -> None:
    """The rail and the table know it, not only the page of the run itself."""
    page = paused.page
    other = Story("another", 1).write(tmp_path / "data")
    page.goto(page.url.partition("?")[0] + f"?run_id={other}")
    waiting = "Paused before refund, waiting for you"
    expect(page.locator("run-rail .run[data-tone=hold] .headline")).to_have_text(waiting)
    page.keyboard.press("Shift+T")
    expect(page.locator("runs-table .run-row[data-tone=hold] .outcome")).to_have_text(waiting)


def test_a_phone_has_the_ways_to_go_on_under_the_thumb(paused: Paused) -> None:
    """They stay while the steps scroll; what ends the run, and the breakpoints, are a tap away."""
    page = paused.page
    page.set_viewport_size({"width": 390, "height": 700})
    page.locator("run-rail .run").click()
    go_on = page.get_by_role("button", name="Continue")
    expect(go_on).to_be_in_viewport(ratio=1)
    settle(page)
    assert 700 - go_on.evaluate("button => button.getBoundingClientRect().bottom") < 80
    expect(page.get_by_role("button", name="Abort run")).to_be_hidden()
    expect(page.locator("hold-bar .places")).to_be_hidden()
    page.locator("hold-bar .more").click()
    page.locator("hold-bar .few").click()

    expect(page.get_by_role("button", name="Abort run")).to_be_in_viewport(ratio=1)
    expect(page.locator("hold-bar .places")).to_be_visible()
    assert axe_findings(page) == []


def test_the_bar_is_accessible_at_every_width(paused: Paused) -> None:
    """Also on a phone, and in the dark."""
    page = paused.page
    expect(page.locator("hold-bar h2")).to_be_visible()
    for width in (1440, 390):
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert axe_findings(page) == []


def test_a_breakpoint_is_set_by_clicking_a_step_and_two_tabs_agree(paused: Paused, chromium: Browser) -> None:
    """Break before the next one like it; the other tab, and the program, know it; the first answer counts."""
    page = paused.page
    expect(page.locator("hold-bar h2")).to_be_visible()
    other = chromium.new_page()
    other.goto(page.url)
    expect(other).to_have_title(re.compile("^Paused: agent.py"))
    expect(other.locator("link[rel=icon]")).to_have_attribute("href", "/static/icons/paused.svg")
    page.get_by_role("button", name="Delete the breakpoint tool:refund").click()
    expect(other.locator("hold-bar .places li")).to_have_count(0)
    page.keyboard.press("F8")
    expect(other.locator("hold-bar")).to_be_hidden()
    other.close()

    assert paused.printed() == '[{"ok": true, "amount": 4000}, {"ok": true, "amount": 1}]'


def test_break_before_the_next_one(paused: Paused) -> None:
    """The dot beside a step, or Shift+B, on a run that goes on."""
    page = paused.page
    page.get_by_role("button", name="Delete the breakpoint tool:refund").click()
    page.locator("hold-bar .place").fill("call:2")
    page.locator("hold-bar .place").press("Enter")
    page.keyboard.press("F8")
    expect(page.locator("hold-bar .facts")).to_contain_text("call 2")
    row = page.locator('event-rows .row[data-kind="tool"]').first
    row.hover()
    page.get_by_role("button", name="Break before refund").first.click()
    expect(page.locator("hold-bar .places li")).to_have_text(["call:2", "tool:refund"])
    row.click()
    page.keyboard.press("Shift+B")
    expect(page.locator("hold-bar .places li")).to_have_text(["call:2"])
    page.keyboard.press("F8")
    expect(page.locator("hold-bar")).to_be_hidden()


def test_a_breakpoint_that_is_being_typed_stays_when_another_is_deleted(paused: Paused) -> None:
    """The answer to an earlier change comes when it comes, and is about that change."""
    page = paused.page
    expect(page.locator("hold-bar h2")).to_be_visible()

    def answer_late(route: Route) -> None:
        place.fill("call:2")
        route.continue_()

    place = page.locator("hold-bar .place")
    page.route("**/breaks", answer_late)
    with page.expect_response("**/breaks"):
        page.get_by_role("button", name="Delete the breakpoint tool:refund").click()
    page.unroute("**/breaks")
    settle(page)
    expect(place).to_have_value("call:2")
    place.press("Enter")
    expect(place).to_have_value("")

    expect(page.locator("hold-bar .places li")).to_have_text(["call:2"])


def test_an_answer_of_the_past_shows_nothing(paused: Paused) -> None:
    """On a busy machine the answer to a question comes when the run it is about is over."""
    page = paused.page
    late: list[tuple[Route, APIResponse]] = []

    def keep(route: Route) -> None:
        if late:
            route.continue_()
        else:
            late.append((route, route.fetch()))

    expect(page.locator("hold-bar h2")).to_have_text("Before tool refund")
    page.route("**/control", keep)
    for _ in range(PATIENCE_MS // 50):
        if late:
            break
        page.wait_for_timeout(50)
    assert len(late) == 1
    page.get_by_role("button", name="Delete the breakpoint tool:refund").click()
    expect(page.locator("hold-bar .places li")).to_have_count(0)
    page.keyboard.press("F8")
    expect(page.locator("hold-bar")).to_be_hidden()
    assert paused.printed()
    expect(page.locator("run-verdict .word")).to_have_text("Finished")
    route, answer = late[0]
    route.fulfill(response=answer)
    page.wait_for_timeout(1_000)

    expect(page.locator("hold-bar")).to_be_hidden()
