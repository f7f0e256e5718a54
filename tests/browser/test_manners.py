"""Manners: any width, light and dark, hostile payloads, and what axe has to say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import look_into_every_event, settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.browser.conftest import Recorded

pytestmark = pytest.mark.browser


_AXE_PACKAGE = importlib.util.find_spec("axe_playwright_python")
assert _AXE_PACKAGE is not None, "axe-playwright-python is among the development requirements"
AXE = Path(str(_AXE_PACKAGE.origin)).with_name("axe.min.js").read_text()


def axe_findings(page: Page) -> list[str]:
    """What axe finds wrong, one line each."""
    settle(page)
    page.evaluate(AXE)
    answer: dict[str, Any] = page.evaluate("() => axe.run(document, { preload: false })")
    return [
        f"{found['id']}: {node['target']} {node['failureSummary']}"
        for found in answer["violations"]
        for node in found["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["list", "tree", "waterfall"])
def test_axe_finds_nothing(open_page: Callable[..., Page], recorded: Recorded, view: str, scheme: str) -> None:
    """Roles, names, contrast and focus hold in every view, with an event open."""
    page = open_page(recorded.address("failing", view=view, event="3"), color_scheme=scheme)
    expect(page.locator("event-details")).to_be_visible()

    assert axe_findings(page) == []


@pytest.mark.parametrize("width", [390, 1000])
def test_axe_finds_nothing_on_narrow_pages(open_page: Callable[..., Page], recorded: Recorded, width: int) -> None:
    """The phone's two-line rows are rows too."""
    page = open_page(recorded.address("healthy"), width=width, height=844)

    assert axe_findings(page) == []


def test_axe_finds_nothing_in_the_list_of_keys(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The page that explains the keyboard works with it."""
    page = open_page(recorded.address("healthy"))
    page.keyboard.press("?")

    assert axe_findings(page) == []


@pytest.mark.parametrize("width", [320, 390, 720, 1000, 1440, 2200])
def test_no_width_scrolls_sideways(open_page: Callable[..., Page], recorded: Recorded, width: int) -> None:
    """From a small phone to a wide screen, everything fits."""
    page = open_page(recorded.address("failing"), width=width, height=844)
    page.locator("event-rows .row").nth(2).click()
    expect(page.locator("event-details")).to_be_visible()

    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert (
        page.evaluate(
            "() => { const s = document.querySelector('event-rows .scroller'); return s.scrollWidth - s.clientWidth; }"
        )
        <= 0
    )


def test_a_phone_shows_runs_then_the_run_with_a_way_back(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """One column, one thing at a time."""
    page = open_page(recorded.address(), width=390, height=844, ready="run-rail [data-run-id]")
    expect(page.locator("main")).to_be_hidden()
    page.locator(f"[data-run-id='{recorded.runs['failing']}']").click()
    expect(page.locator("event-rows .row").first).to_be_visible()
    expect(page.locator("run-rail")).to_be_hidden()
    page.get_by_role("button", name="Back to the runs").click()
    expect(page.locator("run-rail")).to_be_visible()


def test_rows_on_a_phone_fit_the_height_the_list_gives_them(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The virtual list knows heights from type and width; a row of another height would make it jump."""
    for width in (390, 1440):
        page = open_page(recorded.address("failing"), width=width, height=844)
        tops = page.locator("event-rows .item").evaluate_all(
            "items => items.map((item) => [item.offsetHeight, item.firstElementChild.dataset.state])"
        )
        usual, failed = (52, 70) if width == 390 else (28, 28)

        assert {height for height, state in tops if state == "failed"} == {failed}
        assert {height for height, state in tops if state != "failed"} == {usual}


def test_dark_is_dark_and_the_choice_is_remembered(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The system decides until the reader does."""
    page = open_page(recorded.address("healthy"), color_scheme="dark")
    background = "() => getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(background) == "rgb(21, 24, 29)"
    page.keyboard.press("t")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    answer = page.reload()
    page.wait_for_selector("event-rows .row")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert answer is not None
    assert 'data-theme="light"' in answer.text()  # before any script runs, so that no dark page flashes


@pytest.mark.parametrize("view", ["list", "tree", "waterfall"])
def test_hostile_payloads_stay_text(open_page: Callable[..., Page], recorded: Recorded, view: str) -> None:
    """Markup in any field is what the agent said, never part of the page."""
    page = open_page(recorded.address("hostile", view=view))
    look_into_every_event(page)
    page.wait_for_timeout(300)

    assert page.evaluate("() => window.pwned") is None
    assert page.evaluate("() => ({}).polluted") is None
    assert page.locator("a[href^='javascript:']").count() == 0
    assert page.locator("main script, main iframe, run-rail script, run-rail img").count() == 0
    expect(page.locator("run-verdict .name")).to_contain_text("<script>")


def test_nothing_jumps_while_a_run_loads(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """What is drawn first stays where it is: the verdict does not push the rows down."""
    page = open_page(recorded.address("failing"))
    page.wait_for_timeout(500)
    shifts = """() => new Promise((resolve) => new PerformanceObserver((list) => resolve(
        list.getEntries().reduce((sum, entry) => sum + entry.value, 0)
    )).observe({ type: "layout-shift", buffered: true }) || setTimeout(() => resolve(0), 300))"""

    assert page.evaluate(shifts) < 0.02
