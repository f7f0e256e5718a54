"""The events of one run or several, a line each, as they are stored; every event says which run it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.interop.exports.run_content import line_blocks, lines_of_tape, part_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.interop.exports.run_content import Progress, Put, Run

__all__ = ["write"]


def write(runs: Sequence[Run], put: Put, progress: Progress, *, with_tape: bool = False) -> None:
    """Write the runs one after the other, each with its tape behind its events if that is wanted."""
    for position, run in enumerate(runs):
        report = part_of(progress, position, len(runs))
        for lines, share in line_blocks(run):
            put(b"\n".join(lines) + b"\n")
            report(share)
        for line in lines_of_tape(run) if with_tape else ():
            put(line + b"\n")
