"""The pages about gates and the plugin: their files, their commands, and what those really print."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import ROOT, Block, blocks, printed, steady

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


# What differs from run to run: ids, folders, how long it took.
_CHANGING = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"/\S*/pytest-of-\w+/pytest-\d+"), "FOLDER"),
    (re.compile(r"in \d+\.\d+s"), "in SECONDS"),
]


@pytest.mark.parametrize("path", ["docs/gates.md", "docs/pytest.md"])
def test_what_a_page_shows_is_what_happens(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader who types it has to see the same."""
    # pytest prints longer lines where CI or BUILD_NUMBER is set.
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST", "CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    typed = 0
    for block in blocks((ROOT / path).read_text(encoding="utf-8")):
        if block.language == "python":
            _keep(block, folder)
        elif block.language == "console":
            typed += _type(block, folder, f"{path}:{block.line}")

    assert typed >= 4


def _keep(block: Block, folder: Path) -> None:
    named = re.match(r"# (\w+\.py)\n", block.text)
    assert named, f"the block in line {block.line} names no file"
    (folder / named[1]).write_text(block.text, encoding="utf-8")


def _type(block: Block, folder: Path, where: str) -> int:
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    for part in parts:
        command, _, expected = part.partition("\n")
        assert steady(_output(command, folder), _CHANGING) == steady(expected, _CHANGING), f"{where}: $ {command}"
    return len(parts)


def _output(command: str, folder: Path) -> str:
    words = shlex.split(command)
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    program = {
        "agentdbg": ["-m", "agentdbg"],
        "python": [],
        "pytest": ["-m", "pytest", "-p", "pytest_agentdbg", "-p", "no:cacheprovider", f"--rootdir={folder}"],
    }[words[0]]
    return printed(folder, *program, *words[1:], **environment)
