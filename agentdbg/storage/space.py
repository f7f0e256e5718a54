"""What the files of a data folder take on disk, and what compressing them would free."""

from __future__ import annotations

import contextlib
import os
import zlib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from agentdbg.storage.layout import (
    EVENTS_FILE,
    EVENTS_GZIP_FILE,
    TAPE_FILE,
    TAPE_GZIP_FILE,
    index_dir,
    is_run_id,
    run_dir,
    runs_dir,
    tables_dir,
    trash_dir,
)
from agentdbg.storage.lines import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["RunSpace", "Space", "freed_by_compressing", "measure"]

_ID_LENGTH = 36
_SAMPLE = 1 << 18
_SAMPLED_FILES = 24


@dataclass
class RunSpace:
    """The bytes of one run's files, by what they are."""

    events: int = 0
    tape: int = 0
    index: int = 0
    other: int = 0
    """run.json, the label, and whatever else lies in the run's folder."""

    @property
    def total(self) -> int:
        return self.events + self.tape + self.index + self.other


@dataclass
class Space:
    """The bytes of a data folder: run by run, and what belongs to none of them."""

    runs: dict[str, RunSpace]
    tables: int
    trash: int
    index: int
    """Caches of all runs together, and of runs that are gone."""

    def sums(self) -> dict[str, int]:
        """What each kind of file takes in all."""
        named = {field.name: sum(getattr(run, field.name) for run in self.runs.values()) for field in fields(RunSpace)}
        named["index"] += self.index
        return {**named, "tables": self.tables, "trash": self.trash}


def measure(data_dir: Path) -> Space:
    """Look at the size of every file; none is opened, and no link is followed."""
    runs: dict[str, RunSpace] = {}
    for path, size in _files(runs_dir(data_dir)):
        run_id, _, name = path.partition(os.sep)
        if not is_run_id(run_id):
            continue
        run = runs.setdefault(run_id, RunSpace())
        if name in (EVENTS_FILE, EVENTS_GZIP_FILE):
            run.events += size
        elif name in (TAPE_FILE, TAPE_GZIP_FILE):
            run.tape += size
        else:
            run.other += size
    space = Space(runs, sum(size for _, size in _files(tables_dir(data_dir))), 0, 0)
    for path, size in _files(index_dir(data_dir)):
        if path.startswith(f"{tables_dir(data_dir).name}{os.sep}"):
            continue
        owner = runs.get(os.path.basename(path)[:_ID_LENGTH])
        if owner is None:
            space.index += size
        else:
            owner.index += size
    space.trash = sum(size for _, size in _files(trash_dir(data_dir)))
    return space


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Every plain file below a folder, by its path from there."""
    if folder.is_symlink():
        return
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with contextlib.suppress(OSError):  # it is gone already
                if not os.path.islink(path):
                    yield os.path.relpath(path, folder), os.lstat(path).st_size


def freed_by_compressing(data_dir: Path, run_ids: Iterable[str]) -> int:
    """About how many bytes gzip would save in these runs: the largest files are tried out in part, the rest alike."""
    plain: list[tuple[int, Path]] = []
    for run_id in run_ids:
        for name in (EVENTS_FILE, TAPE_FILE):
            path = run_dir(data_dir, run_id) / name
            with contextlib.suppress(OSError):
                plain.append((os.lstat(path).st_size, path))
    plain.sort(reverse=True)
    tried = saved = 0
    for size, path in plain[:_SAMPLED_FILES]:
        with contextlib.suppress(OSError):
            tried += size
            saved += round(size * _share_saved(path, size))
    rest = sum(size for size, _ in plain[_SAMPLED_FILES:])
    return saved + (round(rest * saved / tried) if tried else 0)


def _share_saved(path: Path, size: int) -> float:
    """The part of a file that gzip takes away, by its beginning, its middle and its end."""
    with open_regular(path) as file:
        read = packed = 0
        for start in sorted({0, max(0, (size - _SAMPLE) // 2), max(0, size - _SAMPLE)}):
            file.seek(start)
            sample = file.read(_SAMPLE)
            read += len(sample)
            packed += len(zlib.compress(sample, 6))
    return max(0.0, 1 - packed / read) if read else 0.0
