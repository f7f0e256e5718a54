"""
A recording in one file: the events of a run and its tape, so that it can be kept beside a test and replayed anywhere.
"""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING

from agentdbg.control.recorded_runs import CannotReplay
from agentdbg.storage.layout import open_private
from agentdbg.tape.tape_reader import find_tape

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_recording"]


def write_recording(folder: Path, path: Path) -> int:
    """Write the run in a folder to one file, readable by its owner alone; gives its size. Raises CannotReplay."""
    tape = find_tape(folder)
    if tape is None:
        raise CannotReplay(f"run {folder.name[:8]} has no tape, so there is nothing that a test could replay")
    events = next((one for name in ("events.jsonl", "events.jsonl.gz") if (one := folder / name).is_file()), None)
    content = b"".join(_read(one) for one in (events, tape) if one is not None)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    temporary.replace(path)
    return len(content)


def _read(path: Path) -> bytes:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content[: content.rfind(b"\n") + 1]  # without a torn last line
