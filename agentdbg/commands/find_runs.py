"""
The run a person means, and the newest runs, found through the index of runs.

Reading every run.json to find the latest run takes a second with ten thousand runs; the index knows it at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.commands.terminal import Progress
from agentdbg.exceptions import RunNotFound, UsageError
from agentdbg.index.run_index import RunFilter, RunIndex
from agentdbg.storage.housekeeping import deleted_runs
from agentdbg.storage.reader import default_data_dir, find_run, program_of

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.events import RunMeta

__all__ = ["find", "known_runs", "newest_runs"]


def find(wanted: str, data_dir: Path | None = None) -> str:
    """The id of the one run meant by a full id, the beginning of one, or `latest`."""
    root = default_data_dir() if data_dir is None else data_dir
    if wanted != "latest":
        try:
            return find_run(wanted, root)
        except RunNotFound:
            _say_if_deleted(wanted, root)
            raise
    newest = newest_runs(1, root)
    if not newest:
        raise RunNotFound(wanted, root)
    return program_of(newest[0], root)


def _say_if_deleted(wanted: str, root: Path) -> None:
    prefix = wanted.strip().lower()
    found = [deleted.meta["run_id"] for deleted in deleted_runs(root) if deleted.meta["run_id"].startswith(prefix)]
    if len(found) == 1:
        raise UsageError(f"run {found[0][:8]} was deleted; `agentdbg restore {found[0][:8]}` brings it back")


def newest_runs(limit: int, data_dir: Path | None = None, status: str | None = None) -> list[RunMeta]:
    """The newest runs, or the newest of one status."""
    return known_runs(default_data_dir() if data_dir is None else data_dir).page(RunFilter(status=status), limit).runs


def known_runs(data_dir: Path) -> RunIndex:
    """Every run of a folder, as it is now."""
    index = RunIndex(data_dir)
    with Progress("Reading runs") as progress:
        index.refresh(thorough=False, progress=progress.at)
    return index
