"""Make the pictures in README and docs: the demo's runs, the real viewer, a real Chromium."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parent.parent / "docs" / "images"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# File name: the run to open (part of its name) or two to compare, width, height, colours, keys to press.
SHOTS: dict[str, tuple[str, int, int, str, list[str]]] = {
    "viewer-light.png": ("demo: book a flight", 1440, 860, "light", ["e", "Enter"]),
    "viewer-dark.png": ("demo: book a flight", 1440, 860, "dark", ["e", "Enter"]),
    "waterfall-light.png": ("research a question", 1280, 760, "light", ["3"]),
    "waterfall-dark.png": ("research a question", 1280, 760, "dark", ["3"]),
    "compare-light.png": ("old prompt | new prompt", 1440, 760, "light", ["N", "Enter"]),
    "compare-dark.png": ("old prompt | new prompt", 1440, 760, "dark", ["N", "Enter"]),
    "phone.png": ("demo: book a flight", 390, 844, "light", []),
}


def main() -> None:
    """Record the demo, serve it, and take each picture."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "AGENTDBG_DATA_DIR": folder}
        subprocess.run([sys.executable, "-m", "agentdbg", "demo", "--no-view"], env=environment, check=True)
        subprocess.run([sys.executable, Path(__file__).with_name("rebooking.py")], env=environment, check=True)
        command = [sys.executable, "-m", "agentdbg", "view", "--no-browser", "--json", "--port", "0"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as viewer:
            try:
                assert viewer.stdout is not None
                address = json.loads(viewer.stdout.readline())["url"].partition("?")[0]
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                    for name, shot in SHOTS.items():
                        _take(browser, address, name, shot, _runs(environment))
                    browser.close()
            finally:
                viewer.terminate()


def _runs(environment: dict[str, str]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "agentdbg", "list", "--json"], env=environment, check=True, capture_output=True
    )
    return {run["run_name"]: run["run_id"] for run in json.loads(done.stdout)["runs"]}


def _take(browser: Browser, address: str, name: str, shot: Any, runs: dict[str, str]) -> None:
    wanted, width, height, colours, keys = shot
    ids = [next(run_id for name, run_id in runs.items() if part in name) for part in wanted.split(" | ")]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=colours)
    page = context.new_page()
    page.goto(f"{address}?run_id=" + "&compare=".join(ids))
    page.wait_for_selector("[data-event-id]:visible, compare-rows .item:visible")
    time.sleep(1)
    for key in keys:
        page.keyboard.press(key)
        time.sleep(0.3)
    time.sleep(0.5)
    page.screenshot(path=str(IMAGES / name))
    context.close()
    print(f"wrote docs/images/{name}")


if __name__ == "__main__":
    main()
