"""Make the pictures in README and docs: stories and the demo, the real viewer, a real Chromium."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WIDE, PHONE = (1440, 860), (390, 844)
# Name: the run (part of its name; two with `|` to compare; none for all), the rest of the address, what to do.
VIEWS: dict[str, tuple[str, str, list[str]]] = {
    "viewer": ("demo: book a flight", "", ["key e", "key Enter"]),
    "problems": ("support-agent", "", []),
    "conversation": ("chart-fixer", "event=36", ["key v", "show event-conversation figure"]),
    "changes": ("chart-fixer", "event=36", ["key v", "click [data-tab=changes]", "show event-changes .since"]),
    "sorted": ("research-crew", "sort=time&filter=LLM_CALL,TOOL_CALL", []),
    "tree": ("research-crew", "view=tree", ["key s"]),
    "waterfall": ("research-crew", "view=waterfall", ["key s"]),
    "timetravel": ("support-agent", "view=travel", ["key End", "key Shift+ArrowLeft"]),
    "runs": ("", "view=runs&q=session_id=s-41", []),
    "compare": ("old prompt | new prompt", "", ["key N", "key Enter"]),
}
# Where a phone shows something else first.
ON_A_PHONE: dict[str, list[str]] = {"viewer": []}


# As far up as the header of the open row, which stays, leaves room.
_TO_THE_TOP = """part => {
  const rows = part.closest(".scroller");
  rows.scrollTop += part.getBoundingClientRect().top - rows.getBoundingClientRect().top - 110;
}"""


def main() -> None:
    """Record, serve, and take each picture in light and dark, on a desk and on a phone."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "AGENTDBG_DATA_DIR": folder}
        for command in (
            ["-m", "tests.browser.gallery", folder],
            ["-m", "agentdbg", "demo", "--no-view"],
            ["scripts/rebooking.py"],
        ):
            subprocess.run([sys.executable, *command], env=environment, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        view = [sys.executable, "-m", "agentdbg", "view", "--no-browser", "--json", "--port", "0"]
        with subprocess.Popen(view, env=environment, stdout=subprocess.PIPE, text=True) as viewer:
            try:
                assert viewer.stdout is not None
                address = json.loads(viewer.stdout.readline())["url"].partition("?")[0]
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                    _take_all(browser, address, _runs(environment))
                    browser.close()
            finally:
                viewer.terminate()


def _runs(environment: dict[str, str]) -> dict[str, str]:
    """The newest run of each name."""
    command = [sys.executable, "-m", "agentdbg", "list", "--json", "-n", "100"]
    done = subprocess.run(command, env=environment, check=True, capture_output=True)
    return {run["run_name"]: run["run_id"] for run in reversed(json.loads(done.stdout)["runs"])}


def _take_all(browser: Browser, address: str, runs: dict[str, str]) -> None:
    for (width, height), place in ((WIDE, ""), (PHONE, "-phone")):
        for colours in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
            page = context.new_page()
            for name, (wanted, query, steps) in VIEWS.items():
                page.goto(f"{address}?{_query(wanted, query, runs)}")
                page.wait_for_selector("[data-event-id]:visible, .item:visible, .run-row:visible, .step:visible")
                page.wait_for_load_state("networkidle")  # on a busy machine the rows are there before the verdict
                time.sleep(1)
                _act(page, ON_A_PHONE.get(name, steps) if place else steps)
                page.screenshot(path=str(IMAGES / f"{name}{place}-{colours}.png"))
                print(f"wrote docs/images/{name}{place}-{colours}.png")
            context.close()


def _query(wanted: str, query: str, runs: dict[str, str]) -> str:
    if not wanted:
        return query
    ids = [next(run_id for name, run_id in runs.items() if part in name) for part in wanted.split(" | ")]
    return "&".join(filter(None, ["run_id=" + "&compare=".join(ids), query]))


def _act(page: Page, steps: list[str]) -> None:
    actions: dict[str, Any] = {
        "key": page.keyboard.press,
        "click": lambda selector: page.locator(selector).first.click(),
        "show": lambda selector: page.locator(selector).first.evaluate(_TO_THE_TOP),
    }
    for step in steps:
        what, _, given = step.partition(" ")
        actions[what](given)
        time.sleep(0.4)
    time.sleep(0.4)


if __name__ == "__main__":
    main()
