"""`agentdbg export`: a run as one JSON document."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agentdbg.commands.finding import find
from agentdbg.commands.options import RUN, Option
from agentdbg.commands.terminal import Progress, Terminal
from agentdbg.encoding import encode_json
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import UsageError
from agentdbg.index.runs import load_run_meta
from agentdbg.index.scan import scan_lines
from agentdbg.index.source import EventSource
from agentdbg.storage.dialects import parse_event
from agentdbg.storage.layout import open_private
from agentdbg.storage.reader import default_data_dir, run_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXAMPLES = """
agentdbg export latest --out run.json
agentdbg export a41f --out - | jq '.events | length'
"""


def command(
    run: Annotated[str, RUN],
    out: Annotated[str, Option("--out", "-o", metavar="FILE", help="Where to; `-` is standard output.")],
) -> None:
    """Write a run as one JSON document: spec_version, run and events. The file is for your eyes only (mode 0600)."""
    data_dir = default_data_dir()
    run_id = find(run, data_dir)
    head = encode_json({"spec_version": SPEC_VERSION, "run": load_run_meta(run_id, data_dir)})
    folder = run_folder(run_id, data_dir)

    def write(put: Callable[[bytes], object]) -> None:
        count = 0
        put(head[:-1] + b',"events":[\n')
        with Progress("Exporting") as progress:
            for events, share in _event_blocks(folder, run_id):
                put(b",\n" + events if count else events)
                count += 1
                progress.at(share)
        put(b"\n]}\n")

    if out == "-":
        standard_output = Terminal()
        write(standard_output.bytes)
        standard_output.flush()
        return
    _write_whole(Path(out), write)
    if sys.stderr.isatty():
        Terminal(sys.stderr).line(f"Wrote {out}.", cut=False)


def _event_blocks(folder: Path, run_id: str) -> Iterator[tuple[bytes, float]]:
    """The events as JSON joined by commas, a block of the file at a time, and how much of the file that was."""
    source = EventSource(folder)
    source.refresh(0)
    offset, last_ts_ms = 0, 0
    while (block := source.next_block(offset)).end:
        if not block.lines:  # a line too long to be kept
            offset = block.end
            continue
        scan = scan_lines(block.lines, offset, run_id, last_ts_ms)
        lines = []
        for position, at in enumerate(scan.offsets):
            line = block.lines[at - offset : at - offset + scan.lengths[position]].rstrip(b"\r\n")
            # A line of another dialect is written the way readers see it.
            lines.append(line if scan.is_strict[position] else encode_json(parse_event(line, run_id, at)))
        if lines:
            last_ts_ms = scan.ts_ms[-1]
            yield b",\n".join(lines), block.end / max(source.size, 1)
        offset = block.end
    source.close()


def _write_whole(path: Path, write: Callable[[Callable[[bytes], object]], None]) -> None:
    """Make the file whole or not at all; a device or a pipe is written as it comes."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it, like {path / 'run.json'}")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}; make it first, or name another place")
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with open(path, "wb") as device:
            write(device.write)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            write(file.write)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
