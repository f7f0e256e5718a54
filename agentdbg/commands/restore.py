"""`agentdbg restore`: a run out of the trash."""

from __future__ import annotations

from typing import Annotated

from agentdbg.commands.options import Argument
from agentdbg.commands.terminal import Terminal
from agentdbg.storage.housekeeping import restore_run
from agentdbg.storage.reader import load_run_meta

EXAMPLES = """
agentdbg restore a41f
"""


def command(run: Annotated[str, Argument("RUN", "The id of a deleted run, or the beginning of it.")]) -> None:
    """Bring back a run that was deleted less than a day ago."""
    meta = load_run_meta(restore_run(run))
    Terminal().line(f"{meta['run_name'] or 'unnamed'} ({meta['run_id'][:8]}) is back.", cut=False)
