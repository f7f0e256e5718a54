"""The command line in this process, in an empty folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg.cli import _run
from tests.commands.stored import Ran

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def cli(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command as a shell in an empty project would, its output caught as a pipe would."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.delenv("COLUMNS", raising=False)  # what a piped diff keeps to

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        code = _run(list(arguments))
        caught = capfd.readouterr()
        return Ran(code, caught.out, caught.err)

    return run
