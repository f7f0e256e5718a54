"""Nothing stands on something else: long numbers, long times, narrow waterfalls and names written from the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Recorded, record
from tests.browser.gallery import Story
from tests.browser.pairs import write_pair
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """A run with spans, two of calls that take minutes, and one of twelve thousand events."""
    data_dir = tmp_path_factory.mktemp("layout")
    runs = record(data_dir, "healthy", "wordy", "arabic")
    runs["many"], _ = write_pair(data_dir, 12_000)
    with viewer(data_dir) as running:
        yield Recorded(data_dir, runs, running)


@pytest.mark.parametrize("view", ["list", "tree", "waterfall"])
@pytest.mark.parametrize("width", [1400, 820])
def test_five_digits_fit_before_the_sign_of_their_event(
    open_page: Callable[..., Page], recorded: Recorded, view: str, width: int
) -> None:
    """The number is what a colleague is told; under a glyph its last digit cannot be read."""
    page = open_page(recorded.address("many", view=view, event="11990"), width=width, ready="#event-11990 .sign")
    number, sign = text_box(page.locator("#event-11990 .number")), text_box(page.locator("#event-11990 .sign"))

    assert number["right"] <= sign["left"] - 4
    tab = page.locator("event-details [role=tab]").first
    assert text_box(tab)["left"] == pytest.approx(text_box(page.locator("#event-11990 .name"))["left"], abs=24)


@pytest.mark.parametrize("width", [1400, 820])
def test_a_call_of_minutes_has_room_for_its_time(
    open_page: Callable[..., Page], recorded: Recorded, width: int
) -> None:
    """`20 min 35 s` is the row somebody looks for, so it must not run into the bar or out of its column."""
    page = open_page(recorded.address("wordy"), width=width)

    for words in ("20 min 35 s", "1 min 30 s"):
        time = page.locator("event-rows .time .digits", has_text=words)
        cell = time.locator("xpath=..").bounding_box()
        shown = text_box(time)
        assert cell is not None
        assert cell["x"] <= shown["left"]
        assert shown["right"] <= cell["x"] + cell["width"] + 0.5
        if width >= 1400:
            assert shown["right"] <= text_box(time.locator("xpath=../*[@class='bar-room']"))["left"]


@pytest.mark.parametrize("width", [1400, 390])
def test_the_time_of_a_bar_that_fills_the_waterfall_stands_in_it(
    open_page: Callable[..., Page], recorded: Recorded, width: int
) -> None:
    """There is no room on either side of the longest call, and the words to its left are not to be written over."""
    page = open_page(recorded.address("wordy", view="waterfall"), width=width, ready="event-rows .bar-label")
    label = page.locator("event-rows .bar-label", has_text="20 min 35 s")
    bar = label.locator("xpath=../*[contains(@class, 'bar')][1]")

    assert text_box(bar)["left"] <= text_box(label)["left"]
    assert text_box(label)["right"] <= text_box(bar)["right"]


@pytest.mark.parametrize("width", [1400, 820, 390])
def test_every_row_of_the_waterfall_draws_in_its_own_row(
    open_page: Callable[..., Page], recorded: Recorded, width: int
) -> None:
    """A moment that slips under its row, to the left of the axis, says the run began before it began."""
    page = open_page(recorded.address("healthy", view="waterfall"), width=width, ready="event-rows .waterfall .moment")
    expect(page.locator("event-rows .row:not(:has(.waterfall > *))")).to_have_count(0)

    slipped = page.locator("event-rows .row").evaluate_all(
        """rows => rows.filter((row) => {
          const [outer, inner] = [row, row.querySelector(".waterfall > *")].map((part) => part.getBoundingClientRect());
          return inner.top < outer.top || inner.bottom > outer.bottom || inner.left < outer.left + 20;
        }).map((row) => row.id)"""
    )
    assert slipped == []


def test_arguments_named_from_the_right_keep_their_order(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """A row is read from the left; two Arabic arguments must not trade places because of how they are written."""
    page = open_page(recorded.address("wordy"))
    parts = page.locator("event-rows .row", has_text="three flights").locator(".input > *")
    expect(parts.first).to_contain_text("من")

    lefts = [text_box(part)["left"] for part in parts.all()]
    assert len(lefts) == 5
    assert lefts == sorted(lefts)


def test_shares_of_a_run_are_never_more_than_all_of_it(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Durations that a program reports may be longer than its run; two million per cent helps nobody."""
    page = open_page(recorded.address("wordy"))

    expect(page.locator("run-verdict .shares")).to_have_text("model 100 %")


@pytest.mark.parametrize("width", [1400, 390])
def test_a_run_that_cannot_be_shown_offers_nothing_to_do_with_it(
    open_page: Callable[..., Page], recorded: Recorded, width: int
) -> None:
    """An address from yesterday may name a run that was deleted: it is said, and only the way back is left."""
    address = f"{recorded.viewer.origin}/?run_id=00000000-0000-4000-8000-000000000000"
    page = open_page(address, width=width, ready="", expected="404 (Not Found)")
    expect(page.locator("page-notices")).to_contain_text("This run cannot be shown")

    for part in ("run-strip", "tool-bar", "run-verdict .title", "run-verdict .actions"):
        expect(page.locator(part)).to_be_hidden()
    expect(page.locator(".progress")).not_to_have_attribute("data-on", "")
    if width < 720:
        page.locator("run-verdict .back").click()
    page.locator(f"run-rail [data-run-id='{recorded.runs['healthy']}']").click()
    expect(page.locator("run-verdict .title")).to_contain_text("support-bot")
    expect(page.locator("tool-bar")).to_be_visible()


@pytest.mark.parametrize("width", [730, 900, 1110, 1280])
def test_a_run_keeps_its_name_in_every_width(open_page: Callable[..., Page], recorded: Recorded, width: int) -> None:
    """Buttons and the date give way first: what is open must be known."""
    page = open_page(recorded.address("wordy"), width=width)
    name = page.locator("run-verdict .name").bounding_box()
    actions = page.locator("run-verdict .actions").bounding_box()

    assert name is not None
    assert actions is not None
    assert name["width"] > 60
    assert name["x"] + name["width"] <= actions["x"]


@pytest.mark.parametrize("width", [910, 1110, 1280, 1920])
def test_the_table_of_runs_fits_its_window(open_page: Callable[..., Page], tmp_path: Path, width: int) -> None:
    """Columns of metadata and scores go where room is short, and what few runs have is no column to begin with."""
    for number in range(12):
        metadata = {"scores": {"correct": 1, "policy": 0.5, "tone": 0.9}, "customer": "a long name of a customer"}
        Story(f"agent {number}", number + 1, {**metadata, **({"rare": "x"} if number == 3 else {})}).write(tmp_path)
    with viewer(tmp_path) as served:
        page = open_page(f"{served.origin}/?view=runs", width=width, ready="runs-table .run-row")
        started = page.locator("runs-table .run-row").first.locator("> :last-child").bounding_box()
        outcome = page.locator("runs-table .run-row .outcome").first.bounding_box()

        assert started is not None
        assert outcome is not None
        assert started["x"] + started["width"] <= width
        assert outcome["width"] >= (180 if width < 1000 else 250)
        expect(page.locator("runs-table .table-heads")).not_to_contain_text("rare")


def test_names_from_the_right_and_endless_ones_stay_in_their_place_in_a_comparison(
    open_page: Callable[..., Page], recorded: Recorded
) -> None:
    """An Arabic name must not take the count beside it along, nor a tool's name push the page wider than the window."""
    address = recorded.address("wordy", compare=recorded.runs["arabic"])
    for width in (1400, 820, 390):
        page = open_page(address, width=width, ready="compare-rows .item")
        expect(page.locator("run-compare .note-line").first).to_contain_text("a_tool_whose_name")
        head = page.locator("run-compare .heads .half").last.locator("span")
        expect(head).to_contain_text("وكيل")

        assert text_box(head.locator("bdi"))["right"] <= text_box(head)["right"] - 40  # ", 5 events"
        notes = page.locator("run-compare .effects").evaluate("part => [part.scrollWidth, part.clientWidth]")
        assert notes[0] <= notes[1]
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1400, 390])
def test_a_name_from_the_right_is_cut_at_its_end(
    open_page: Callable[..., Page], recorded: Recorded, width: int
) -> None:
    """Cut at the wrong side, a name has lost the words it begins with."""
    address = recorded.address("" if width < 720 else "arabic")
    page = open_page(address, width=width, ready="run-rail .run:visible" if width < 720 else "event-rows .outcome")
    name = page.locator("run-rail .run .name", has_text="وكيل").first

    expect(name).to_have_css("direction", "rtl")
    expect(name).to_have_css("text-align", "left")
    expect(page.locator("run-rail .run .name", has_text="patient-agent").first).to_have_css("direction", "ltr")


def test_prose_from_the_right_is_cut_at_its_end_and_a_price_not_at_all(
    open_page: Callable[..., Page], tmp_path: Path
) -> None:
    """A question without its first words is another question, and half a price another price."""
    story = Story("a batch of invoices", 1)
    question = "أريد رحلة من القاهرة إلى طوكيو يوم الثلاثاء " * 9
    called = {"function": {"name": "search", "arguments": "{}"}}
    answer = {"role": "assistant", "content": question, "tool_calls": [called]}
    story.llm("gpt-4o", [{"role": "user", "content": question}], answer, 193_000, tokens=(203_600, 100), cost=1234.5)
    for _ in range(1_000):
        story.tool("search", {}, "found", 0)
    run_id = story.write(tmp_path)
    with viewer(tmp_path) as served:
        page = open_page(f"{served.origin}/?run_id={run_id}")
        row = page.locator("#event-2")
        for side in (".input", ".outcome"):
            expect(row.locator(side)).to_have_css("direction", "rtl")
        role = text_box(row.locator(".role"))
        assert role["right"] == pytest.approx(row.locator(".input").evaluate(RIGHT), abs=1)
        assert text_box(row.locator(".input .plain"))["right"] <= role["left"] - 6
        figures = page.locator("run-rail .run .figures")
        expect(figures.locator("span").first).to_have_text("3 min 13 s")
        cut = figures.evaluate(
            """figures => [...figures.children].filter((one) => {
              const [outer, inner] = [figures, one].map((part) => part.getBoundingClientRect());
              return inner.top < outer.bottom && inner.right > outer.right + 0.5;
            }).length"""
        )
        assert cut == 0


@pytest.mark.parametrize("width", [1440, 390])
def test_the_language_of_code_stands_beside_it(open_page: Callable[..., Page], tmp_path: Path, width: int) -> None:
    """A label over the first line hides what the code begins with."""
    story = Story("coder", 1)
    story.llm("gpt-4o", "Write it.", "Here:\n```typescript\nconst " + "a_long_name = " * 30 + "1;\n```\n", 5)
    run_id = story.write(tmp_path)
    with viewer(tmp_path) as served:
        page = open_page(f"{served.origin}/?run_id={run_id}&event=2", width=width, ready="event-details .fence")
        label = text_box(page.locator(".fence figcaption > span"))

        code = page.locator(".fence pre").bounding_box()
        caption = page.locator(".fence figcaption > span").bounding_box()
        assert code is not None
        assert caption is not None
        if width < 720:
            assert caption["y"] + caption["height"] <= code["y"]
        else:
            assert code["x"] + code["width"] <= caption["x"]
        assert label["right"] <= page.locator(".fence").evaluate(RIGHT)


RIGHT = "element => element.getBoundingClientRect().right"


def text_box(locator: Locator) -> dict[str, float]:
    """Where the text of an element is drawn, which may be wider than the element."""
    box: dict[str, float] = locator.evaluate(
        """element => {
          const range = document.createRange();
          range.selectNodeContents(element);
          const box = element.firstChild ? range.getBoundingClientRect() : element.getBoundingClientRect();
          return { left: box.left, right: box.right };
        }"""
    )
    return box
