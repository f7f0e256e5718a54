"""Commands, for tests that compare what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg.cli import _run
from tests.commands.stored import Ran

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def cli(data_dir: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process."""

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        code = _run(list(arguments))
        caught = capfd.readouterr()
        return Ran(code, caught.out, caught.err)

    return run
