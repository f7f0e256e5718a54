"""Keep what was received below a size: the oldest runs go first, and never one that is being written."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from agentdbg.storage.layout import is_run_id
from agentdbg.storage.lines import open_events

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["DiskQuota"]

_SIGN = b'"received_from"'
_HEAD_BYTES = 16_384


class DiskQuota:
    """The runs of one folder, and how many bytes those that came over the network may take together."""

    def __init__(self, runs_dir: str, most_bytes: int) -> None:
        self._runs_dir = runs_dir
        self._most_bytes = most_bytes
        self._received: dict[str, bool] = {}

    def enforce(self, in_use: Container[str]) -> list[str]:
        """Remove the oldest received runs until the others fit; the ids of those that went."""
        runs = sorted(self._runs())
        taken = sum(size for _, size, _ in runs)
        removed = []
        for _, size, run_id in runs:
            if taken <= self._most_bytes:
                break
            if run_id not in in_use:
                shutil.rmtree(os.path.join(self._runs_dir, run_id), ignore_errors=True)
                self._received.pop(run_id, None)
                taken -= size
                removed.append(run_id)
        return removed

    def _runs(self) -> list[tuple[float, int, str]]:
        """When each received run last changed, what it takes, and its id."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self._runs_dir) as entries:
            for entry in entries:
                if is_run_id(entry.name) and entry.is_dir(follow_symlinks=False) and self._was_received(entry.path):
                    with contextlib.suppress(OSError):
                        files = [os.stat(file, follow_symlinks=False) for file in os.scandir(entry.path)]
                        changed = max((file.st_mtime for file in files), default=0.0)
                        found.append((changed, sum(file.st_size for file in files), entry.name))
        return found

    def _was_received(self, folder: str) -> bool:
        """Whether a run's first event says that it came over the network; nobody's own recordings are counted."""
        run_id = os.path.basename(folder)
        if run_id not in self._received:
            file = open_events(folder)
            if file is None:
                return False
            with file:
                self._received[run_id] = _SIGN in file.read(_HEAD_BYTES).partition(b"\n")[0]
        return self._received[run_id]
