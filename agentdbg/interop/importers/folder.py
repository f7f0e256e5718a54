"""
An earlier data folder of AgentDbg, its `runs` folder, or the folder of one run: every run in it, as it is.

A run that is still being recorded is left where it is.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentdbg.interop.drafts import EntryProblem
from agentdbg.interop.sources import NotReadable, event_files
from agentdbg.interop.stored_runs import StoredCopy
from agentdbg.storage.layout import LABEL_FILE, is_run_id
from agentdbg.storage.lines import iter_lines, open_events, open_regular
from agentdbg.storage.reader import run_ids
from agentdbg.storage.runfile import read_run
from agentdbg.tape.tape_reader import find_tape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "AgentDbg data folder"

_LONGEST_LABEL = 100_000
_LONGEST_TAPE_LINE = 40_000_000


def recognises(source: Source) -> bool:
    return source.is_folder and not event_files(source.path)


def read(source: Source) -> Iterator[StoredCopy | EntryProblem]:
    if not source.is_folder:
        raise NotReadable(f"{source.shown} is a file, and this format is a folder")
    runs = _runs(source.path)
    source.expected = len(runs)
    for run_id, folder in runs:
        meta = read_run(folder, run_id)
        if meta is None:
            yield EntryProblem(f"run {run_id}", "neither run.json nor events in it")
        elif not meta["spec_version"].startswith("0"):
            yield EntryProblem(f"run {run_id}", f"trace format {meta['spec_version']}, and this version reads 0.x")
        elif meta["status"] == "running":
            yield EntryProblem(f"run {run_id}", "still being recorded; import it when it has ended")
        else:
            yield StoredCopy(run_id, _lines(folder), dict(meta), _label(folder), entry=f"run {run_id}")


def _runs(path: Path) -> list[tuple[str, str]]:
    path = path.resolve()
    if is_run_id(path.name):
        return [(path.name, str(path))]
    root = path if run_ids(path) else path.parent
    return [(run_id, os.path.join(root, "runs", run_id)) for run_id in sorted(run_ids(root))]


def _lines(folder: str) -> Iterator[bytes]:
    file = open_events(folder)
    if file is None:
        return
    with file:
        for _, line in iter_lines(file):
            yield b"" if line is None else line
    tape = find_tape(Path(folder))
    if tape is not None:
        with open_regular(tape) as plain:
            lines = gzip.GzipFile(fileobj=plain) if tape.suffix == ".gz" else plain
            yield from iter(lambda: lines.readline(_LONGEST_TAPE_LINE), b"")


def _label(folder: str) -> bytes | None:
    try:
        with open_regular(os.path.join(folder, LABEL_FILE)) as file:
            return file.read(_LONGEST_LABEL)
    except OSError:
        return None
