"""A project of its own for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pytest_plugin.projects import Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    # The session that runs this test must not shine through to the ones it starts.
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST", "AGENTDBG_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    return Project(tmp_path / "shop")
