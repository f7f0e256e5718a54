"""`agentdbg rename`: another name for a run."""

from __future__ import annotations

from typing import Annotated

from agentdbg.commands.find_runs import find
from agentdbg.commands.options import RUN, Argument, Option
from agentdbg.commands.terminal import Terminal
from agentdbg.storage.housekeeping import rename_run
from agentdbg.storage.reader import load_run_meta

EXAMPLES = """
agentdbg rename latest "the one that works"
agentdbg rename a41f ""                      # back to the recorded name
"""


def command(
    run: Annotated[str, RUN],
    name: Annotated[str, Argument("NAME", "The new name; an empty one brings the recorded name back.")],
    as_json: Annotated[bool, Option("--json", help="Print the run as JSON.")] = False,
) -> None:
    """Give a run another name. What was recorded stays as it is."""
    before = load_run_meta(find(run))
    after = rename_run(before["run_id"], name)
    out = Terminal()
    if as_json:
        out.json(after)
    else:
        out.sentence(f"{before['run_name'] or 'unnamed'} is now {after['run_name'] or 'unnamed'}.")
