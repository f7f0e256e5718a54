"""`agentdbg restore`: a run out of the trash, or what is in there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

from agentdbg.analysis.wording import duration
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.terminal import Column, Styled, Terminal
from agentdbg.commands.times import local_time
from agentdbg.events import SPEC_VERSION
from agentdbg.storage.housekeeping import deleted_runs, restore_run
from agentdbg.storage.reader import load_run_meta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.storage.housekeeping import DeletedRun

EXAMPLES = """
agentdbg restore             # what can be brought back
agentdbg restore a41f
agentdbg restore latest      # the one that was deleted last
"""


def command(
    run: Annotated[
        str | None, Argument("[RUN]", "A deleted run: its id, a unique prefix, or `latest`; lists them without.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Bring back a run that was deleted less than a day ago. Without a run, show what can be brought back."""
    out = Terminal()
    deleted = deleted_runs()
    if run is None:
        _show(out, deleted, as_json=as_json)
        return
    wanted = deleted[0].meta["run_id"] if run == "latest" and deleted else run
    meta = load_run_meta(restore_run(wanted))
    if as_json:
        out.json(meta)
    else:
        out.sentence(f"{meta['run_name'] or 'unnamed'} ({meta['run_id'][:8]}) is back.")


def _show(out: Terminal, deleted: Sequence[DeletedRun], *, as_json: bool) -> None:
    if as_json:
        out.json({"spec_version": SPEC_VERSION, "deleted": [one.meta for one in deleted]})
    elif not deleted:
        out.line("No deleted run waits to be brought back.")
    else:
        columns = [Column("run_id"), Column("run_name", least=16), Column("started_at", optional=1), Column("deleted")]
        out.table(columns, [_row(one) for one in deleted])
        if out.is_terminal:
            out.sentence(Styled("`agentdbg restore RUN_ID` brings one back; after a day it is gone for good.", "muted"))


def _row(one: DeletedRun) -> list[str | Styled]:
    seconds = time.time() - one.deleted_at
    ago = f"{duration(seconds * 1000)} ago" if seconds >= 60 else "just now"
    name = one.meta["run_name"] or "unnamed"
    return [Styled(one.meta["run_id"][:8], "accent"), name, local_time(one.meta["started_at"]), ago]
