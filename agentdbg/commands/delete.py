"""`agentdbg delete`: runs into the trash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from agentdbg.commands.find_runs import find
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.streams import confirmed, need_somebody
from agentdbg.commands.terminal import Terminal, clean
from agentdbg.index.run_index import load_run_meta
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
    runs: Annotated[list[str], Argument("RUN...", "Runs: ids, unique prefixes, or `latest`.", "runs")],
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the ids of what was deleted as JSON.")] = False,
) -> None:
    """Delete runs. They wait in the trash for a day, where `restore` finds them."""
    # All are looked up before the first goes, so that a typing mistake deletes nothing.
    found = list({meta["run_id"]: meta for meta in (load_run_meta(find(run)) for run in runs)}.values())
    if not yes and not _confirmed(found):
        found = []
    for meta in found:
        delete_run(meta["run_id"])
    out = Terminal()
    if as_json:
        out.json({"deleted": [meta["run_id"] for meta in found]})
        return
    for meta in found:
        out.sentence(f"Deleted {_name(meta)}. `agentdbg restore {meta['run_id'][:8]}` brings it back until tomorrow.")
    if not found:
        out.line("Nothing was deleted.")


def _confirmed(found: Sequence[RunMeta]) -> bool:
    need_somebody("delete asks before it deletes")
    live = sum(meta["status"] == "running" for meta in found)
    lines = [f"  {_name(meta)}, {clean(meta['started_at'])}" for meta in found]
    if live:
        lines.append(f"{live} of them still running; what it records from now on is lost with it.")
    lines.append(f"Delete {'this run' if len(found) == 1 else f'these {len(found)} runs'}?")
    return confirmed("\n".join(lines))


def _name(meta: RunMeta) -> str:
    return f"{clean(meta['run_name'] or 'unnamed')} ({meta['run_id'][:8]})"
