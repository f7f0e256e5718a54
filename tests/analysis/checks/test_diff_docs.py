"""The page about comparisons: what it shows of an agent that books flights is what such an agent makes."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from agentdbg.analysis.diff import Diff
from agentdbg.storage import list_runs
from tests.docs.pages import ROOT, blocks, every_sample, lines_of, printed, steady

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PAGE = "docs/diff.md"
AGENT = """
import sys
import time

from agentdbg import record_llm_call, tool, trace


@tool
def find_flights(origin):
    return ["HAT172", "HAT132"]


@tool
def think(thought):
    time.sleep(0.02)


@tool(effect="write")
def book_flight(number):
    return f"{number} is booked"


@trace("travel-agent")
def agent():
    cheap = "--cheap" in sys.argv
    system = "Book the cheapest flight." if cheap else "Book a flight."
    asked = [{"role": "system", "content": system}, {"role": "user", "content": "To Seattle on Friday, please."}]
    said = "Let me see what there is." if cheap else "I will look for flights."
    record_llm_call("gpt-4o", prompt=asked, response=said)
    number = find_flights("JFK")[cheap]
    if cheap:
        think("The second flight is the cheaper one")
    booked = book_flight(number)
    asked.append({"role": "user", "content": "Well?"})
    record_llm_call("gpt-4o", prompt=asked, response=f"Flight {number} is booked for Friday.")


agent()
"""
# What differs from run to run: ids, and how long it took, with the room that takes.
_CHANGING = [
    (re.compile(r"\b[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"[+-]?<?\d[\d.,]* (ms|s)\b"), "TIME"),
    (re.compile(r"(?<=B-A)( +=)(?= )"), " TIME"),
    (re.compile(r" +"), " "),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The project's folder, with both runs in it, and the id of the first."""
    folder = tmp_path_factory.mktemp("travel")
    (folder / "travel.py").write_text(AGENT, encoding="utf-8")
    for arguments in ([], ["--cheap"]):
        _run(folder, "travel.py", *arguments)
    return folder, list_runs(None, folder / "data")[-1]["run_id"]


def test_the_commands_print_what_the_page_shows(runs: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader compares what they see with what they were told."""
    monkeypatch.delenv("COLUMNS", raising=False)
    folder, first = runs
    with every_sample(PAGE) as was_compared:
        for command, expected in lines_of(PAGE):
            words = shlex.split(command.replace("7f3f", first))[1:]
            assert steady(_run(folder, "-m", "agentdbg", *words), _CHANGING) == steady(expected, _CHANGING), command
            was_compared(command)


def test_the_python_of_the_page_gives_what_it_says(runs: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line that names a value has it."""
    folder, first = runs
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(folder / "data"))
    (block,) = [block for block in blocks((ROOT / PAGE).read_text(encoding="utf-8")) if block.language == "python"]
    names: dict[str, object] = {}
    exec(block.text.replace("7f3f", first), names)
    diff = names["diff"]

    assert isinstance(diff, Diff)
    assert f'diff.verdict  # "{diff.verdict}"\n' in block.text
    assert f"diff.first_divergence  # {diff.first_divergence}, a row\n" in block.text
    assert diff.effects.changed
    assert json.loads(json.dumps(names["patch"])) == names["patch"]


def _run(folder: Path, *arguments: str) -> str:
    return printed(folder, *arguments, AGENTDBG_DATA_DIR=str(folder / "data"))
