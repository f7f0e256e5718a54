"""
What the documentation's site has beside its pages: the demo's runs, each as one HTML file.

mkdocs calls the functions here by their names while it builds (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

AGENTDBG = str(Path(__file__).parent.parent / ".venv" / "bin" / "agentdbg")
PLACE = "<!-- examples -->"
FOLDER = "example-runs"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the list of runs where the page has a place for it."""
    return markdown.replace(PLACE, "\n".join(f"- [{name}]({FOLDER}/{file})" for name, file in _runs()))


def on_post_build(config: Any, **_: Any) -> None:
    """Write the files into the site."""
    folder = Path(config["site_dir"]) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for (_name, file), run in zip(_runs(), _recorded()["runs"], strict=True):
        _agentdbg("export", run["run_id"], "--format", "html", "--out", str(folder / file))


_known: dict[str, Any] = {}


def _recorded() -> dict[str, Any]:
    """The demo's runs; recorded once a build."""
    if not _known:
        _known["folder"] = tempfile.TemporaryDirectory(prefix="agentdbg-site-")
        _agentdbg("demo", "--no-view", "--live-seconds", "0")
        _known["list"] = json.loads(_agentdbg("list", "--json"))
    runs: dict[str, Any] = _known["list"]
    return runs


def _runs() -> list[tuple[str, str]]:
    """The name of each run, and of its file."""
    names = [run["run_name"].removeprefix("demo: ") for run in _recorded()["runs"]]
    return [(name, "".join(letter if letter.isalnum() else "-" for letter in name) + ".html") for name in names]


def _agentdbg(*words: str) -> str:
    environment = {**os.environ, "AGENTDBG_DATA_DIR": _known["folder"].name}
    done = subprocess.run([AGENTDBG, *words], env=environment, capture_output=True, text=True, check=True)
    return done.stdout
