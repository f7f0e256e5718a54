"""
What people come to the page for, done by somebody who sees it for the first time.

Each task uses only what is visible or on the list of keys, and takes at most five actions: a click, a key, a text typed
into a field.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Recorded, settle
from tests.browser.gallery import Story, write_gallery
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.browser

MOST_ACTIONS = 5
# What scrolls inside the page hides what stands outside it, too.
_IN_THE_WINDOW = """target => new Promise((answer) =>
    new IntersectionObserver(([seen]) => answer(seen.intersectionRatio > 0.5)).observe(target))"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """The gallery, and what `agentdbg demo` records."""
    data_dir = tmp_path_factory.mktemp("tasks")
    runs = write_gallery(data_dir)
    environment = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir)}
    subprocess.run([sys.executable, "-m", "agentdbg", "demo", "--no-view"], env=environment, check=True, timeout=120)
    with viewer(data_dir) as running:
        yield Recorded(data_dir, runs, running)


class Reader:
    """Somebody at the page; counts what they do."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0

    def click(self, target: Locator) -> None:
        """Click something that can be seen; what stands outside the window has to be scrolled to, which counts."""
        expect(target).to_be_visible()
        if not target.evaluate(_IN_THE_WINDOW) and not target.evaluate(_IN_THE_WINDOW):  # it may just be drawn anew
            target.scroll_into_view_if_needed()
            self._count()
        target.click()
        self._count()

    def press(self, key: str) -> None:
        """Press a key."""
        self.page.keyboard.press(key)
        self._count()

    def type(self, text: str) -> None:
        """Type into the field that has the focus."""
        self.page.keyboard.type(text)
        self._count()

    def _count(self) -> None:
        self.actions += 1
        assert self.actions <= MOST_ACTIONS

    def sees(self, selector: str, text: str) -> None:
        """What the reader wanted to know stands in the part of the page that is in sight."""
        found = self.page.locator(selector).filter(has_text=text).first
        expect(found).to_be_in_viewport()


@pytest.fixture
def read(open_page: Callable[..., Page], recorded: Recorded) -> Callable[..., Reader]:
    """Opens the page on a run."""
    return lambda agent, **options: Reader(open_page(recorded.address(agent), **options))


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("demo: read an invoice", "KeyError"),
        ("demo: book a flight", "book failed 4 times with the same error"),
        ("invoice-triage", "due_date"),
    ],
)
def test_find_why_a_run_failed(read: Callable[..., Reader], name: str, cause: str) -> None:
    """The first question of all."""
    reader = read("chart")
    reader.click(reader.page.locator("run-rail .run", has_text=name).first)

    reader.sees("run-verdict .lines li", cause)


def test_find_the_slowest_of_a_thousand_calls(read: Callable[..., Reader]) -> None:
    """Scrolling through a thousand rows is no answer."""
    reader = read("thousand")
    reader.click(reader.page.get_by_role("button", name="Sort by time"))

    expect(reader.page.locator("event-rows .row").first).to_contain_text("9.0 s")
    reader.sees("event-rows .row", "answer 412")


def test_find_the_call_whose_prompt_holds_a_word(read: Callable[..., Reader]) -> None:
    """A word somebody remembers is often all there is."""
    reader = read("thousand")
    reader.press("/")
    reader.type("walrus")
    reader.press("Enter")

    reader.sees("event-rows .row[aria-selected=true]", "answer 731")


def test_see_what_changed_between_two_calls(read: Callable[..., Reader]) -> None:
    """Why did it answer differently this time?"""
    reader = read("chart")
    reader.press("End")
    reader.press("ArrowUp")
    reader.press("Enter")
    reader.click(reader.page.get_by_role("tab", name="Changes"))

    reader.sees("event-changes .since", "3 messages added, 1 edited · system prompt")


def test_see_the_newest_message_of_a_prompt_of_300(read: Callable[..., Reader]) -> None:
    """It is the one that was just written, and the one that matters."""
    reader = read("talk")
    reader.click(reader.page.locator("event-rows .row", has_text="Rack 12 is empty"))

    reader.sees("event-conversation .turn", "And the newest question: which rack is empty?")


def test_find_a_run_by_its_session(read: Callable[..., Reader]) -> None:
    """The session's id is what stands in everyone's own logs."""
    reader = read("chart")
    reader.press("r")
    reader.type("session_id=s-12")

    expect(reader.page.locator("run-rail .run")).to_have_count(1)
    reader.sees("run-rail .run", "research-crew")


def test_compare_with_the_last_good_run(read: Callable[..., Reader]) -> None:
    """What differs from the run that worked is usually the cause."""
    reader = read("support")
    reader.press("d")
    reader.click(reader.page.locator("run-rail .run", has_text="I have refunded 40.00 EUR").first)

    reader.sees("run-compare", "refund got amount")


def test_see_the_state_at_a_step(read: Callable[..., Reader]) -> None:
    """What did the program know when it did that?"""
    reader = read("support")
    reader.press("4")
    reader.click(reader.page.locator("time-travel .step", has_text="send_email"))

    reader.sees("time-travel .state .state-key", "paid_out")
    reader.sees("time-travel .state", "4000")
    reader.click(reader.page.locator("time-travel .step", has_text="state").last)
    reader.sees("time-travel .state h2", "this step: 1 added, 2 changed")
    reader.sees("time-travel .source", "record_state(state)")


def test_a_link_into_time_travel_shows_the_steps_around(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The cursor is brought into sight, and what lies before and after it is drawn from the first moment on."""
    page = open_page(recorded.address("support", view="travel", event="16"), ready="time-travel .step")
    expect(page.locator("time-travel .step[aria-selected=true]")).to_be_in_viewport()
    # Steps are drawn anew while their words come, so both places are asked for in one moment.
    page.wait_for_function(
        """() => {
          const [list, first] = [".steps .scroller", ".step"].map((part) =>
            document.querySelector(`time-travel ${part}`)?.getBoundingClientRect());
          return list && first && first.top <= list.top + 1;
        }"""
    )


def test_an_error_that_only_the_result_tells_has_the_colour_of_a_problem(read: Callable[..., Reader]) -> None:
    """The call counts as done, so nothing else would show that it gave nothing."""
    reader = read("support")
    row = reader.page.locator("#event-8")

    expect(row).to_have_attribute("data-state", "problem")
    assert "reports an error: no order A17" in (row.get_attribute("aria-label") or "")


def test_open_the_source_line_in_an_editor(read: Callable[..., Reader]) -> None:
    """From the step to the code that made it."""
    reader = read("support")
    reader.click(reader.page.locator("event-rows .row", has_text="check_policy").last)
    link = reader.page.locator("event-facts .place a")

    expect(link).to_be_in_viewport()
    expect(link).to_have_attribute("href", re.compile(r"^vscode://file/.*/code/shop/agent\.py:52$"))


def test_share_a_run(read: Callable[..., Reader]) -> None:
    """A colleague has neither the tool nor the files."""
    reader = read("support")
    with reader.page.expect_download() as download:
        reader.click(reader.page.get_by_role("button", name="Share", exact=True))

    assert download.value.suggested_filename.endswith(".html")


def test_delete_a_run_and_undo_it(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A slip must not cost a run."""
    story = Story("deleted by a slip", 5)  # a run of its own: should it stay deleted, no other test misses it
    story.tool("look", {}, "found", 5)
    story.write(recorded.data_dir)
    page = open_page(f"{recorded.viewer.origin}/?run_id={story.run_id}")
    reader = Reader(page)
    row = page.locator("run-rail .run", has_text="deleted by a slip")
    expect(row).to_have_count(1)
    reader.click(reader.page.get_by_role("button", name="More actions"))
    reader.click(reader.page.locator("#run-menu [data-action=delete-run]"))
    expect(row).to_have_count(0)
    reader.click(reader.page.get_by_role("button", name="Undo"))

    expect(row).to_have_count(1)
    shutil.rmtree(recorded.data_dir / "runs" / story.run_id)


def test_read_the_failed_call_by_keyboard_alone(read: Callable[..., Reader]) -> None:
    """Hands stay where they are."""
    reader = read("invoice")
    reader.press("e")
    reader.press("Enter")

    reader.sees("event-details .failure", "due_date")


def test_choose_two_runs_in_the_table_and_compare_them(read: Callable[..., Reader]) -> None:
    """Two of many, picked where all of them can be seen."""
    reader = read("chart")
    reader.press("T")
    reader.type("version=2.4.1 name=support-agent")
    rows = reader.page.locator("runs-table .run-row")
    expect(rows.first).to_contain_text("4,000.00")
    expect(rows).to_have_count(4)  # the search has come to its end
    for row in (rows.nth(0), rows.nth(1)):
        reader.click(row.get_by_role("checkbox"))
    reader.click(reader.page.locator("runs-table").get_by_role("button", name="Compare"))

    expect(reader.page.locator("run-compare")).to_be_visible()


def test_find_a_run_by_what_stands_inside_it(read: Callable[..., Reader]) -> None:
    """A word of a prompt is remembered long after the name of the run."""
    reader = read("chart")
    reader.press("T")
    reader.type("walrus")
    row = reader.page.locator("runs-table .run-row", has_text="thousand calls")
    expect(row).to_contain_text("in #")
    reader.click(row)

    reader.sees("event-rows .row[aria-selected=true]", "answer 731")


def test_terms_are_chips_and_unknown_keys_are_answered(read: Callable[..., Reader]) -> None:
    """A mistyped key finds nothing, and the page says why instead of leaving the reader to look at the data."""
    reader = read("chart")
    reader.press("T")
    reader.type("sesion_id=s-12")
    reader.sees("runs-table .nothing", "No run has the key sesion_id. Did you mean session_id?")
    reader.click(reader.page.get_by_role("button", name="Remove sesion_id=s-12"))

    expect(reader.page.locator("runs-table .run-row").first).to_be_visible()


def test_choose_the_columns_of_the_table(read: Callable[..., Reader]) -> None:
    """What people write into metadata is what they want to see side by side, and it stays chosen."""
    reader = read("chart")
    reader.press("T")
    head = reader.page.get_by_role("columnheader", name="version")
    expect(head).to_be_visible()
    reader.click(reader.page.get_by_role("button", name="Columns"))
    reader.click(reader.page.get_by_role("checkbox", name="version"))
    expect(head).to_have_count(0)
    reader.page.reload()
    expect(reader.page.locator("runs-table .run-row").first).to_be_visible()
    expect(head).to_have_count(0)


def test_a_reload_keeps_the_place_in_rows_and_table(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Whoever reloads to see whether something is new wants to go on reading where they were."""
    page = open_page(recorded.address("thousand"), height=600)
    for ready, scroller in (("event-rows .outcome", "event-rows .scroller"), (".run-row", "runs-table .scroller")):
        if scroller.startswith("runs"):
            page.goto(recorded.address("", view="runs"))
        page.wait_for_selector(ready)
        page.locator(scroller).evaluate("scroller => scroller.scrollTop = 150")
        page.wait_for_function("() => history.state?.top === 150 || history.state?.table?.top === 150")
        page.reload()
        page.wait_for_selector(ready)
        page.wait_for_function("path => document.querySelector(path).scrollTop === 150", arg=scroller)


def test_the_list_of_runs_is_made_wider_by_key_and_stays_so(read: Callable[..., Reader]) -> None:
    """Names differ at their end."""
    reader = read("support")
    edge = reader.page.get_by_role("separator", name="Width of the list of runs")
    edge.focus()
    for _ in range(4):
        reader.press("ArrowRight")
    reader.page.reload()

    expect(reader.page.locator("run-rail")).to_have_css("width", "320px")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_an_event_that_a_link_names_is_open_in_sight(
    open_page: Callable[..., Page], recorded: Recorded, width: int, height: int
) -> None:
    """The suspects come later than the rows, and must not push it out at the bottom."""
    page = open_page(recorded.address("chart", event="36"), width=width, height=height, ready="event-conversation")
    expect(page.locator("run-suspects li").first).to_be_attached()

    expect(page.locator("event-conversation").get_by_text("You repair charts.").first).to_be_in_viewport()


def test_an_open_event_has_most_of_a_phones_screen(read: Callable[..., Reader]) -> None:
    """Who reads an event does not read the suspects."""
    reader = read("support", width=390, height=844, ready="run-suspects li >> nth=0")
    rows = reader.page.locator("event-rows .scroller")
    before = rows.evaluate("rows => rows.clientHeight")
    reader.click(reader.page.locator("event-rows .row", has_text="get_customer").last)

    expect(reader.page.locator("run-suspects")).to_be_hidden()
    reader.page.wait_for_function(
        "most => document.querySelector('event-rows .scroller').clientHeight > most", arg=max(before, 844 / 2)
    )
    reader.press("Escape")
    expect(reader.page.locator("run-suspects")).to_be_visible()


def test_the_first_letters_of_a_runs_id_open_it(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """They are what `agentdbg list` and the page show of an id."""
    whole = recorded.runs["crew"]
    page = open_page(f"{recorded.viewer.origin}/?run_id={whole[:8]}")

    expect(page.locator("run-verdict .name")).to_have_text("research-crew")
    page.keyboard.press("2")
    page.wait_for_url(f"**run_id={whole}**")


def test_a_run_takes_two_lines_of_44_pixels_on_a_phone(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A name cut to three letters names nothing."""
    page = open_page(recorded.address("", view="runs"), width=390, height=844, ready="runs-table .run-row")
    # One look, at what stands there: the table may draw its rows anew between two.
    page.wait_for_function(
        """() => {
          const row = [...document.querySelectorAll("runs-table .run-row")]
            .find((one) => one.textContent.includes("invoice-triage"));
          const [name, outcome] = [".who .cut", ".outcome"].map((part) => row?.querySelector(part));
          return row && row.getBoundingClientRect().height >= 44 && name.scrollWidth <= name.clientWidth &&
            outcome.offsetTop > name.offsetTop;
        }"""
    )


def test_a_reload_keeps_the_row_and_the_place(read: Callable[..., Reader]) -> None:
    """Whoever reloads wants the same page, not its beginning."""
    reader = read("thousand")
    reader.press("End")
    selected = reader.page.locator("event-rows .row[aria-selected=true]")
    expect(selected).to_be_in_viewport()
    number: Any = selected.get_attribute("data-n")
    reader.page.reload()

    expect(reader.page.locator(f"#event-{number}[aria-selected=true]")).to_be_in_viewport()


def test_mark_a_run_as_failed_and_take_it_back(read: Callable[..., Reader]) -> None:
    """Whether a run did its task is often known only to whoever reads it."""
    reader = read("crew")
    word = reader.page.locator("run-verdict .word")
    expect(word).to_have_text("Finished")
    reader.click(reader.page.get_by_role("button", name="More actions"))
    reader.click(reader.page.get_by_role("button", name="Mark as failed"))
    reader.page.keyboard.press("Enter")  # no reason given
    expect(word).to_have_text("Finished with problems")
    reader.click(reader.page.get_by_role("button", name="More actions"))
    reader.click(reader.page.get_by_role("button", name="Clear mark"))

    expect(word).to_have_text("Finished")


def test_mark_runs_in_the_table_say_why_and_take_it_back(read: Callable[..., Reader], recorded: Recorded) -> None:
    """Whoever goes through last night's runs marks them where they stand, and the next reader learns why."""
    reader = read("chart")
    run_id = recorded.runs["crew"]

    def mark() -> Any:
        return recorded.viewer.ask(f"/api/runs/{run_id}").json().get("mark")

    reader.press("T")
    row = reader.page.locator(f'runs-table [data-run-id="{run_id}"]')
    reader.click(row.get_by_role("checkbox"))
    reader.press("-")
    expect(reader.page.locator("#mark-why")).to_be_focused()
    reader.page.keyboard.press("Escape")
    assert mark() is None, "giving up marks nothing"
    reader.page.locator("runs-table .chosen-bar").get_by_role("button", name="Mark as failed").click()
    reader.type("cites a paper that does not exist")
    reader.page.keyboard.press("Enter")
    expect(row).to_have_attribute("data-tone", "problem")
    assert "cites a paper" in str(mark())
    reader.page.locator("runs-table .chosen-bar").get_by_role("button", name="Clear mark").click()
    expect(row).to_have_attribute("data-tone", "ok")

    assert mark() is None


def test_every_item_of_the_menu_has_its_key(read: Callable[..., Reader]) -> None:
    """What can be done by hand can be done by key, and the menu says which."""
    reader = read("crew")
    reader.click(reader.page.get_by_role("button", name="More actions"))
    items = reader.page.locator("#run-menu button")

    assert items.count() > 5
    assert items.locator("kbd").count() == items.count()


ROWS_OF_THE_VERDICT = """() => {
    const tops = new Set();
    for (const line of document.querySelectorAll("run-verdict .sentence")) {
        const box = line.getBoundingClientRect();
        for (let y = box.top; y + 12 < box.bottom; y += 20) tops.add(Math.round(y));
    }
    return tops.size;
}"""


@pytest.mark.parametrize("name", ["demo: book a flight", "demo: read an invoice", "chart-fixer"])
def test_the_verdict_takes_at_most_three_rows(read: Callable[..., Reader], name: str) -> None:
    """What happened is read below it, and needs the room."""
    reader = read("invoice", width=1280)
    reader.press("r")
    reader.type(name)  # in the evening the rail shows so many runs of today that those of yesterday are out of sight
    reader.click(reader.page.locator("run-rail .run", has_text=name).first)
    expect(reader.page.locator("run-verdict .name")).to_have_text(name)
    expect(reader.page.locator("run-verdict .lines li").first).to_be_visible()

    settle(reader.page)
    assert 1 <= reader.page.evaluate(ROWS_OF_THE_VERDICT) <= 3


OVERLAPS = """() => {
    const boxes = [...document.querySelectorAll("run-strip .suspect, run-strip .loop span")]
        .map((mark) => mark.getBoundingClientRect()).filter((box) => box.width > 0);
    return boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) =>
        a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
}"""


def test_ranks_and_the_word_loop_do_not_collide(read: Callable[..., Reader]) -> None:
    """Two marks on top of each other say nothing."""
    reader = read("invoice", width=390, height=844, ready="event-rows .row")
    reader.click(reader.page.get_by_role("button", name="Back to the runs"))
    reader.click(reader.page.locator("run-rail .run", has_text="demo: book a flight").first)
    expect(reader.page.locator("run-strip .suspect").first).to_be_visible()
    expect(reader.page.locator("run-strip .loop").first).to_be_visible()

    reader.page.wait_for_function(f"() => ({OVERLAPS})() === 0")  # the strip is drawn once more when it knows its width


@pytest.mark.parametrize("more", [{"view": "waterfall"}, {"sort": "time"}, {"view": "travel"}])
@pytest.mark.parametrize("width", [320, 390, 768, 1100])
def test_no_view_is_wider_than_the_window(
    open_page: Callable[..., Page], recorded: Recorded, width: int, more: dict[str, str]
) -> None:
    """A page that scrolls sideways hides what stands at the right."""
    ready = "time-travel .step" if more.get("view") == "travel" else "event-rows .row .name-text"
    page = open_page(recorded.address("crew", **more), width=width, ready=ready)

    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    chips = "[...document.querySelectorAll('tool-bar .chip')].map((chip) => chip.getBoundingClientRect())"
    side_by_side = f"{chips}.filter((box) => box.width).every((box, at, all) => !at || box.left >= all[at - 1].right)"
    assert page.evaluate(side_by_side)
