"""A gate says no also when nobody reads its words: the exit code is what a pipeline goes by."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.analysis.checks.runs import refund_story
from tests.commands.stored import store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("assert BAD --max-tokens 1", 1),
        ("assert BAD --max-tokens 1 --format markdown", 1),
        ("assert BAD --max-tokens 1 --json", 1),
        ("assert BAD --max-tokens 90000", 0),
        ("diff GOOD BAD", 1),
        ("diff GOOD BAD --json", 1),
        ("diff GOOD GOOD", 0),
        ("validate TORN", 1),
        ("validate TORN --json", 1),
        ("import nothing.json", 2),
    ],
)
def test_the_exit_code_outlives_the_reader(data_dir: Path, command: str, code: int, unbuffered: str) -> None:
    """`agentdbg assert | grep -q PASS` closes the pipe at once, and CI often runs Python unbuffered."""
    runs = {"GOOD": refund_story(), "BAD": refund_story(amount=4000), "TORN": refund_story()}
    ids = {name: store(data_dir, story) for name, story in runs.items()}
    with (data_dir / "runs" / ids["TORN"] / "events.jsonl").open("a") as log:
        log.write("torn\n")
    (data_dir / "nothing.json").write_text("{}")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "agentdbg", *(ids.get(word, word) for word in command.split())],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=data_dir,
        env={**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), "PYTHONUNBUFFERED": unbuffered},
        text=True,
        timeout=60,
        check=False,
    )
    os.close(writing)

    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "Broken pipe" not in done.stderr
