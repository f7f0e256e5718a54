"""`agentdbg delete`: runs into the trash."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from agentdbg.commands.finding import find
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.terminal import Terminal, clean
from agentdbg.exceptions import UsageError
from agentdbg.index.runs import load_run_meta
from agentdbg.storage.housekeeping import delete_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.events import RunMeta

EXAMPLES = """
agentdbg delete a41f
agentdbg delete a41f 77c0 --yes
agentdbg restore a41f            # brings it back, for a day
"""


def command(
    runs: Annotated[list[str], Argument("RUN...", "Runs: ids, the beginnings of them, or `latest`.", "runs")],
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete runs. They wait in the trash for a day, where `restore` finds them."""
    # All are looked up before the first goes, so that a typing mistake deletes nothing.
    found = list({meta["run_id"]: meta for meta in (load_run_meta(find(run)) for run in runs)}.values())
    out = Terminal()
    if not yes and not _confirmed(found):
        out.line("Nothing was deleted.")
        return
    for meta in found:
        delete_run(meta["run_id"])
        short = meta["run_id"][:8]
        out.line(f"Deleted {_name(meta)}. `agentdbg restore {short}` brings it back until tomorrow.", cut=False)


def _confirmed(found: Sequence[RunMeta]) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("delete asks before it deletes, and there is nobody to answer; give --yes")
    live = [meta for meta in found if meta["status"] == "running"]
    sys.stderr.write("".join(f"  {_name(meta)}, {clean(meta['started_at'])}\n" for meta in found))
    if live:
        sys.stderr.write(f"{len(live)} of them still running; what it records from now on is lost with it.\n")
    sys.stderr.write(f"Delete {'this run' if len(found) == 1 else f'these {len(found)} runs'}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _name(meta: RunMeta) -> str:
    return f"{clean(meta['run_name'] or 'unnamed')} ({meta['run_id'][:8]})"
