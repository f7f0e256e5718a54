"""
The run a person means, and the newest runs, found through the index of runs.

Reading every run.json to find the latest run takes a second with ten thousand runs; the index knows it at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.commands.terminal import Progress
from agentdbg.exceptions import RunNotFound
from agentdbg.index.runs import RunFilter, RunIndex
from agentdbg.storage.reader import default_data_dir, find_run

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.events import RunMeta

__all__ = ["find", "newest_runs"]


def find(wanted: str, data_dir: Path | None = None) -> str:
    """The id of the one run meant by a full id, the beginning of one, or `latest`."""
    root = default_data_dir() if data_dir is None else data_dir
    if wanted != "latest":
        return find_run(wanted, root)
    newest = newest_runs(1, root)
    if not newest:
        raise RunNotFound(wanted, root)
    return newest[0]["run_id"]


def newest_runs(limit: int, data_dir: Path | None = None, status: str | None = None) -> list[RunMeta]:
    """The newest runs, or the newest of one status."""
    index = RunIndex(default_data_dir() if data_dir is None else data_dir)
    with Progress("Reading runs") as progress:
        index.refresh(thorough=False, progress=progress.at)
    return index.page(RunFilter(status=status), limit).runs
