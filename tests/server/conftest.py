"""One viewer for the tests that change nothing of it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from tests.server.running import RunningViewer, viewer
from tests.storage.handmade import usual_events, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with one healthy run."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def run_id(data_dir: Path) -> str:
    """That run."""
    run_id = str(uuid.uuid4())
    return write_run(data_dir, run_id, events=usual_events(run_id))


@pytest.fixture(scope="module")
def served(data_dir: Path, run_id: str) -> Iterator[RunningViewer]:
    """A viewer of that folder."""
    with viewer(data_dir) as running:
        yield running
