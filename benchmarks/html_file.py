"""
One HTML file: how large it is, how long it takes to write, and how soon it shows its run.

The file is opened from disk in a real Chromium without a network. A moment counts when its frame has been painted.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.page import CHROMIUM

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["html_tables"]

COUNTS = (10_000, 100_000)
ROUNDS = 3
_WANTED_MS = {10_000: "1,500 ms"}
_MESSAGES = 24

Row = tuple[str, str, str]

_WATCH = """
window.painted = new Promise((resolve) => {
  const look = () => requestAnimationFrame(() => setTimeout(() =>
    document.querySelector("event-rows .row[data-event-id] .what *") ? resolve(performance.now()) : look()));
  look();
});
"""
_SEARCH = """async (text) => {
  const field = document.querySelector("[data-search]");
  const count = document.querySelector("tool-bar .count");
  const before = performance.now();
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  while (!/\\d/.test(count.textContent)) await new Promise(requestAnimationFrame);
  return performance.now() - before;
}"""


def html_tables() -> str:
    """The table of the file, as Markdown."""
    from playwright.sync_api import sync_playwright

    rows: list[Row] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for count in COUNTS:
            with tempfile.TemporaryDirectory() as scratch:
                rows += _one(browser, Path(scratch), count)
        browser.close()
    lines = ["| what | measured | wanted |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n\n"


def _one(browser: Browser, root: Path, count: int) -> list[Row]:
    log = write_conversation(root, count)
    out = root / "run.html"
    seconds, megabytes = _exported(root, out)
    size, json_size = out.stat().st_size, log.stat().st_size
    shutil.rmtree(root / "runs")
    opened, searched = zip(*(_opened(browser, out) for _ in range(ROUNDS)), strict=True)
    wanted = _WANTED_MS.get(count, "usable")
    return [
        (
            f"{count:,} events: size of the file",
            f"{size / 1e6:.1f} MB, {size / json_size:.0%} of {json_size / 1e6:.0f} MB of JSON",
            "a third",
        ),
        (f"{count:,} events: written in", f"{seconds:.1f} s, {megabytes:.0f} MB of memory", "memory does not grow"),
        (f"{count:,} events: first rows painted, from disk, no network", f"{statistics.median(opened):.0f} ms", wanted),
        (f"{count:,} events: a text found in all of them", f"{statistics.median(searched):.0f} ms", "usable"),
    ]


def write_conversation(root: Path, count: int) -> Path:
    """A run as agents make them: every model call is sent the last messages again, and a tool answers in between."""
    chance = random.Random(1)
    run_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    folder = root / "runs" / run_id
    folder.mkdir(parents=True)
    # As many words as people use, the usual ones more often, so that the text packs about as well as theirs.
    words = ["".join(chance.choices("etaoinshrdlcumwfgypbvk", k=chance.randint(2, 9))) for _ in range(5_000)]
    weights = [1 / rank for rank in range(2, 5_002)]
    messages: list[dict[str, Any]] = []
    payload: dict[str, Any]
    start = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    with open(folder / "events.jsonl", "w", encoding="utf-8") as file:
        for number in range(count):
            text = " ".join(chance.choices(words, weights, k=60))
            event_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
            if number == 0:
                kind, name, payload, event_id = "RUN_START", "bench", {"run_name": "bench"}, start
            elif number == count - 1:
                kind, name, payload = "RUN_END", "run_end", {"status": "ok", "summary": {}}
            elif number % 2:
                messages = [*messages[-_MESSAGES:], {"role": "user", "content": text}]
                kind, name = "LLM_CALL", "gpt-4"
                payload = {"model": name, "prompt": messages, "response": text[:200], "status": "ok", "error": None}
            else:
                kind, name = "TOOL_CALL", f"tool{number % 7}"
                payload = {"tool_name": name, "args": {"q": number}, "result": text, "status": "ok", "error": None}
            event = {
                "spec_version": "0.1",
                "event_id": event_id,
                "run_id": run_id,
                "parent_id": start if number else None,
                "event_type": kind,
                "ts": f"2026-04-12T10:{number // 60_000 % 60:02d}:{number // 1_000 % 60:02d}.{number % 1_000:03d}Z",
                "duration_ms": 1 if number else None,
                "name": name,
                "payload": payload,
                "meta": {},
            }
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
    return folder / "events.jsonl"


def _exported(root: Path, out: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of the command."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "agentdbg", "export", "latest", "--format", "html", "--out", str(out)],
        check=True,
        env={**os.environ, "AGENTDBG_DATA_DIR": str(root)},
    )
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _opened(browser: Browser, out: Path) -> tuple[float, float]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.goto(out.as_uri(), timeout=120_000)
    painted = float(page.evaluate("() => window.painted"))
    searched = float(page.evaluate(_SEARCH, "no such text"))
    context.close()
    return painted, searched


if __name__ == "__main__":
    print(html_tables())
