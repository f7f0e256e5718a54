"""A data folder of its own for every test, and the command line in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg.cli import _run
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def _plain_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours asked for, a clock in UTC, and no project's config file above the current folder."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cli(data_dir: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process, its output caught as a pipe would."""

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        code = _run(list(arguments))
        caught = capfd.readouterr()
        return Ran(code, caught.out, caught.err)

    return run


@pytest.fixture
def failed_run(data_dir: Path) -> str:
    """A run that asked a model, used two tools and failed in the second."""
    story = Story()
    story.llm(
        [{"role": "user", "content": "Read the invoice"}],
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "read", "arguments": "{}"}}]},
        tokens=(100, 20),
    )
    story.tool("read", {"path": "a.txt"}, "Total: 12", parent=2)
    stack = "Traceback (most recent call last):\n  File \"/home/me/app.py\", line 7, in parse\n    x\nKeyError: 'due'\n"
    story.tool("parse", {"text": "Total: 12"}, error={"error_type": "KeyError", "message": "'due'", "stack": stack})
    story.error("KeyError", "'due'", stack=stack)
    story.end("error")
    return store(data_dir, story, "error", "invoice")
