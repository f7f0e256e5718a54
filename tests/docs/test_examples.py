"""The code on the pages runs, and prints what the pages say it prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.storage import list_runs, load_events
from tests.docs.pages import ROOT, Block, blocks, every_sample, lines_of, steady_output

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PAGES = [
    "README.md",
    "docs/sdk.md",
    "docs/getting-started.md",
    "docs/guardrails.md",
    "docs/events.md",
    "docs/editors.md",
    "docs/tutorials/fix-and-test.md",
    "docs/tutorials/claude-code.md",
]
SESSION = ROOT / "tests" / "interop" / "fixtures" / "claude" / "5f2d1c0e-3b7a-4d2f-8a61-c90e17b4d3aa.jsonl"
"""What somebody who reads the page about Claude Code has at home."""


@pytest.mark.parametrize("path", PAGES)
def test_the_code_on_a_page_runs_and_prints_what_it_says(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first thing a newcomer does is copy an example."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    sessions = tmp_path / ".claude" / "projects" / "-home-dev-till"
    sessions.mkdir(parents=True)
    shutil.copy(SESSION, sessions)
    namespace: dict[str, Any] = {"__name__": "docs_example"}
    printed, compared = "", list[str]()
    for block in blocks((ROOT / path).read_text(encoding="utf-8")):
        where = f"{path}:{block.line}"
        if block.language == "python":
            printed = _execute(block, where, folder, namespace)
        elif block.language == "output":
            assert steady_output(printed) == steady_output(block.text), where
        elif block.language == "console":
            compared += _run_commands(block, where, folder)

    if any(expected.strip() for _, expected in lines_of(path)):
        with every_sample(path) as was_compared:
            for command in compared:
                was_compared(command)
    assert capsys.readouterr().err == "", "an example made AgentDbg complain"
    assert list_runs(), f"{path} records nothing"


def test_the_minimal_agent_shows_itself(tmp_path: Path, data_dir: Path) -> None:
    """It is what the documentation points at, so it has to work from any folder, without a key."""
    done = _python([str(ROOT / "examples" / "minimal_agent" / "main.py")], tmp_path)

    run = list_runs()[0]
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert str(data_dir / "runs" / run["run_id"]) in done.stdout
    assert (run["run_name"], run["status"]) == ("what to pack", "ok")
    assert run["counts"] == {"llm_calls": 3, "tool_calls": 2, "errors": 0, "loop_warnings": 0}
    types = [event["event_type"] for event in load_events(run["run_id"])]
    assert types[0] == "RUN_START"
    assert types[-1] == "RUN_END"


def _execute(block: Block, where: str, folder: Path, namespace: dict[str, Any]) -> str:
    """Run a block as the rest of a session, or keep it as a file when its first line names one."""
    named = re.match(r"# (\w+\.py)\n", block.text)
    if named:
        (folder / named.group(1)).write_text(block.text, encoding="utf-8")
        return ""
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile("\n" * block.line + block.text, where, "exec"), namespace)
    return printed.getvalue()


def _run_commands(block: Block, where: str, folder: Path) -> list[str]:
    compared = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        words = shlex.split(command)
        arguments = words[1:] if words[0] == "python" else ["-m", *words]
        done = _python(arguments, folder)
        shown = done.stdout + done.stderr  # a terminal shows both
        assert steady_output(shown) == steady_output(expected), f"{where}: $ {command}\n{shown}"
        compared.append(command)
    return compared


def _python(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if name != "CI"},  # there pytest prints longer lines
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        "PYTEST_ADDOPTS": "-p no:asyncio -p no:randomly -p no:xdist -p no:hypothesispytest",
    }
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=60, check=False
    )
