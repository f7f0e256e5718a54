"""
The page in a real browser, on runs recorded by real agents and served by the real viewer.

Chromium, or Firefox where AGENTDBG_TEST_BROWSER says so: the one that Debian ships, driven over WebDriver BiDi.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright.sync_api")

from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.server.running import RunningViewer, viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

IS_FIREFOX = os.environ.get("AGENTDBG_TEST_BROWSER") == "firefox"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
FIREFOX = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or "/usr/bin/firefox-esr"
# How many times slower the page is to run, to see which tests a busy machine would fail; Chromium only.
SLOWED_BY = int(os.environ.get("AGENTDBG_TEST_SLOWED_BY", "0"))
ROOT = Path(__file__).parent.parent.parent
# Waiting for something is bounded by this; the machine may be busy with other tests.
PATIENCE_MS = 45_000
expect.set_options(timeout=PATIENCE_MS)


def agents(data_dir: Path, *names: str, **options: Any) -> subprocess.Popen[str]:
    """A program that records the named agents into a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.browser.agents", *names],
        cwd=ROOT,
        env={**os.environ, "AGENTDBG_DATA_DIR": str(data_dir)},
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


def record(data_dir: Path, *names: str) -> dict[str, str]:
    """Run ids by agent."""
    process = agents(data_dir, *names)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return dict(line.split() for line in output.splitlines())


@dataclass(frozen=True)
class Recorded:
    """Some recorded runs and the viewer that serves them."""

    data_dir: Path
    runs: dict[str, str]
    viewer: RunningViewer

    def address(self, agent: str = "", **parameters: str) -> str:
        """Where the page shows a run."""
        query = {"run_id": self.runs[agent], **parameters} if agent else parameters
        return f"{self.viewer.origin}/?" + "&".join(f"{key}={value}" for key, value in query.items())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """A healthy run, one that fails in a loop, a hostile one and a long one."""
    data_dir = tmp_path_factory.mktemp("browser")
    runs = record(data_dir, "long", "hostile", "healthy", "failing")
    with viewer(data_dir) as running:
        yield Recorded(data_dir, runs, running)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    with sync_playwright() as playwright:
        if IS_FIREFOX:
            browser = playwright.firefox.launch(channel="moz-firefox", executable_path=FIREFOX)
        else:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def _said(message: ConsoleMessage) -> str:
    """What an error says, and of which address."""
    where = message.location.get("url", "")
    return f"{message.text} ({where})" if where else message.text


def note_problems(page: Page, problems: list[str]) -> None:
    """Be patient with the page, and keep whatever it complains of."""
    page.set_default_timeout(PATIENCE_MS)
    page.on("pageerror", lambda error: problems.append(f"{error} {error.stack or ''}"))
    page.on("console", lambda message: problems.append(_said(message)) if message.type == "error" else None)
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))


COUNT_REQUESTS = """(() => {
  const ask = window.fetch;
  window.requestsUnderWay = 0;
  window.fetch = async (...given) => {
    window.requestsUnderWay += 1;
    try {
      return await ask(...given);
    } finally {
      window.requestsUnderWay -= 1;
    }
  };
})()"""
# Nothing is asked for, and for ten looks, a tenth of a second at least, nothing is drawn elsewhere than before.
SETTLED = """async (patience) => {
  const places = () => [...document.querySelectorAll("body *")]
    .map((one) => { const box = one.getBoundingClientRect(); return `${box.x} ${box.y} ${box.width} ${box.height}`; })
    .join();
  const begun = performance.now();
  let [before, since, looks] = ["", begun, 0];
  await document.fonts.ready;
  while (performance.now() - begun < patience) {
    const now = places();
    if (now !== before || window.requestsUnderWay > 0) [before, since, looks] = [now, performance.now(), 0];
    else if (++looks >= 10 && performance.now() - since >= 100) return;
    await new Promise(requestAnimationFrame);
  }
}"""


def settle(page: Page, patience_ms: int = 5_000) -> None:
    """
    Wait until the page is drawn as it stays, before something on it is measured.

    A page that goes on moving, as a live run's does, is measured all the same.
    """
    page.evaluate(SETTLED, patience_ms)


def look_into_every_event(page: Page) -> None:
    """Open each row in turn, and each tab of what it shows."""
    numbers = page.locator("event-rows .row").evaluate_all("rows => rows.map((row) => Number(row.dataset.n))")
    assert len(numbers) >= 8  # else there was nothing to look into
    for number in numbers:
        page.locator(f"#event-{number}").click()
        details = page.locator("event-rows event-details")
        expect(details.first).to_be_visible()
        for tab in details.first.get_by_role("tab").all():
            tab.click()
        page.locator(f"#event-{number}").click()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages, and fails the test if any of them raised, logged an error or broke the content security policy."""
    contexts = []
    problems: list[str] = []
    # A server that is stopped under the page makes the browser itself complain.
    known = [
        "WebSocket connection",
        "t establish a connection",
        "ERR_CONNECTION_REFUSED",
        "ERR_EMPTY_RESPONSE",
        "ERR_CONNECTION_RESET",
    ]

    def make(
        address: str,
        *,
        width: int = 1440,
        height: int = 900,
        ready: str = "event-rows .row .what .outcome",
        expected: str = "",
        **options: Any,
    ) -> Page:
        known.extend([expected] if expected else [])
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        context.add_init_script(COUNT_REQUESTS)
        page = context.new_page()
        note_problems(page, problems)
        if SLOWED_BY:
            context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWED_BY})
        page.goto(address)
        if ready:
            page.wait_for_selector(ready)
            settle(page)
        return page

    yield make
    for context in contexts:
        context.close()
    # Chromium now and then takes up a kept connection the server has just let go of; it asks again by itself.
    known.append("net::ERR_SOCKET_NOT_CONNECTED")
    assert [problem for problem in problems if not any(words in problem for words in known)] == []
