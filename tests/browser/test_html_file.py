"""The HTML file in a real Chromium: opened from disk, without a network, by somebody who has nothing else."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright.sync_api")

from playwright.sync_api import Browser, Page, expect

import agentdbg
from agentdbg.config import load_config
from agentdbg.index.events import EventIndex
from agentdbg.index.search_runs import search_events
from agentdbg.interop.html_file import html_pieces
from tests.browser.agents import BIG_INTEGER
from tests.browser.conftest import look_into_every_event, note_problems, record, settle
from tests.browser.test_manners import axe_findings
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

ROW = "event-rows .row .what .outcome"


class Files:
    """Some runs and the files made of them."""

    def __init__(self, data_dir: Path, runs: dict[str, str], folder: Path) -> None:
        self.data_dir = data_dir
        self.runs = runs
        self.folder = folder

    def address(self, agent: str, place: str = "") -> str:
        return (self.folder / f"{agent}.html").as_uri() + (f"#{place}" if place else "")

    def log(self, agent: str) -> list[dict[str, Any]]:
        log = self.data_dir / "runs" / self.runs[agent] / "events.jsonl"
        return [json.loads(line) for line in log.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A healthy run, one that fails in a loop, a hostile one and a long one."""
    data_dir, folder = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("files")
    runs = record(data_dir, "long", "hostile", "healthy", "failing")
    config = load_config({})._replace(data_dir=data_dir)
    for agent, run_id in runs.items():
        (folder / f"{agent}.html").write_bytes(b"".join(html_pieces(run_id, config)))
    return Files(data_dir, runs, folder)


@pytest.fixture
def open_file(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Opens files offline; fails the test when a page complains, breaks its policy or asks for anything but itself."""
    contexts = []
    problems: list[str] = []

    def make(address: str, *, width: int = 1440, height: int = 900, ready: str = ROW, **options: Any) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": height}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        note_problems(page, problems)
        page.on("request", lambda request: problems.append(request.url) if not _is_own(request.url, address) else None)
        page.on("websocket", lambda socket: problems.append(socket.url))
        page.goto(address)
        if ready:
            page.wait_for_selector(ready)
            settle(page)
        return page

    yield make
    for context in contexts:
        context.close()
    assert problems == []


def _is_own(url: str, address: str) -> bool:
    """The file itself, its sign, and what it hands out to be saved."""
    own = address.partition("#")[0]
    return url.partition("#")[0] == own or url.startswith(("data:image/svg+xml,", "blob:null/"))


def test_a_file_opens_from_disk_and_says_what_went_wrong(open_file: Callable[..., Page], files: Files) -> None:
    """It is sent to a colleague who sees what its sender saw, and needs nothing for it."""
    page = open_file(files.address("failing"))

    expect(page.locator("run-verdict .word")).to_have_text("Failed")
    expect(page.locator("run-verdict .lines li").first).to_contain_text("payment amount does not add up")
    expect(page.locator("run-strip canvas")).to_be_visible()
    assert page.title().startswith("✕ airline-agent")
    page.locator("run-verdict .jump").first.click()
    expect(page.locator("event-rows .row[aria-selected=true]")).to_contain_text("payment amount does not add up")


@pytest.mark.parametrize("view", ["list", "tree", "waterfall"])
def test_every_view_shows_every_event(open_file: Callable[..., Page], files: Files, view: str) -> None:
    """Three views of the same rows, as in the viewer."""
    page = open_file(files.address("healthy"))
    page.locator(f"[data-view={view}]").click()
    expect(page.locator(f"[data-view={view}]")).to_have_attribute("aria-pressed", "true")
    shown = page.locator("event-rows .row").evaluate_all("rows => rows.map((row) => row.dataset.eventId)")

    assert set(shown) == {event["event_id"] for event in files.log("healthy") if event["event_type"] != "CALL_START"}


def test_an_open_event_is_the_whole_event(open_file: Callable[..., Page], files: Files) -> None:
    """Also what JavaScript cannot count: integers beyond 2^53 keep their digits."""
    page = open_file(files.address("healthy"))
    page.locator("event-rows [data-event-type=TOOL_CALL]").first.click()
    details = page.locator("event-rows event-details")
    details.get_by_role("tab", name="JSON").click()

    expect(details).to_contain_text(str(BIG_INTEGER))
    expect(page).to_have_url(re.compile(r"#event=\d+$"))


def test_an_address_leads_to_the_same_place_again(open_file: Callable[..., Page], files: Files) -> None:
    """View, search and open event stand behind the `#`, so that back, reload and a bookmark work on a file too."""
    page = open_file(files.address("failing", "view=tree&q=add+up&event=5"))
    expect(page.locator("event-details")).to_be_visible()
    expect(page.locator("[data-view=tree]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-search]")).to_have_value("add up")
    page.locator("[data-view=waterfall]").click()
    expect(page).to_have_url(re.compile("view=waterfall"))
    page.go_back()

    expect(page.locator("[data-view=tree]")).to_have_attribute("aria-pressed", "true")


def test_an_event_is_found_by_its_id(open_file: Callable[..., Page], files: Files) -> None:
    """A link names an event by its id, which does not change with the place it is opened in."""
    wanted = files.log("long")[2001]
    page = open_file(files.address("long", f"event={wanted['event_id']}"))

    expect(page.locator("event-details")).to_be_visible()
    expect(page.locator("event-rows .row[aria-selected=true]")).to_have_attribute("data-event-id", wanted["event_id"])


@pytest.mark.parametrize("query", ["needle", "ANSWER 14", "step", "tool_name", "1400", "ok", "no such text"])
def test_a_file_finds_what_the_viewer_finds(open_file: Callable[..., Page], files: Files, query: str) -> None:
    """Whatever somebody looks for, how many there are does not depend on how the run is shown."""
    index = EventIndex(files.data_dir / "runs" / files.runs["long"], files.runs["long"])
    index.extend()
    expected = sum(len(found) for found in search_events(index, query))
    page = open_file(files.address("long"))
    page.locator("[data-search]").fill(query)

    expect(page.locator("tool-bar .count")).to_have_text(re.compile(rf"(^|of ){expected:,}$"))


def test_a_run_that_still_went_on_stands_still(open_file: Callable[..., Page], data_dir: Path, tmp_path: Path) -> None:
    """Its open call is neither over nor failed, and nothing pretends to go on."""
    with agentdbg.traced_run("live") as run, agentdbg.tool_call("slow_tool", args={"page": 1}):
        assert run is not None
        (tmp_path / "live.html").write_bytes(
            b"".join(html_pieces(run.run_id, load_config({})._replace(data_dir=data_dir)))
        )
    page = open_file((tmp_path / "live.html").as_uri(), ready="event-rows .row")

    expect(page.locator("event-rows .row", has_text="slow_tool")).to_have_attribute("data-state", "running")
    expect(page.locator("run-verdict .word")).to_have_text("Running")
    expect(page.locator("page-notices")).to_contain_text("Still running when this file was made")
    expect(page.locator("[data-filter=errors]")).to_contain_text("0")
    expect(page.locator("live-bar")).to_be_hidden()


def test_the_button_in_the_viewer_saves_a_file_that_opens(
    chromium: Browser, open_file: Callable[..., Page], files: Files, tmp_path: Path
) -> None:
    """The way most people will make one: they look at the run, and want somebody else to."""
    with viewer(files.data_dir) as served:
        page = chromium.new_page()
        page.goto(f"{served.origin}/?run_id={files.runs['failing']}")
        page.get_by_role("button", name="More actions").click()
        with page.expect_download() as saving:
            page.locator("[data-action=save-page]").click()
        saving.value.save_as(tmp_path / saving.value.suggested_filename)
        page.close()
    file = tmp_path / f"{files.runs['failing']}.html"

    expect(open_file(file.as_uri()).locator("run-verdict .word")).to_have_text("Failed")


def test_a_long_run_scrolls_to_its_end(open_file: Callable[..., Page], files: Files) -> None:
    """Rows are unpacked as they come into sight."""
    page = open_file(files.address("long"))
    page.keyboard.press("End")

    expect(page.locator("event-rows [data-event-type=RUN_END]")).to_be_visible()
    expect(page.locator("event-rows [data-event-type=RUN_END] .outcome")).not_to_be_empty()


def test_what_needs_a_server_is_not_offered(open_file: Callable[..., Page], files: Files) -> None:
    """Absent, not broken: no runs, no renaming, no deleting, no following, neither by button nor by key."""
    page = open_file(files.address("healthy"))
    expect(page.locator("run-rail")).to_be_hidden()
    page.get_by_role("button", name="More actions").click()
    expect(page.locator("#run-menu")).to_be_visible()
    assert page.locator("#run-menu [data-action]").evaluate_all("all => all.map((one) => one.dataset.action)") == [
        "copy-id",
        "save-run",
        "verdict",
    ]
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    keys = page.locator("key-help dialog")
    expect(keys).to_be_visible()
    for words in ("Rename", "Newer, older run", "Follow", "Delete"):
        expect(keys).not_to_contain_text(words)
    page.keyboard.press("Escape")
    for key in ("F2", "b", "r", "f", "]"):
        page.keyboard.press(key)
    page.get_by_role("heading", name="support-bot").dblclick()

    expect(page.locator("run-rail")).to_be_hidden()
    expect(page.locator("input[data-rename]")).to_have_count(0)


def test_the_events_can_be_taken_out_again(open_file: Callable[..., Page], files: Files, tmp_path: Path) -> None:
    """The file is no dead end: the recipient can have the data."""
    page = open_file(files.address("healthy"))
    page.get_by_role("button", name="More actions").click()
    with page.expect_download() as saving:
        page.locator("[data-action=save-run]").click()
    saving.value.save_as(tmp_path / "saved.json")

    assert json.loads((tmp_path / "saved.json").read_text()) == files.log("healthy")


def test_the_receipt_can_be_read_and_closed(open_file: Callable[..., Page], files: Files) -> None:
    """What was left out is one click away and in nobody's way."""
    page = open_file(files.address("failing"))
    page.locator("[data-receipt]").click()
    receipt = page.locator("file-foot dialog")
    expect(receipt).to_be_visible()
    expect(receipt).to_contain_text(files.runs["failing"])
    expect(receipt).to_contain_text("redaction was on")
    assert axe_findings(page) == []
    page.keyboard.press("Escape")

    expect(receipt).to_be_hidden()


@pytest.mark.parametrize("view", ["list", "tree", "waterfall"])
def test_hostile_payloads_stay_text(open_file: Callable[..., Page], files: Files, view: str) -> None:
    """Markup in any field is what the agent said; in a file there is no server whose policy would help."""
    page = open_file(files.address("hostile", f"view={view}"))
    look_into_every_event(page)
    page.locator("[data-receipt]").click()
    page.wait_for_timeout(300)

    assert page.evaluate("() => window.pwned") is None
    assert page.evaluate("() => ({}).polluted") is None
    assert page.locator("a[href^='javascript:']").count() == 0
    assert page.locator("main script, main iframe, main img[src^=x]").count() == 0
    expect(page.locator("run-verdict .name")).to_contain_text("<script>")


def test_the_policy_stops_what_slips_in(chromium: Browser, files: Files, tmp_path: Path) -> None:
    """The last line of defence: were markup ever made of a text, it would still not be run and reach nobody."""
    slipped = tmp_path / "slipped.html"
    html = (files.folder / "healthy.html").read_text()
    attack = '<script>window.pwned=1</script><img src="https://example.invalid/x.png" onerror="window.pwned=2">'
    slipped.write_text(html.replace("<noscript>", f"{attack}<noscript>"))
    page = chromium.new_page()
    reached: list[str] = []
    page.route("https://**", lambda route: reached.append(route.request.url))
    page.goto(slipped.as_uri())
    page.wait_for_selector(ROW)
    fetched = page.evaluate("() => fetch('https://example.invalid/').then(() => 'sent', () => 'refused')")
    is_run = page.evaluate("() => window.pwned")
    page.close()

    assert (fetched, is_run, reached) == ("refused", None, [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["list", "tree", "waterfall"])
def test_axe_finds_nothing(open_file: Callable[..., Page], files: Files, view: str, scheme: str) -> None:
    """A colleague who reads with a screen reader or a keyboard reads this too."""
    page = open_file(files.address("failing", f"view={view}&event=3"), color_scheme=scheme)
    expect(page.locator("event-details")).to_be_visible()

    assert axe_findings(page) == []


@pytest.mark.parametrize("width", [320, 390, 1000])
def test_a_narrow_page_fits_and_shows_the_run(open_file: Callable[..., Page], files: Files, width: int) -> None:
    """On a phone the file opens at the run: there is no list of runs to come from."""
    page = open_file(files.address("failing"), width=width, height=844)
    page.locator("event-rows .row").nth(2).click()
    expect(page.locator("event-details")).to_be_visible()
    expect(page.get_by_role("button", name="Back to the runs")).to_be_hidden()

    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert axe_findings(page) == []


def test_a_theme_can_be_chosen(open_file: Callable[..., Page], files: Files) -> None:
    """The button stands in the foot, because a file has no rail."""
    page = open_file(files.address("healthy"), color_scheme="dark")
    background = "() => getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(background) == "rgb(21, 24, 29)"
    page.get_by_role("button", name="Theme (t)").click()

    assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_a_file_that_was_cut_off_says_so(open_file: Callable[..., Page], files: Files, tmp_path: Path) -> None:
    """Mail and chat programs cut files; what is there is shown, and that something is missing is said."""
    half = tmp_path / "half.html"
    html = (files.folder / "long.html").read_bytes()
    half.write_bytes(html[: html.rindex(b'data-block="events"')])
    page = open_file(f"{half.as_uri()}#event=3002", ready="")

    expect(page.locator("file-foot")).to_contain_text("not whole")
    expect(page.locator("event-rows")).to_contain_text("may not have been copied whole")
    page.keyboard.press("Home")
    page.wait_for_selector(ROW)


@pytest.mark.parametrize("kind", ["summary", "rows"])
def test_a_file_that_cannot_be_read_says_so(
    open_file: Callable[..., Page], files: Files, tmp_path: Path, kind: str
) -> None:
    """A blank page would leave everyone guessing, the one who sent it and the one who got it."""
    broken = tmp_path / "broken.html"
    html = (files.folder / "healthy.html").read_text()
    broken.write_text(re.sub(rf'(data-block="{kind}"[^>]*>)[^<]{{8}}', r"\1AAAAAAAA", html))
    page = open_file(broken.as_uri(), ready="")

    expect(page.locator("page-notices")).to_contain_text(
        "This run cannot be shown: what this file holds cannot be read"
    )
    expect(page.locator("file-foot")).to_be_visible()


def test_an_old_browser_is_told_that_it_is_too_old(chromium: Browser, files: Files) -> None:
    """The file is fine, and another browser on the same desk shows it."""
    page = chromium.new_page()
    page.add_init_script("delete globalThis.DecompressionStream")
    page.goto(files.address("healthy"))

    expect(page.locator("page-notices")).to_contain_text("this browser is too old to unpack what the file holds")
    page.close()


def test_printing_prints_all_of_the_run(open_file: Callable[..., Page], files: Files) -> None:
    """The screen only holds the rows in sight; paper holds every event, whole."""
    page = open_file(files.address("healthy"))
    page.wait_for_selector("printed-run[data-whole]", state="attached")
    page.emulate_media(media="print")
    heads = page.locator("printed-run h2").all_inner_texts()
    events = files.log("healthy")

    assert heads == [f"#{number} {event['event_type']} {event['name']}" for number, event in enumerate(events, 1)]
    assert page.locator("printed-run dt").count() >= len(events)
    expect(page.locator("printed-run")).to_be_visible()
    expect(page.locator("event-rows").first).to_be_hidden()


def test_a_long_run_is_made_ready_for_printing_when_somebody_prints_it(
    open_file: Callable[..., Page], files: Files
) -> None:
    """Making thousands of pages ready for nobody would cost everybody who only looks."""
    page = open_file(files.address("long"))
    page.evaluate("() => { window.print = () => document.body.setAttribute('data-printed', ''); }")
    assert page.locator("printed-run[data-whole]").count() == 0

    page.keyboard.press("Control+p")
    page.wait_for_selector("body[data-printed]", timeout=60_000)

    assert page.locator("printed-run section").count() == len(files.log("long"))
