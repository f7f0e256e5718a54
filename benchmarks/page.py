"""
The page: what a reader waits for, in a real Chromium on the real viewer over loopback.

Everything is measured inside the page, from what the reader did to the frame that shows it. The first rows count when
the browser itself says that they are on the screen; everything after them when their frame is painted and they have
their words. While a run opens, nobody watches the page: what a tool costs that does is no part of the figure.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.unwatched import Unwatched
from benchmarks.viewing import held, viewer, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

__all__ = ["page_tables"]

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
FIRST_ROWS_MS = {100: 400, 10_000: 500, 100_000: 700, 1_000_000: 1_500}
LONG = 100_000
WORDS = {1_000_000: 30}
"""How many words a text of so long a run has; else the run would not fit where temporary files go."""
ROUNDS = 5
QUIET_SECONDS = 1.5
LIVE_EVENTS = 100
SCROLL_SECONDS = 4
PATIENCE_MS = 120_000

Row = tuple[str, str, str]

# Asked after every frame, so that the answer is the moment something could be seen.
_WATCH = """
window.afterFrames = (test) => new Promise((resolve, reject) => {
  const look = () => requestAnimationFrame(() => setTimeout(() => (test() ? resolve(performance.now()) : look())));
  look();
  setTimeout(() => reject(new Error(`not within a minute: ${test}`)), 60000);
});
window.hasWords = () => {
  const rows = [...document.querySelectorAll("event-rows .row")];
  return rows.length > 0 && rows.every((row) => row.dataset.eventId) && !document.querySelector("[data-loading]");
};
"""
# When the browser showed the first row with words, by its own account: its clock stops when the frame is on the screen.
_FIRST_ROW = """
new MutationObserver((_, observer) => {
  const words = document.querySelector("event-rows .row[data-event-id] .outcome");
  if (!words) return;
  words.setAttribute("elementtiming", "first row");
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
window.firstRow = new Promise((resolve) => {
  const observer = new PerformanceObserver((list) => resolve(list.getEntries()[0].renderTime));
  observer.observe({ type: "element", buffered: true });
});
window.whole = firstRow.then(() => afterFrames(() => document.querySelector(".figures:not([data-counting]) .figure")));
"""
_CLICK = """async ([selector, shown]) => {
  const before = performance.now();
  document.querySelector(selector).click();
  return (await afterFrames(() => document.querySelector(shown) && hasWords())) - before;
}"""
_SEARCH = """async (text) => {
  const field = document.querySelector("[data-search]");
  const before = performance.now();
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  return (await afterFrames(() => document.querySelector("event-rows mark"))) - before;
}"""
_SCROLL = """async (seconds) => {
  const tasks = [];
  const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration)));
  observer.observe({ type: "longtask" });
  const scroller = document.querySelector("event-rows .scroller");
  const started = performance.now();
  let frames = 0;
  let nodes = 0;
  while (performance.now() - started < seconds * 1000) {
    await new Promise(requestAnimationFrame);
    scroller.scrollTop += 90;
    frames += 1;
    nodes = Math.max(nodes, document.querySelectorAll("*").length);
  }
  return { rate: frames / ((performance.now() - started) / 1000), longest: Math.max(0, ...tasks), nodes };
}"""
_NOTE_ARRIVALS = """() => {
  window.arrivals = {};
  const look = () => requestAnimationFrame(() => setTimeout(() => {
    const now = performance.timeOrigin + performance.now();
    for (const row of document.querySelectorAll("event-rows [data-event-id]")) arrivals[row.dataset.eventId] ??= now;
    look();
  }));
  look();
}"""


def page_tables() -> str:
    """The table of the page, as Markdown."""
    with tempfile.TemporaryDirectory() as scratch, _chromium() as browser:
        root = Path(scratch)
        rows: list[Row] = []
        for count in FIRST_ROWS_MS:
            rows += _opening(browser, root / str(count), count)
            if count == LONG:
                rows += _reading(browser, root / str(count))
            shutil.rmtree(root / str(count))
        rows += _live(browser, root / "live")
    lines = ["| what | measured | wanted |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n\n"


def _opening(browser: Browser, root: Path, count: int) -> list[Row]:
    """From navigation to the first rows: by a browser and a viewer that know nothing yet, and by ones that do."""
    run_id = write_run(root, count, words=WORDS.get(count, 130))
    first, again, whole = [], [], []
    for _ in range(ROUNDS):
        shutil.rmtree(root / "index", ignore_errors=True)
        with viewer(root) as port, Unwatched(browser, _WATCH + _FIRST_ROW) as page:
            address = f"http://127.0.0.1:{port}/?run_id={run_id}"
            page.open(address, QUIET_SECONDS)
            first.append(float(page.value("firstRow")))
            whole.append(float(page.value("whole")))
            page.open(address, QUIET_SECONDS)
            again.append(float(page.value("firstRow")))
    return [
        (
            f"{count:,} events: first rows painted, from navigation, nothing known of the run",
            f"{_ms(first)}; opened again {_ms(again)}",
            f"{FIRST_ROWS_MS[count]:,} ms",
        ),
        (f"{count:,} events: counts and verdict of the whole run", _ms(whole), "5 s for a million"),
    ]


def _reading(browser: Browser, root: Path) -> list[Row]:
    """What a reader does with a long run once it is open."""
    run_id = next((root / "runs").iterdir()).name
    with viewer(root) as port, _page(browser) as page:
        _open(page, f"http://127.0.0.1:{port}/?run_id={run_id}")
        page.wait_for_selector(".figures:not([data-counting]) .figure")
        clicks: dict[str, list[float]] = {"filter": [], "tree": [], "waterfall": [], "list": [], "search": []}
        for _ in range(ROUNDS):
            clicks["filter"].append(
                _click(page, '[data-filter="TOOL_CALL"]', '[data-filter="TOOL_CALL"][aria-pressed="true"]')
            )
            clicks["filter"].append(_click(page, '[data-filter="all"]', '[data-filter="all"][aria-pressed="true"]'))
            for name in ("tree", "waterfall", "list"):
                clicks[name].append(_click(page, f'[data-view="{name}"]', f'event-rows[data-shown-as="{name}"]'))
            clicks["search"].append(float(page.evaluate(_SEARCH, "several that were")))
            page.fill("[data-search]", "")
            page.wait_for_selector("event-rows mark", state="detached")
        scrolled = page.evaluate(_SCROLL, SCROLL_SECONDS)
        memory = _renderer_mb(browser)
    return [
        (f"filter painted at {LONG:,} events", _ms(clicks["filter"]), "100 ms"),
        *(
            (f"switch to the {name} painted at {LONG:,} events", _ms(clicks[name]), "100 ms")
            for name in ("tree", "waterfall", "list")
        ),
        (f"search of {LONG:,} events painted", _ms(clicks["search"]), "500 ms"),
        (f"scrolling {LONG:,} events", f"{scrolled['rate']:.0f} frames a second", "at least 50"),
        ("longest task meanwhile", f"{scrolled['longest']:.0f} ms" if scrolled["longest"] else "under 50 ms", "100 ms"),
        ("nodes in the page, at most", f"{scrolled['nodes']:,}", "3,000"),
        ("memory of the renderer", f"{memory:.0f} MB", "200 MB"),
    ]


def _live(browser: Browser, root: Path) -> list[Row]:
    """From a line being written to the frame that shows its row."""
    run_id = write_run(root, 1_000, is_running=True)
    path = root / "runs" / run_id / "events.jsonl"
    line = path.read_bytes().splitlines(keepends=True)[1]
    event_id = json.loads(line)["event_id"].encode()
    chance, written = random.Random(2), {}
    with held(path) as descriptor, viewer(root) as port, _page(browser) as page:
        _open(page, f"http://127.0.0.1:{port}/?run_id={run_id}")
        page.wait_for_selector("live-bar:not([hidden])")
        page.keyboard.press("f")
        page.evaluate(_NOTE_ARRIVALS)
        time.sleep(1)
        for _ in range(LIVE_EVENTS):
            time.sleep(chance.uniform(0.02, 0.1))  # at no fixed place between two frames or two looks of the viewer
            name = str(uuid.uuid4())
            written[name] = time.time() * 1000
            os.write(descriptor, line.replace(event_id, name.encode()))
        page.wait_for_function("(name) => name in window.arrivals", arg=name)
        arrivals = page.evaluate("window.arrivals")
    delays = sorted(arrivals.get(name, float("inf")) - moment for name, moment in written.items())
    middle, late = delays[len(delays) // 2], delays[len(delays) * 95 // 100]
    return [("an event written to its row painted, live", f"p50 {middle:.0f} ms, p95 {late:.0f} ms", "p95 100 ms")]


@contextlib.contextmanager
def _chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    if not Path(CHROMIUM).exists():
        raise SystemExit(f"no Chromium at {CHROMIUM}: install it, or name one with CHROMIUM=/path/to/chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def _page(browser: Browser) -> Iterator[Page]:
    """A page of a browser that has cached nothing."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    yield page
    context.close()


def _open(page: Page, address: str) -> None:
    page.goto(address, wait_until="commit")
    page.evaluate("afterFrames(hasWords)")


def _click(page: Page, selector: str, shown: str) -> float:
    return float(page.evaluate(_CLICK, [selector, shown]))


def _renderer_mb(browser: Browser) -> float:
    """What the largest renderer holds, its share of what all processes share included."""
    session = browser.new_browser_cdp_session()
    found: list[dict[str, Any]] = session.send("SystemInfo.getProcessInfo")["processInfo"]
    sizes = []
    for process in found:
        if process["type"] == "renderer":
            lines = Path(f"/proc/{process['id']}/smaps_rollup").read_text().splitlines()
            sizes.append(next(int(line.split()[1]) for line in lines if line.startswith("Pss:")))
    return max(sizes) / 1000


def _ms(times: list[float]) -> str:
    return f"{statistics.median(times):,.0f} ms"


if __name__ == "__main__":
    print(page_tables())
