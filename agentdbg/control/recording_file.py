"""
A recording in one file: the events of a run and its tape, so that it can be kept beside a test and replayed anywhere.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, BinaryIO

from agentdbg.bounded import TooMuch
from agentdbg.bounded.files import GzipReader
from agentdbg.control.recorded_runs import CannotReplay
from agentdbg.storage.layout import open_private
from agentdbg.storage.lines import open_regular
from agentdbg.tape.tape_reader import find_tape

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_recording"]

_PIECE = 1 << 20
_LONGEST_LINE = 40_000_000


def write_recording(folder: Path, path: Path) -> int:
    """Write the run in a folder to one file, readable by its owner alone; gives its size. Raises CannotReplay."""
    tape = find_tape(folder)
    if tape is None:
        raise CannotReplay(f"run {folder.name[:8]} has no tape, so there is nothing that a test could replay")
    events = next((one for name in ("events.jsonl", "events.jsonl.gz") if (one := folder / name).is_file()), None)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for part in filter(None, (events, tape)):
                _copy_whole_lines(part, file)
            size = file.tell()
    except (EOFError, TooMuch, zlib.error) as error:
        temporary.unlink()
        raise CannotReplay(f"what run {folder.name[:8]} holds cannot be read: {error}") from None
    temporary.replace(path)
    return size


def _copy_whole_lines(path: Path, target: BinaryIO) -> None:
    """Without a torn last line; piece by piece, since a packed file may hold anything."""
    rest = b""
    with open_regular(path) as file:
        source = GzipReader(file) if path.suffix == ".gz" else file
        while piece := source.read(_PIECE):
            whole, newline, torn = piece.rpartition(b"\n")
            if newline:
                target.write(rest + whole + newline)
                rest = torn
            else:
                rest += piece
            if len(rest) > _LONGEST_LINE:
                raise TooMuch(f"a line of it is longer than {_LONGEST_LINE >> 20} MB")
