"""Everybody can use every view: axe with the rules of WCAG 2.2 AA, in three colours and four widths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import IS_FIREFOX, Recorded, settle
from tests.browser.gallery import Story, write_gallery
from tests.browser.test_manners import AXE
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# What is opened, and what to wait for.
VIEWS = {
    "list": ("support", {}, "event-rows .row .outcome"),
    "conversation": ("chart", {"event": "36"}, "event-conversation .answer table"),
    "tool": ("support", {"event": "16"}, "event-details .sides"),
    "sorted": ("crew", {"sort": "time"}, "tool-bar .order .chip"),
    "tree": ("crew", {"view": "tree", "event": "11"}, "event-rows .path button"),
    "waterfall": ("crew", {"view": "waterfall"}, "event-rows .tear"),
    "time travel": ("support", {"view": "travel"}, "time-travel .step[aria-selected=true]"),
    "runs": ("", {"view": "runs"}, "runs-table .run-row"),
    "compare": ("support", {"compare": "good"}, "run-compare .item"),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """The gallery."""
    data_dir = tmp_path_factory.mktemp("access")
    runs = write_gallery(data_dir)
    with viewer(data_dir) as running:
        yield Recorded(data_dir, runs, running)


def findings(page: Page) -> list[str]:
    """What axe finds, with the element and the reason."""
    settle(page)
    page.evaluate(AXE)
    found: list[str] = page.evaluate(
        """async (rules) => (await axe.run(document, { runOnly: rules })).violations.flatMap((violation) =>
             violation.nodes.map((node) => `${violation.id}: ${node.target} ${node.failureSummary}`))""",
        RULES,
    )
    return found


# Firefox cannot be told from outside which colours to prefer.
@pytest.mark.parametrize("width", [390, 1440] if IS_FIREFOX else [390, 820, 1440, 1920])
@pytest.mark.parametrize("colours", ["light"] if IS_FIREFOX else ["light", "dark", "forced"])
def test_axe_finds_nothing_in_any_view(
    open_page: Callable[..., Page], recorded: Recorded, colours: str, width: int
) -> None:
    """Small targets, faint words and nameless buttons shut people out, each of them somebody else."""
    options = {"forced_colors": "active"} if colours == "forced" else {"color_scheme": colours}
    page = open_page(recorded.address("support"), width=width, bypass_csp=True, **options)
    problems = []
    for name, (agent, parameters, ready) in VIEWS.items():
        known = {key: recorded.runs.get(value, value) for key, value in parameters.items()}
        page.goto(recorded.address(agent, **known))
        page.wait_for_selector(ready, state="attached")
        problems += [f"{name}: {problem}" for problem in findings(page)]
    assert problems == []


def test_axe_finds_nothing_in_what_changed(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The lens is a drawing; its table says the same in words."""
    page = open_page(recorded.address("chart", event="36"), bypass_csp=True)
    page.locator("event-details [data-tab=changes]").click()
    expect(page.locator("context-lens table")).to_be_visible()

    assert findings(page) == []


def test_axe_finds_nothing_in_what_opens_over_a_view(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Menus and dialogs are views of their own, and the first that nobody looks at."""
    page = open_page(recorded.address("support"), bypass_csp=True)
    problems = []
    for open_it, close_it in (("?", "Escape"), ("-", "Escape")):
        page.keyboard.press(open_it)
        expect(page.locator("dialog[open]")).to_be_visible()
        problems += findings(page)
        page.keyboard.press(close_it)
    page.get_by_role("button", name="More actions").click()
    problems += findings(page)
    page.goto(recorded.address("", view="runs"))
    page.locator("runs-table .run-row input").first.check()
    page.get_by_role("button", name="Columns").click()
    problems += findings(page)
    assert problems == []


@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_in_large_values_a_search_and_a_long_table(
    open_page: Callable[..., Page], tmp_path: Path, width: int
) -> None:
    """What is short in a demo is long in a day's work: lists in lists, tables of rows, spans in spans, forty runs."""
    story = Story("large values", 1)
    story.tool("read", {}, {"grid": [[row] * 30 for row in range(30)], "n": 1}, 5)
    story.tool("rows", {}, [{"id": row, "name": f"name {row}", "note": "words " * 9} for row in range(300)], 5)
    began = story.at
    story.tool("look", {}, "needle", 5, parent="inner")
    story.span("a_span_with_a_long_name", "inner", began, parent="outer")
    story.span("the_span_around", "outer", began)
    run_id = story.write(tmp_path)
    for minutes in range(2, 42):
        other = Story(f"run {minutes}", minutes)
        other.tool("look", {}, "found", 5)
        other.write(tmp_path)
    problems = []
    with viewer(tmp_path) as served:
        address = f"{served.origin}/?run_id={run_id}"
        page = open_page(f"{address}&event=2", width=width, bypass_csp=True, ready="event-details .sides")
        shown = {
            f"{address}&event=3": "event-details .sides",
            f"{address}&event=5&view=tree": "event-facts .event-link",
            f"{address}&q=needle": "search-field .step:visible",
            f"{served.origin}/?view=runs": "runs-table .run-row",
            f"{address}&view=travel&event=4": "time-travel .step[aria-selected=true]",
        }
        problems += findings(page)
        for one, ready in shown.items():
            page.goto(one)
            page.wait_for_selector(ready, state="attached")
            problems += [f"{ready}: {problem}" for problem in findings(page)]
    assert problems == []


@pytest.mark.skipif(IS_FIREFOX, reason="it cannot be told from outside to force colours")
def test_what_is_on_can_be_told_in_forced_colours(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """Grounds are the browser's then: the view, the filter and the run that are open need another sign."""
    page = open_page(recorded.address("support"), forced_colors="active")
    on = page.locator("tool-bar [aria-pressed=true]").first
    off = page.locator("tool-bar [aria-pressed=false]").first
    ground = "element => getComputedStyle(element).backgroundColor"

    assert on.evaluate(ground) != off.evaluate(ground)
    expect(page.locator("run-rail [aria-selected=true]")).to_have_css("outline-style", "solid")


def ink_of(page: Page) -> str:
    """The colour of the page's words."""
    colour: str = page.locator("run-strip").evaluate("strip => getComputedStyle(strip).color")
    return colour


@pytest.mark.skipif(IS_FIREFOX, reason="it cannot be told from outside to force colours")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_stay_apart_in_forced_colours(
    open_page: Callable[..., Page], recorded: Recorded, scheme: Literal["light", "dark"]
) -> None:
    """With one colour for all, a span's ground would cover the calls on it, and a number its own ground."""
    page = open_page(recorded.address("crew"), forced_colors="active", color_scheme=scheme)
    drawn = page.locator("run-strip canvas").evaluate(
        """canvas => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const inked = [];
          for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 0) inked.push(data[at]);
          return [inked.length / (data.length / 4), inked[0]];
        }"""
    )
    ink = page.locator("run-strip").evaluate("strip => getComputedStyle(strip).color.match(/\\d+/)[0]")
    page.goto(recorded.address("crew", view="waterfall"))
    moment = page.locator("event-rows .waterfall .moment").first
    expect(moment).to_have_css("background-color", ink_of(page))
    page.goto(recorded.address("chart", event="36"))
    page.locator("event-details [data-tab=changes]").click()
    number = page.locator("context-lens .lens-column[aria-pressed=true] .lens-number")
    colour = number.evaluate("number => getComputedStyle(number).color")
    ground = number.evaluate("number => getComputedStyle(number.parentElement).backgroundColor")

    assert drawn[0] < 0.6
    assert drawn[1] == int(ink)
    assert colour != ground
    assert colour == number.evaluate("number => getComputedStyle(number.parentElement).color")
