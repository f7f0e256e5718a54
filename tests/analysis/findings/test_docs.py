"""The page about findings: what its commands really print."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import ROOT, blocks, printed

if TYPE_CHECKING:
    from pathlib import Path

DATA = ROOT.parent / "shared" / "data"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="the data of real agents is not here"),
]


def test_what_the_page_shows_is_what_happens(tmp_path: Path) -> None:
    """The figures of a real run, not those of an earlier version."""
    (trace,) = (DATA / "trail").glob("59365b27*.json")
    (tmp_path / trace.name).write_bytes(trace.read_bytes())
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    typed = []
    for block in blocks(page):
        if block.language == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                typed.append(command)
                assert _shown(command, tmp_path) == _expected(command, expected), f"line {block.line}: $ {command}"

    assert len(typed) == 7


def _shown(command: str, folder: Path) -> object:
    told, _, picked = command.partition(" | jq ")
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
