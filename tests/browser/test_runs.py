"""The runs: finding, renaming, deleting with undo, following one that goes on, and none at all."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Recorded, agents, record, settle
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    """Two runs that a test may change."""
    runs = record(tmp_path, "healthy", "failing")
    with viewer(tmp_path) as running:
        yield Recorded(tmp_path, runs, running)


def test_runs_are_found_by_name_state_and_meta(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Among thousands of runs, the one in question is found by what is remembered of it."""
    page = open_page(recorded.address("healthy"))
    rows = page.locator("run-rail [data-run-id]")
    expect(rows).to_have_count(2)
    page.keyboard.press("r")
    page.keyboard.type("nightly")
    expect(rows).to_have_count(1)
    expect(rows.first).to_have_attribute("data-run-id", recorded.runs["healthy"])
    page.keyboard.press("Escape")
    expect(rows).to_have_count(2)
    page.locator("[data-run-status=error]").click()
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("airline-agent")


def test_runs_are_walked_with_brackets(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Newest first, one key each way."""
    page = open_page(recorded.address("failing"))
    expect(page.locator("run-rail [data-run-id]")).to_have_count(2)
    page.keyboard.press("]")
    expect(page.locator("run-verdict .name")).to_have_text("support-bot")
    page.keyboard.press("[")
    expect(page.locator("run-verdict .name")).to_have_text("airline-agent")


def test_a_run_is_renamed_in_place_and_keeps_its_name(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A run worth keeping gets a name a person would give it."""
    page = open_page(recorded.address("healthy"))
    expect(page.locator("run-verdict .name")).to_be_visible()  # on a busy machine the rows are there first
    page.keyboard.press("F2")
    page.locator("[data-rename]").fill("the good one")
    page.keyboard.press("Enter")

    expect(page.locator("run-verdict .name")).to_have_text("the good one")
    expect(page.locator("run-rail .run .name", has_text="the good one")).to_be_visible()
    page.reload()
    expect(page.locator("run-verdict .name")).to_have_text("the good one")
    stored = json.loads(recorded.viewer.ask(f"/api/runs/{recorded.runs['healthy']}").body)
    assert stored["run_name"] == "the good one"


def test_a_name_given_up_stays_as_it_was(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Escape means no."""
    page = open_page(recorded.address("healthy"))
    expect(page.locator("run-verdict .name")).to_be_visible()  # on a busy machine the rows are there first
    page.keyboard.press("F2")
    page.locator("[data-rename]").fill("oh no")
    page.keyboard.press("Escape")

    expect(page.locator("run-verdict .name")).to_have_text("support-bot")


def test_a_deleted_run_goes_at_once_and_comes_back_by_undo(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """No question before, a way back after."""
    page = open_page(recorded.address("failing"))
    expect(page.locator("run-rail [data-run-id]")).to_have_count(2)
    page.locator("run-verdict .more").click()
    page.locator("[data-action=delete-run]").click()

    expect(page.locator("toast-stack")).to_contain_text("Deleted airline-agent.")
    expect(page.locator("run-rail [data-run-id]")).to_have_count(1)
    expect(page.locator("run-verdict .name")).to_have_text("support-bot")
    page.locator("[data-undo]").click()
    expect(page.locator("run-rail [data-run-id]")).to_have_count(2)
    expect(page.locator("run-verdict .name")).to_have_text("airline-agent")


# What the figures and the list of runs say of how long the run has lasted, seen fifteen times.
SECONDS = """async () => {
  const seen = [];
  for (let look = 0; look < 15; look += 1) {
    await new Promise((done) => setTimeout(done, 100));
    const said = document.querySelector("run-verdict .figures b").textContent;
    seen.push(document.querySelector("run-rail [aria-selected=true] .figures span").textContent === said);
  }
  return seen;
}"""


def test_a_live_run_fills_in_without_moving_what_is_read(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Rows arrive below; what is open stays open and where it is."""
    process = agents(recorded.data_dir, "live", stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()

    def turn() -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()

    try:
        for _ in range(8):
            turn()
        page = open_page(f"{recorded.viewer.origin}/?run_id={run_id}", height=760)
        expect(page.locator("run-verdict .word")).to_have_text("Running")
        row = page.locator("event-rows [data-event-type=LLM_CALL]").first
        row.click()
        expect(page.locator("event-details")).to_be_visible()
        assert set(page.evaluate(SECONDS)) == {True}
        settle(page)
        before = row.bounding_box()
        for _ in range(12):
            turn()
        expect(page.locator("[data-filter=TOOL_CALL]")).to_contain_text("20")
        expect(page.locator("live-bar .unseen")).to_contain_text("new events")
        after = row.bounding_box()
        assert before == after
        expect(page.locator("event-details")).to_be_visible()

        page.keyboard.press("f")
        expect(page.locator("[data-follow]")).to_have_attribute("aria-pressed", "true")
        turn()
        expect(page.locator("event-rows .row", has_text="page 20").last).to_be_in_viewport()
        process.stdin.close()
        process.wait(20)
        expect(page.locator("run-verdict .word")).to_have_text("Finished")
        expect(page.locator("live-bar")).to_be_hidden()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        if not process.stdin.closed:
            process.stdin.close()


def test_the_first_run_shows_up_by_itself(open_page: Callable[..., Page], tmp_path: Path) -> None:
    """An empty page says what to do, and notices when it is done."""
    empty = tmp_path / "empty"
    empty.mkdir()
    with viewer(empty) as running:
        page = open_page(running.origin, ready="empty-state h2")
        expect(page.locator("empty-state")).to_contain_text("No runs yet")
        expect(page.locator("empty-state")).to_contain_text("agentdbg demo")
        expect(page.locator("empty-state")).to_contain_text("agentdbg import")
        expect(page.locator("empty-state")).to_contain_text("agentdbg run agent.py")
        assert "\n\n@tool\ndef search" in page.locator("empty-state pre").nth(2).inner_text()
        expect(page.locator("run-rail [data-run-search]")).to_be_hidden()
        expect(page.locator("empty-state code").first).to_contain_text(str(empty))
        record(empty, "healthy")

        expect(page.locator("run-verdict .name")).to_have_text("support-bot")
        expect(page.locator("empty-state")).to_be_hidden()


def test_a_server_that_goes_is_said_and_one_that_returns_is_used(
    open_page: Callable[..., Page], recorded: Recorded, tmp_path: Path
) -> None:
    """What was loaded stays readable, and nobody has to reload."""
    with viewer(tmp_path) as first:
        page = open_page(f"{first.origin}/?run_id={recorded.runs['failing']}")
        port = first.port
    expect(page.locator("page-notices")).to_contain_text("The viewer has stopped.")
    expect(page.locator("event-rows .row").first).to_be_visible()
    with viewer(tmp_path, port=port):
        expect(page.locator("page-notices")).not_to_contain_text("The viewer has stopped.")


def test_a_run_that_is_not_there_is_said(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """An old link to a deleted run explains itself."""
    nowhere = f"{recorded.viewer.origin}/?run_id=00000000-0000-4000-8000-000000000000"
    page = open_page(nowhere, ready="page-notices .notice", expected="404")

    expect(page.locator("page-notices")).to_contain_text("This run cannot be shown:")
    expect(page.locator("page-notices")).to_contain_text(re.compile("no run matches", re.IGNORECASE))
