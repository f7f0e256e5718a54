"""
What has been imported from which file, so that importing it again costs a look at its size and time.

A cache like the others beside it: without it every file is read once more, and the runs in it are known by their ids.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agentdbg.bounded.files import read_small
from agentdbg.encoding import decode_json, encode_json
from agentdbg.interop.importing import StoredRun
from agentdbg.interop.shapes import as_dict, as_list
from agentdbg.interop.sources import event_files, side_files
from agentdbg.storage.layout import index_dir, is_run_id, make_private_folder, replace_file, run_dir

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Ledger"]

_NAME = "imported.json"
_VERSION = 1
_LARGEST = 64 << 20
_MOST_FILES = 50_000


class Ledger:
    """The files that have been imported whole, with their runs."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._path = index_dir(data_dir) / _NAME
        self._known = self._load()
        self._has_changed = False

    def runs_of(self, path: Path, wanted: str) -> tuple[str, list[StoredRun]] | None:
        """The format and the runs of a file that has not changed since, if all of them are still here."""
        entry = as_dict(self._known.get(_key(path, wanted)))
        if not entry or entry.get("mark") != _mark(path):
            return None
        runs = [StoredRun(str(run[0]), str(run[1]), 0, is_new=False) for run in as_list(entry.get("runs"))]
        is_whole = all(is_run_id(run.run_id) and os.path.isdir(run_dir(self._data_dir, run.run_id)) for run in runs)
        return (str(entry.get("title", "")), runs) if runs and is_whole else None

    def note(self, path: Path, wanted: str, mark: Any, title: str, runs: Sequence[StoredRun]) -> None:
        """Remember a file that was imported without a problem; `mark` is what `mark_of` said before it was read."""
        told = [[run.run_id, run.run_name] for run in runs]
        self._known[_key(path, wanted)] = {"mark": mark, "title": title, "runs": told}
        self._has_changed = True

    def mark_of(self, path: Path) -> list[int]:
        """What tells one state of a file from another."""
        return _mark(path)

    def close(self) -> None:
        """Write down what was noted; the latest ones, where there are very many."""
        if not self._has_changed:
            return
        self._has_changed = False
        latest = dict(list(self._known.items())[-_MOST_FILES:])
        make_private_folder(self._path.parent)
        replace_file(self._path, encode_json({"version": _VERSION, "files": latest}))

    def _load(self) -> dict[str, Any]:
        try:
            if self._path.is_symlink():
                return {}
            stored = as_dict(decode_json(read_small(self._path, _LARGEST)))
        except (OSError, ValueError, RecursionError):
            return {}
        return as_dict(stored.get("files")) if stored.get("version") == _VERSION else {}


def _key(path: Path, wanted: str) -> str:
    return f"{wanted}:{os.path.abspath(path)}"


def _mark(path: Path) -> list[int]:
    """Size, time and number of the files that a source is made of."""
    files = [path]
    if path.is_dir():
        files = event_files(path)
    else:
        files += side_files(path)
    try:
        facts = [file.stat() for file in files]
    except OSError:
        return []
    return [len(facts), sum(fact.st_size for fact in facts), max((fact.st_mtime_ns for fact in facts), default=0)]
