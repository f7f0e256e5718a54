"""Everybody can use every view: axe with the rules of WCAG 2.2 AA, in three colours and four widths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Recorded
from tests.browser.gallery import write_gallery
from tests.browser.test_manners import AXE
from tests.server.running import viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    page.evaluate(AXE)
    found: list[str] = page.evaluate(
        """async (rules) => (await axe.run(document, { runOnly: rules })).violations.flatMap((violation) =>
             violation.nodes.map((node) => `${violation.id}: ${node.target} ${node.failureSummary}`))""",
        RULES,
    )
    return found


@pytest.mark.parametrize("width", [390, 820, 1440, 1920])
@pytest.mark.parametrize("colours", ["light", "dark", "forced"])
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
        page.wait_for_timeout(400)
        problems += [f"{name}: {problem}" for problem in findings(page)]
    assert problems == []


def test_axe_finds_nothing_in_what_changed(open_page: Callable[..., Page], recorded: Recorded) -> None:
    """The lens is a drawing; its table says the same in words."""
    page = open_page(recorded.address("chart", event="36"), bypass_csp=True)
    page.locator("event-details [data-tab=changes]").click()
    expect(page.locator("context-lens table")).to_be_visible()

    assert findings(page) == []
