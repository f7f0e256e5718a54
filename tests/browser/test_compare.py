"""Two runs side by side: chosen from the list, aligned, walked through, and as quick with 50,000 events as with 100."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Recorded, record
from tests.browser.pairs import write_pair
from tests.browser.test_manners import axe_findings
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.browser


READY = "compare-rows .item"
COMPARING_MS = 120_000
"""Comparing 50,000 events a side takes a while on a busy machine; what is tested comes after it."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Two short runs of one task, two long ones, and two of agents that have nothing in common."""
    data_dir = tmp_path_factory.mktemp("compare")
    runs = record(data_dir, "hostile", "healthy", "failing")
    runs["short a"], runs["short b"] = write_pair(data_dir, 100)
    runs["long a"], runs["long b"] = write_pair(data_dir, 50_000)
    with viewer(data_dir) as running:
        yield Recorded(data_dir, runs, running)


@pytest.fixture
def open_pair(open_page: Callable[..., Page], recorded: Recorded) -> Callable[..., Page]:
    """Opens the comparison of two runs by its address."""

    def make(a: str = "short a", b: str = "short b", **options: object) -> Page:
        page = open_page(recorded.address(a, compare=recorded.runs[b]), ready="", **options)
        page.wait_for_selector(READY, timeout=COMPARING_MS)
        return page

    return make


def test_the_other_run_is_chosen_from_the_list(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The run in question is open; the one that worked is a click away, and the older of the two is A."""
    page = open_page(recorded.address("short b"))
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Compare with another run").click()
    expect(page.locator("run-rail .pick")).to_contain_text("Choose the run to compare with booker")
    page.locator(f"run-rail [data-run-id='{recorded.runs['short a']}']").click()
    expect(page.locator("run-compare .word")).to_contain_text("Different effects")

    assert f"run_id={recorded.runs['short a']}&compare={recorded.runs['short b']}" in page.url
    for name, letter in (("short a", "A"), ("short b", "B")):
        expect(page.locator(f"run-rail [data-run-id='{recorded.runs[name]}'] .badge")).to_have_text(letter)
    for part in ("run-verdict", "run-strip", "tool-bar", "event-rows"):
        expect(page.locator(part)).to_be_hidden()
    page.go_back()
    expect(page.locator("run-verdict .name")).to_have_text("booker")
    expect(page.locator("run-compare")).to_be_hidden()
    assert recorded.runs["short b"] in page.url


def test_it_is_chosen_without_a_mouse_and_given_up_with_escape(
    open_page: Callable[..., Page], recorded: Recorded
) -> None:
    """`d`, arrows through the runs, Enter; Escape undoes one layer at a time."""
    page = open_page(recorded.address("failing"))
    expect(page.locator("run-rail [data-run-id]").first).to_be_visible()
    page.keyboard.press("d")
    page.keyboard.press("Escape")
    expect(page.locator("run-rail .pick")).to_be_hidden()
    page.keyboard.press("d")
    page.keyboard.press("ArrowDown")
    expect(page.locator("run-compare .word")).to_contain_text("effects")
    page.keyboard.press("Enter")
    expect(page.locator("run-rail .pick")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("run-compare")).to_be_hidden()
    expect(page.locator("event-rows .row").first).to_be_visible()


@pytest.mark.parametrize("length", ["short", "long"])
def test_both_are_aligned_and_the_first_difference_is_a_key_away(
    open_pair: Callable[..., Page], recorded: Recorded, length: str
) -> None:
    """What differs among 50,000 events is found as quickly as among 100."""
    page = open_pair(f"{length} a", f"{length} b")
    expect(page.locator("run-compare .lines")).to_contain_text(
        'book_flight got flights[1].number "HAT172" in A and "HAT132" in B'
    )
    page.keyboard.press("n")
    first = page.locator("compare-rows .pair[data-first]")
    expect(first).to_have_attribute("aria-selected", "true")
    expect(first).to_have_attribute("data-sign", "+")
    expect(first.locator(".half").first).to_contain_text("First difference (only in B")
    expect(first.locator(".half").last).to_contain_text("find_price")
    page.keyboard.press("n")
    effect = page.locator("compare-rows .pair[data-effect][aria-selected=true]")
    expect(effect.locator(".was")).to_have_text('"HAT172"')
    expect(effect.locator(".now")).to_have_text('"HAT132"')
    page.keyboard.press("n")
    expect(page.locator("toast-stack")).to_contain_text("No more changes")

    assert page.evaluate("document.querySelectorAll('*').length") < 3_000


def test_long_numbers_have_room_before_the_signs_of_their_events(open_pair: Callable[..., Page]) -> None:
    """A number of five digits under a picture is one that nobody can read."""
    page = open_pair("long a", "long b")
    page.keyboard.press("n")
    row = page.locator("compare-rows .pair[data-first] .half[data-side=b]")
    number, sign = row.locator(".number"), row.locator(".glyph-cell svg")
    expect(number).to_have_text(re.compile(r"^\d{5}$"))
    text_ends = number.evaluate(
        "cell => { const range = document.createRange(); range.selectNodeContents(cell); "
        "return range.getBoundingClientRect().right }"
    )

    assert text_ends <= sign.evaluate("picture => picture.getBoundingClientRect().left")


def test_a_call_that_only_one_run_made_shows_what_it_was_given(open_pair: Callable[..., Page]) -> None:
    """`sent` says nothing about a mail that the other run did not send; to whom and what does."""
    page = open_pair()
    page.keyboard.press("n")
    what = page.locator("compare-rows .pair[data-first] .half[data-side=b] .what")

    expect(what.locator(".given")).to_be_visible()
    expect(what.locator(".given")).to_contain_text("number: 68")
    expect(what.locator(".outcome")).to_be_hidden()


def test_a_run_that_failed_beside_one_that_did_not_comes_first_and_is_not_green(
    open_pair: Callable[..., Page],
) -> None:
    """The same effects in green, over a run that crashed, would be read as good news."""
    page = open_pair("healthy", "failing")
    colour = "getComputedStyle(document.querySelector('run-compare .word')).color"
    both_fine = open_pair("short a", "short a")

    expect(page.locator("run-compare .lines li").first).to_contain_text(re.compile("^A finished, B failed: "))
    expect(page.locator("run-compare")).to_have_attribute("data-good", "false")
    assert page.evaluate(colour) != both_fine.evaluate(colour)


def test_runs_of_two_names_are_told_apart_by_them(open_pair: Callable[..., Page]) -> None:
    """Both began today at noon; which column is the run that worked, only its name says."""
    page = open_pair("healthy", "short b")
    heads, rows = page.locator("run-compare .heads .half"), page.locator("run-compare tbody th")

    for place, name in enumerate(("support-bot", "booker")):
        expect(heads.nth(place)).to_contain_text(f"{name}, ")
        expect(rows.nth(place)).to_contain_text(f"{name}, finished")
    expect(page).to_have_title("≠ support-bot and booker · AgentDbg")
    page.keyboard.press("Escape")
    expect(page).to_have_title("✓ support-bot · AgentDbg")
    expect(open_pair().locator("run-compare .heads .half").first).not_to_contain_text("booker")


def test_the_address_holds_which_rows_are_shown(open_pair: Callable[..., Page], recorded: Recorded) -> None:
    """Whoever is sent the changes alone, or reloads the page, sees the changes alone."""
    page = open_pair()
    rows = page.locator("compare-rows .pair")
    page.get_by_role("button", name="Effects 1").click()
    expect(page).to_have_url(re.compile(r"&filter=effects$"))
    page.reload()
    expect(rows).to_have_count(1)
    page.keyboard.press("x")
    expect(page).to_have_url(re.compile(f"run_id={recorded.runs['short b']}.*filter=effects"))
    expect(rows).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"compare=[^&]+$"))
    expect(rows.nth(5)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("tool-bar")).to_be_visible()
    assert "filter" not in page.url


def test_only_changes_and_only_effects(open_pair: Callable[..., Page]) -> None:
    """What is the same can be put away altogether."""
    page = open_pair()
    rows = page.locator("compare-rows .pair")
    page.get_by_role("button", name="Changes 2").click()
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Effects 1").click()
    expect(rows).to_have_count(1)
    expect(rows.first).to_have_attribute("data-effect", "")
    page.get_by_role("button", name="All rows").click()
    expect(rows.nth(5)).to_be_visible()


def test_long_stretches_of_the_same_are_folded_and_unfold(open_pair: Callable[..., Page]) -> None:
    """A fold says how much it hides, and shows it where it stands."""
    page = open_pair()
    fold = page.locator("compare-rows .fold").first
    expect(fold).to_contain_text("66 rows, the same but for wording")
    fold.get_by_role("button", name="show").click()
    expect(page.locator("#pair-0")).to_be_visible()


def test_an_open_row_shows_what_changed_word_by_word(open_pair: Callable[..., Page], recorded: Recorded) -> None:
    """From the row to every change in it, and from there to the event itself."""
    page = open_pair()
    page.keyboard.press("N")
    page.keyboard.press("Enter")
    change = page.locator("compare-rows .change")
    expect(change.locator(".path")).to_contain_text("flights[1].number")
    expect(change.locator(".value[data-side=a]")).to_contain_text("HAT172")
    expect(change.locator(".value[data-side=b]")).to_contain_text("HAT132")
    page.get_by_role("link", name=re.compile(r"Open #\d+ in B")).click()
    expect(page.locator("event-rows event-details")).to_contain_text("HAT132")
    assert f"run_id={recorded.runs['short b']}" in page.url
    page.go_back()
    expect(page.locator("run-compare .word")).to_contain_text("Different effects")


def test_both_are_searched_at_once(open_pair: Callable[..., Page]) -> None:
    """What either run holds is marked, counted and stepped through, also where it is folded; the address has it."""
    page = open_pair()
    page.keyboard.press("/")
    page.keyboard.type("day 4")
    count = page.locator("run-compare search-field .count")
    expect(count).to_have_text("6")
    page.keyboard.press("Enter")
    expect(count).to_have_text("1 of 6")
    selected = page.locator("compare-rows .pair[aria-selected=true]")
    expect(selected.locator("mark").first).to_have_text("day 4")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    expect(count).to_have_text("2 of 6")
    expect(selected).to_contain_text("day 40")
    assert "q=day+4" in page.url
    page.reload()
    page.wait_for_selector(READY)
    expect(count).to_have_text("6")
    page.keyboard.press("N")
    expect(count).to_have_text("6 of 6")
    page.keyboard.press("Escape")
    expect(page.locator("compare-rows mark")).to_have_count(0)
    assert "q=" not in page.url


@pytest.mark.parametrize(("text", "sign"), [("204 dollars", "+"), ("HAT132", "!"), ("no such words", "")])
def test_a_match_in_one_run_is_enough(open_pair: Callable[..., Page], text: str, sign: str) -> None:
    """Whoever searches for what B did must not have to know that only B did it."""
    page = open_pair()
    page.locator("[data-compare-search]").fill(text)
    page.locator("[data-compare-search]").press("Enter")
    expect(page.locator("run-compare search-field .count")).to_have_text("1 of 1" if sign else "0")
    if sign:
        expect(page.locator("compare-rows .pair[aria-selected=true]")).to_have_attribute("data-sign", sign)


def test_a_and_b_change_places(open_pair: Callable[..., Page], recorded: Recorded) -> None:
    """What was added is then what is gone."""
    page = open_pair()
    page.get_by_role("button", name="Swap A and B").click()
    expect(page.locator("run-compare .legend")).to_contain_text("only in A 1")
    assert f"run_id={recorded.runs['short b']}&compare={recorded.runs['short a']}" in page.url


def test_a_run_compared_with_itself_is_the_same(open_pair: Callable[..., Page]) -> None:
    """And nothing is left to step to."""
    page = open_pair("short a", "short a")
    expect(page.locator("run-compare .word")).to_contain_text("Same")
    expect(page.locator("run-compare .effects")).to_contain_text("A and B are the same run.")
    expect(page.get_by_role("button", name="Next change")).to_be_disabled()


def test_a_run_that_is_not_there_is_said(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """An address may be older than the runs it names."""
    nobody = "00000000-0000-4000-8000-000000000000"
    page = open_page(recorded.address("short a", compare=nobody), ready="", expected="404")

    expect(page.locator("run-compare .word")).to_have_text("These runs cannot be compared")
    expect(page.locator("run-compare .lines")).to_contain_text(nobody[:8])
    expect(page.locator("run-compare")).to_have_attribute("data-good", "refused")
    for action in ("Next change", "Swap A and B"):
        expect(page.get_by_role("button", name=action)).to_be_disabled()
    page.get_by_role("button", name="Close").click()
    expect(page.locator("event-rows .row").first).to_be_visible()


def test_scrolling_a_long_comparison_keeps_the_page_small(open_pair: Callable[..., Page]) -> None:
    """To the very end of what 50,000 events a side unfold to, with words in every row."""
    page = open_pair("long a", "long b")
    page.locator("compare-rows .fold").first.get_by_role("button", name="show").click()
    page.keyboard.press("End")
    expect(page.locator("#pair-50000 .name").first).to_have_text("run end")
    page.keyboard.press("Home")
    expect(page.locator("#pair-0 .name").first).to_have_text("run start")

    assert page.evaluate("document.querySelectorAll('*').length") < 3_000


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (900, "light"), (390, "dark")])
def test_axe_finds_nothing_in_a_comparison(open_pair: Callable[..., Page], width: int, scheme: str) -> None:
    """Roles, names and contrast hold at every width, with a row open."""
    page = open_pair(width=width, height=844, color_scheme=scheme)
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.locator("compare-rows .opened")).to_be_visible()
    page.keyboard.press("/")
    page.locator("[data-compare-search]").fill("HAT1")
    expect(page.locator("compare-rows mark").first).to_be_visible()

    assert axe_findings(page) == []


def test_axe_finds_nothing_while_a_run_is_chosen(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The question and the runs belong together."""
    page = open_page(recorded.address("short a"))
    page.keyboard.press("d")
    expect(page.locator("run-rail .pick")).to_be_visible()

    assert axe_findings(page) == []


@pytest.mark.parametrize("width", [320, 390, 720, 1000, 1440, 2200])
def test_no_width_scrolls_a_comparison_sideways(open_pair: Callable[..., Page], width: int) -> None:
    """Two columns where there is room, A above B where there is not."""
    page = open_pair(width=width, height=844)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    scroller = (
        "() => { const s = document.querySelector('compare-rows .scroller'); return s.scrollWidth - s.clientWidth; }"
    )
    assert page.evaluate(scroller) <= 0


@pytest.mark.parametrize("width", [390, 1440])
def test_rows_of_a_comparison_have_the_height_the_list_gives_them(open_pair: Callable[..., Page], width: int) -> None:
    """A row of another height would make everything below it jump."""
    page = open_pair("healthy", "failing", width=width, height=844)
    found = page.locator("compare-rows .item").evaluate_all(
        "items => items.map((item) => [item.offsetHeight, item.firstElementChild.dataset.sign ?? 'fold'])"
    )

    for height, sign in found:
        assert height == (28 if width == 1440 else 88 if sign in "!~" else 44), sign


def test_hostile_runs_stay_text_in_a_comparison(open_pair: Callable[..., Page]) -> None:
    """Markup in any field is what the agent said, on either side."""
    for a, b in (("hostile", "healthy"), ("failing", "hostile"), ("hostile", "hostile")):
        page = open_pair(a, b)
        for row in page.locator("compare-rows .pair").all()[:20]:
            row.click()
        page.wait_for_timeout(200)

        assert page.evaluate("window.pwned") is None
        assert page.locator("run-compare script, run-compare iframe, run-compare img").count() == 0


def test_a_phone_chooses_and_compares_in_one_column(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Runs, then the comparison, with a way back."""
    page = open_page(recorded.address("short b"), width=390, height=844)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Compare with another run").click()
    page.locator(f"run-rail [data-run-id='{recorded.runs['short a']}']").click()
    expect(page.locator("run-compare .word")).to_contain_text("Different effects")
    expect(page.locator("run-rail")).to_be_hidden()
    page.get_by_role("button", name="Close the comparison").click()
    expect(page.locator("event-rows .row").first).to_be_visible()


def test_a_phone_searches_both_without_scrolling_sideways(open_pair: Callable[..., Page]) -> None:
    """The field would not fit beside the other choices, so it takes their place when it is asked for."""
    page = open_pair("healthy", "failing", width=390, height=844, has_touch=True)
    field = page.locator("run-compare [data-compare-search]")
    expect(field).to_be_hidden()

    page.locator("run-compare .find").click()
    expect(field).to_be_focused()
    page.keyboard.type("order")
    expect(page.locator("compare-rows mark").first).to_be_visible()
    box = page.locator("run-compare search-field").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390

    page.locator("run-compare search-field .clear").click()
    field.blur()
    expect(field).to_be_hidden()


def test_a_phone_says_which_run_is_a_and_which_is_b(open_pair: Callable[..., Page]) -> None:
    """Letters alone do not tell the run that worked from the one that did not."""
    page = open_pair("healthy", "failing", width=390, height=844)

    heads = page.locator("run-compare .heads .half")
    expect(heads.first).to_contain_text("support-bot")
    expect(heads.last).to_contain_text("airline-agent")
    for head in heads.all():
        expect(head).to_be_in_viewport()


def test_the_words_that_differ_are_marked_and_rows_begin_in_the_first_screen(open_pair: Callable[..., Page]) -> None:
    """Sixty letters that both have say nothing, and who compares wants the rows."""
    page = open_pair(width=1280, height=720)

    expect(page.locator("run-compare .lines li").first.locator("code.was")).to_have_text('"HAT172"')
    expect(page.locator("run-compare .lines li").first.locator("code.now")).to_have_text('"HAT132"')
    expect(page.locator("compare-rows .item").nth(8)).to_be_in_viewport()
    other = page.locator("compare-rows .pair[data-sign='~'] [data-side=b] .other b").first
    expect(other).to_be_visible()


def test_the_two_places_a_sentence_names_stay_together(open_pair: Callable[..., Page]) -> None:
    """`A #11` at the end of a line and `B #11` alone on the next reads as if it belonged to what follows."""
    page = open_pair(width=390, height=844)

    tops = page.locator("run-compare .lines li").evaluate_all(
        "lines => lines.map((line) => [...line.querySelectorAll('.jump')].map((jump) => jump.offsetTop))"
    )
    assert any(len(pair) > 1 for pair in tops)
    assert all(len(set(pair)) <= 1 for pair in tops)
