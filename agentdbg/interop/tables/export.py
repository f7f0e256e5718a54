"""
Runs and their events as two Parquet files in a folder of the user's: runs.parquet and events.parquet.

Both are written aside and take their places together when both are whole; a failed export leaves what was there before.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from agentdbg.interop.exports.files import appearing
from agentdbg.interop.exports.reading import events_of
from agentdbg.interop.exports.stored import part_of
from agentdbg.interop.tables.columns import EVENTS, RUNS, event_row, run_row
from agentdbg.interop.tables.parquet import TableFile, require, write_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentdbg.interop.exports.stored import Progress, Run

__all__ = ["write_tables"]


def write_tables(runs: Sequence[Run], folder: Path, progress: Progress) -> None:
    """Write the two tables, the runs in the order given."""
    require("pyarrow")
    with ExitStack() as files:
        runs_file = files.enter_context(appearing(folder / "runs.parquet"))
        events_file = files.enter_context(appearing(folder / "events.parquet"))
        with TableFile(events_file, EVENTS) as events:
            for position, run in enumerate(runs):
                report = part_of(progress, position, len(runs))
                for number, event in enumerate(events_of(run.folder, run.run_id, report), 1):
                    events.add(event_row(number, event))
                report(1.0)
        write_table(runs_file, RUNS, (run_row(run.meta) for run in runs))
