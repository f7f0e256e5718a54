"""A data folder that is none: every command says so, and no agent is stopped by it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentdbg import record_tool_call, traced_run
from agentdbg.cli import COMMANDS
from agentdbg.exceptions import DataFolderUnusable
from agentdbg.storage import list_runs, load_events

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.stored import Ran

pytestmark = pytest.mark.slow

ARGUMENTS = {
    "effects": ["learn", "latest"],
    "mark": ["latest", "--passed"],
    "test": ["latest"],
    "view": ["--no-browser", "--port", "0"],
    "baseline": ["latest"],
    "diff": ["a", "b"],
    "export": ["latest", "--out", "-"],
    "sql": ["select 1"],
    "import": ["{folder}"],
    "receive": ["--port", "0"],
    "push": ["latest", "--otlp", "http://127.0.0.1:9"],
    "rename": ["latest", "x"],
    "delete": ["latest", "--yes"],
    "prune": ["--older-than", "1d", "--yes"],
    "scrub": ["secret-words", "--yes"],
    "demo": ["--no-view"],
}
# These stand apart: `init` and `gate` look at a project first; what `run`, `replay` and `fork` start goes its own way.
READING = sorted(set(COMMANDS) - {"init", "run", "replay", "fork", "gate"})


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("kind", ["file", "below a file", "file for runs"])
def test_every_command_says_that_it_is_no_folder(
    command: str, kind: str, tmp_path: Path, cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """'No runs' and exit 0 would send the user looking for a fault in their agent."""
    broken = tmp_path / "taken"
    if kind == "file for runs":
        broken.mkdir()
        (broken / "runs").write_text("a file")
    else:
        broken.write_text("a file")
    data_dir = broken / "deeper" if kind == "below a file" else broken
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(data_dir))
    ran = cli(command, *(word.format(folder=tmp_path) for word in ARGUMENTS.get(command, [])))

    assert ran.code == 10
    assert f"runs cannot be read from {broken}" in ran.err
    assert "it is a file, not a folder" in ran.err
    assert "AGENTDBG_DATA_DIR" in ran.err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_said(
    tmp_path: Path, cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not empty, it is closed."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(closed))

    assert cli("list").code == 10


def test_readers_in_python_raise_it(tmp_path: Path) -> None:
    """A script that counts runs must not count none."""
    taken = tmp_path / "taken"
    taken.write_text("")

    with pytest.raises(DataFolderUnusable):
        list_runs(data_dir=taken)
    with pytest.raises(DataFolderUnusable):
        load_events("latest", taken)
    assert list_runs(data_dir=tmp_path / "missing") == []


def test_the_recorder_says_it_once_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An agent of a thousand runs does not fill its log with one mistake."""
    taken = tmp_path / "taken"
    taken.write_text("a file")
    monkeypatch.setenv("AGENTDBG_DATA_DIR", str(taken))
    for _ in range(3):
        with traced_run("work"):
            record_tool_call("search", {"q": 1}, "found")

    said = capfd.readouterr().err.splitlines()
    assert [line for line in said if str(taken) in line] == said
    assert len(said) == 1
    assert taken.read_text() == "a file"


def test_a_program_under_run_keeps_its_exit_code(tmp_path: Path) -> None:
    """Recording is beside the point of the program."""
    taken = tmp_path / "taken"
    taken.write_text("a file")
    (tmp_path / "agent.py").write_text("print('worked'); raise SystemExit(3)")
    done = subprocess.run(
        [sys.executable, "-m", "agentdbg", "run", str(tmp_path / "agent.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "AGENTDBG_DATA_DIR": str(taken)},
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (3, "worked\n")
    assert done.stderr.count("there is a file where a folder should be") == 1
