"""One run as one JSON document: spec_version, run and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.encoding import encode_json
from agentdbg.events import SPEC_VERSION
from agentdbg.interop.exports.run_content import line_blocks, lines_of_tape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.interop.exports.run_content import Progress, Put, Run

__all__ = ["write"]


def write(runs: Sequence[Run], put: Put, progress: Progress, *, with_tape: bool = False) -> None:
    """Write the one run given, its events on a line each, and those of its tape if that is wanted."""
    (run,) = runs
    head = encode_json({"spec_version": SPEC_VERSION, "run": run.meta})
    put(head[:-1] + b',"events":[\n')
    is_first = True
    for lines, share in line_blocks(run):
        events = b",\n".join(lines)
        put(events if is_first else b",\n" + events)
        is_first = False
        progress(share)
    if with_tape:
        put(b'\n],"tape":[\n')
        is_first = True
        for line in lines_of_tape(run):
            put(line if is_first else b",\n" + line)
            is_first = False
    put(b"\n]}\n")
