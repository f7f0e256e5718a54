"""The page about findings: what its commands really print."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import ROOT, every_sample, lines_of, printed

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "docs/findings.md"
DATA = ROOT.parent / "shared" / "data"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="the data of real agents is not here"),
]


def test_what_the_page_shows_is_what_happens(tmp_path: Path) -> None:
    """The figures of a real run, not those of an earlier version."""
    (trace,) = (DATA / "trail").glob("59365b27*.json")
    (tmp_path / trace.name).write_bytes(trace.read_bytes())
    with every_sample(PAGE) as was_compared:
        for command, expected in lines_of(PAGE):
            assert _shown(command, tmp_path) == _expected(command, expected), f"$ {command}"
            was_compared(command)


def _shown(command: str, folder: Path) -> object:
    told, _, picked = command.partition(" | jq ")
    if "d6f53fa2" in told:
        return _beside_others(told.partition(" | head")[0], folder)
    text = printed(folder, "-m", *told.split())
    if not picked:
        return text
    place = re.fullmatch(r"'\.findings\[(\d+)\]'", picked)
    assert place is not None
    finding = json.loads(text)["findings"][int(place[1])]
    finding["evidence"]["event_ids"][1:] = ["…"]
    return finding


def _expected(command: str, text: str) -> object:
    return json.loads(text) if "| jq" in command else text


def _beside_others(command: str, folder: Path) -> str:
    """The first lines about one of many runs, which stand in a data folder of their own."""
    elsewhere = {"AGENTDBG_DATA_DIR": str(folder / "airline")}
    printed(folder, "-m", "agentdbg", "import", str(DATA / "taubench-airline" / "gpt-4o-airline.json"), **elsewhere)
    return "".join(printed(folder, "-m", *command.split(), **elsewhere).splitlines(keepends=True)[:4])
