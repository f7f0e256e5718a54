"""Reading a run: what is said first, opening events, filtering, searching, keys and addresses."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.agents import BIG_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.browser.conftest import Recorded

pytestmark = pytest.mark.browser


OpenPage = "Callable[..., Page]"


def selected(page: Page) -> int:
    """The number of the selected event."""
    return int(page.locator("event-rows .row[aria-selected=true]").get_attribute("data-n") or 0)


def test_the_first_thing_seen_is_what_went_wrong(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A developer opens a failed run to learn why, so the cause stands above everything, in words."""
    page = open_page(recorded.address("failing"))

    expect(page.locator("run-verdict .word")).to_have_text("Failed")
    expect(page.locator("run-verdict .lines li").first).to_contain_text("book_reservation")
    expect(page.locator("run-verdict .lines li").first).to_contain_text("payment amount does not add up")
    assert page.title().startswith("✕ airline-agent")

    page.locator("run-verdict .jump").first.click()
    row = page.locator("event-rows .row[aria-selected=true]")
    expect(row).to_have_attribute("data-event-type", "TOOL_CALL")
    expect(row).to_contain_text("payment amount does not add up")


def test_a_row_says_what_happened_without_being_opened(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Opening an event is for depth, not for finding out what it was."""
    page = open_page(recorded.address("healthy"))
    row = page.locator("event-rows [data-event-type=TOOL_CALL]").first

    expect(row).to_contain_text("find_order")
    expect(row).to_contain_text("shipped")
    assert re.fullmatch(r"[0-9a-f-]{36}", row.get_attribute("data-event-id") or "")


def test_an_event_opens_in_place_and_closes_again(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The row stays as the header of what hangs under it."""
    page = open_page(recorded.address("healthy"))
    row = page.locator("event-rows [data-event-type=TOOL_CALL]").first
    row.click()
    details = page.locator("event-rows event-details")
    expect(details).to_be_visible()
    expect(page).to_have_url(re.compile(r"event=\d+"))

    details.get_by_role("tab", name="JSON").click()
    text = details.get_by_role("tabpanel").filter(visible=True).inner_text()
    assert str(BIG_INTEGER) in text, "integers over 2^53 keep their digits"
    row.click()
    expect(details).to_have_count(0)


def test_a_value_says_where_it_came_from_under_the_pointer(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Whether an argument was given, found or made up is the first question about a wrong call."""
    page = open_page(recorded.address("healthy"))
    page.locator("event-rows [data-event-type=TOOL_CALL]").first.click()
    value = page.locator("event-rows event-details").get_by_text(str(BIG_INTEGER)).first
    expect(value).to_be_visible()
    value.hover()

    tip = page.locator(".origin-tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text(f"{BIG_INTEGER}: from nowhere")
    page.locator("run-verdict").hover()
    expect(tip).to_be_hidden()


def test_going_back_closes_what_was_opened(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Run, view and opened event are entries in the history, so the back button does what it says."""
    page = open_page(recorded.address("healthy"))
    page.locator("event-rows [data-event-type=TOOL_CALL]").first.click()
    expect(page.locator("event-details")).to_have_count(1)
    page.go_back()

    expect(page.locator("event-details")).to_have_count(0)


def test_chips_filter_by_type_and_say_how_many(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The counts are those of the whole run, and what is left out is said."""
    page = open_page(recorded.address("healthy"))
    chip = page.locator("[data-filter=TOOL_CALL]")
    expect(chip).to_contain_text("3")
    chip.click()

    expect(page.locator("event-rows .row")).to_have_count(3)
    expect(page.locator(".row-note")).to_contain_text("3 of")
    page.locator("[data-filter=LLM_CALL]").click()
    expect(page.locator("event-rows .row")).to_have_count(7)
    page.locator("[data-filter=all]").click()
    expect(page.locator(".row-note")).to_be_hidden()


def test_errors_only_shows_failed_calls_and_exceptions(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """One click from any run to what failed in it."""
    page = open_page(recorded.address("failing"))
    page.locator("[data-filter=errors]").click()

    expect(page).to_have_url(re.compile("filter=errors"))
    states = page.locator("event-rows .row").evaluate_all("rows => rows.map((row) => row.dataset.state)")
    assert len(states) >= 4
    assert set(states) == {"failed"}


def test_search_finds_marks_and_steps(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A match far below is one key away, and the rows around it stay."""
    page = open_page(recorded.address("long"))
    page.keyboard.press("/")
    page.keyboard.type("needle")
    expect(page.locator("tool-bar .count")).to_have_text("1")
    page.keyboard.press("Enter")

    row = page.locator("event-rows .row[aria-selected=true]")
    expect(row.locator("mark")).to_have_text("needle")
    expect(page.locator("tool-bar .count")).to_have_text("1 of 1")
    page.locator("[data-filter=LLM_CALL]").click()
    expect(page.locator(".row-note")).to_contain_text("No event matches needle among LLM. 1 match in other events.")
    page.locator(".row-note button").click()
    expect(row).to_be_visible()


def test_every_step_has_a_key(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Whoever debugs all day does it without the mouse."""
    page = open_page(recorded.address("failing"))
    page.keyboard.press("e")
    first = selected(page)
    expect(page.locator(f"#event-{first}")).to_have_attribute("data-state", "failed")
    page.keyboard.press("e")
    assert selected(page) > first
    page.keyboard.press("E")
    assert selected(page) == first
    page.keyboard.press("j")
    assert selected(page) == first + 1
    page.keyboard.press("ArrowUp")
    assert selected(page) == first
    page.keyboard.press("Enter")
    expect(page.locator("event-details")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("event-details")).to_have_count(0)
    page.keyboard.press("l")
    expect(page.locator("event-rows .row[aria-selected=true]")).to_have_attribute("data-event-type", "LOOP_WARNING")
    page.keyboard.press("!")
    expect(page.locator("[data-filter=errors]")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(page.locator("[data-filter=errors]")).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()


def test_letters_are_silent_in_fields_and_can_be_turned_off(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Speech input types letters, so single-letter keys must be optional."""
    page = open_page(recorded.address("failing"))
    page.keyboard.press("/")
    page.keyboard.type("eee")
    expect(page.locator("[data-search]")).to_have_value("eee")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    expect(page.locator("[data-view=list]")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowDown")
    assert selected(page) == 1


def test_switching_the_view_keeps_the_selected_row_in_its_place(
    open_page: Callable[..., Page], recorded: Recorded
) -> None:
    """Three views of the same rows: the eye should not have to look for its place again."""
    page = open_page(recorded.address("long"))
    page.keyboard.press("/")
    page.keyboard.type("needle")
    page.keyboard.press("Enter")
    row = page.locator("event-rows .row[aria-selected=true]")
    expect(row).to_be_visible()
    page.keyboard.press("Escape")
    before = row.bounding_box()
    page.locator("[data-view=waterfall]").click()
    expect(row.locator(".waterfall .bar")).to_be_visible()
    after = row.bounding_box()

    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 2


def test_the_tree_folds_and_unfolds(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A span holds what happened inside it, and can be put away."""
    page = open_page(recorded.address("healthy", view="tree"))
    span = page.locator("event-rows .row[data-kind=span]").first
    expect(span).to_have_attribute("aria-expanded", "true")
    rows = page.locator("event-rows .row")
    count = rows.count()
    span.locator(".fold").click()
    expect(span).to_have_attribute("aria-expanded", "false")
    expect(rows).to_have_count(count - 2)
    page.keyboard.press("ArrowRight")
    expect(rows).to_have_count(count)


def test_the_address_holds_run_view_filter_search_and_event(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A link in a bug report shows the reader what the writer saw."""
    page = open_page(recorded.address("failing", view="tree", filter="TOOL_CALL", q="1203", event="3"))

    expect(page.locator("[data-view=tree]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-filter=TOOL_CALL]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-search]")).to_have_value("1203")
    expect(page.locator("event-rows mark").first).to_have_text("1203")
    expect(page.locator("event-rows event-details")).to_be_visible()
    assert selected(page) == 3


def test_a_link_by_event_id_opens_that_event(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Other tools know an event by its id, not by its number."""
    answer = recorded.viewer.ask(f"/api/runs/{recorded.runs['long']}/rows?offset=2500&limit=1")
    row = json.loads(answer.body)["rows"][0]
    page = open_page(recorded.address("long", event=row["event_id"]))

    expect(page.locator("event-rows event-details")).to_be_visible()
    assert selected(page) == row["n"]


def test_an_event_moves_to_the_side_and_back(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Beside the list, the open event follows the selection."""
    page = open_page(recorded.address("healthy"))
    page.locator("event-rows [data-event-type=TOOL_CALL]").first.click()
    page.keyboard.press("\\")
    side = page.locator(".side event-details")
    expect(side).to_be_visible()
    expect(side).to_contain_text("find_order")
    page.keyboard.press("k")
    expect(page.locator(".side event-details")).to_contain_text("gpt-4o")
    page.keyboard.press("\\")
    expect(page.locator("event-rows event-details")).to_be_visible()
    expect(page.locator(".side")).to_be_hidden()


def test_thousands_of_events_are_few_nodes(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Only what is in sight is in the page, also after walking from one end to the other."""
    page = open_page(recorded.address("long"))
    page.locator("event-rows .scroller").focus()
    page.keyboard.press("End")
    expect(page.locator("event-rows .row[aria-selected=true]")).to_have_attribute("data-event-type", "RUN_END")
    expect(page.locator("event-rows [data-event-id]").last).to_be_visible()

    assert page.evaluate("() => document.querySelectorAll('*').length") < 3000
    page.keyboard.press("Home")
    expect(page.locator("event-rows .row[aria-selected=true]")).to_have_attribute("data-event-type", "RUN_START")


def test_the_end_is_the_end_also_before_all_has_come(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Only the first rows come with the page; who asks for the last of them means the last of all."""
    page = open_page(recorded.address("healthy"))
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/skeleton*", hold_the_first)
    with page.expect_request("**/skeleton*"):
        page.locator(f"[data-run-id='{recorded.runs['long']}']").click()
    expect(page.locator("event-rows .row .outcome").nth(12)).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("event-rows .row[aria-selected=true]")).to_be_visible()
    held[0].continue_()

    expect(page.locator("event-rows .row[aria-selected=true]")).to_have_attribute("data-event-type", "RUN_END")


def test_the_report_for_an_assistant_is_one_key_away(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """What failed, in a form that can be pasted into a conversation."""
    page = open_page(recorded.address("failing"), permissions=["clipboard-read", "clipboard-write"])
    page.keyboard.press("c")
    expect(page.locator("run-verdict .report")).to_contain_text("Copied")
    report = page.evaluate("() => navigator.clipboard.readText()")

    assert "book_reservation" in report
    assert "payment amount does not add up" in report


def test_a_loop_is_numbered_in_the_gutter(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The rounds of a loop are seen as rounds, not as rows that happen to look alike."""
    page = open_page(recorded.address("failing"))

    expect(page.locator("event-rows .round").first).to_have_text("1")
    expect(page.locator("event-rows .round").nth(1)).to_have_text("2")
    expect(page.locator("run-strip .loop")).to_be_visible()


def test_the_pointer_of_the_strip_stands_on_no_word(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A triangle over `0 s` is neither a triangle nor a time."""
    page = open_page(recorded.address("healthy"))
    first = page.locator("run-strip .tick").first
    expect(first).to_be_visible()
    page.keyboard.press("Home")

    expect(page.locator("run-strip .pointer")).to_be_visible()
    expect(first).to_be_hidden()
    expect(page.locator("run-strip .tick:not([data-under])").first).to_be_visible()


def test_first_rows_that_were_lost_are_asked_for_again(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A connection that breaks at the wrong moment must not leave an empty page."""
    page = open_page(recorded.address("healthy"), expected="ERR_FAILED")
    lost: list[str] = []

    def lose_the_first(route: Route) -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route.request.url)
            route.abort()

    page.route("**/rows?offset=0*", lose_the_first)
    page.locator(f"[data-run-id='{recorded.runs['failing']}']").click()
    expect(page.locator("event-rows .row[data-state='failed'] .outcome").first).to_be_visible()

    assert len(lost) == 1


def test_a_program_can_type_into_the_search(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The field is a stable hook for automation, which does not always give it the focus first."""
    page = open_page(recorded.address("failing"))
    page.evaluate("""() => {
        const field = document.querySelector("[data-search]");
        field.value = "payment";
        field.dispatchEvent(new Event("input", { bubbles: true }));
    }""")

    expect(page.locator("event-rows mark").first).to_be_visible()
