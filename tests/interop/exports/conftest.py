"""The command line in this process, and runs that hold everything a run can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg.cli import _run
from tests.commands.stored import Ran, store
from tests.interop.exports.runs import parallel_story, rich_story

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command in this process, its output caught as a pipe would."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        code = _run(list(arguments))
        caught = capfd.readouterr()
        return Ran(code, caught.out, caught.err)

    return run


@pytest.fixture
def rich_run(data_dir: Path) -> str:
    """A run with every type of event, hostile text included."""
    metadata = {"environment": "staging", "version": 3, "tags": ["a"]}
    return store(data_dir, rich_story(), "error", "rich", metadata=metadata, cost_usd=0.5, total_tokens=240)


@pytest.fixture
def parallel_run(data_dir: Path) -> str:
    """A run whose tools ran at the same time."""
    return store(data_dir, parallel_story(), "ok", "parallel")
