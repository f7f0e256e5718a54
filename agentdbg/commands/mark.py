"""`agentdbg mark`: whether a run did its task, said by a person."""

from __future__ import annotations

from typing import Annotated

from agentdbg.analysis.known_outcome import outcome_of_run
from agentdbg.commands.find_runs import find
from agentdbg.commands.options import RUN, Option
from agentdbg.commands.terminal import Terminal
from agentdbg.exceptions import UsageError
from agentdbg.storage.housekeeping import mark_run

EXAMPLES = """
agentdbg mark latest --failed "it refunded the wrong order"
agentdbg mark a41f --passed
agentdbg mark a41f --clear
"""


def command(
    run: Annotated[str, RUN],
    failed: Annotated[str | None, Option("--failed", metavar="WHY", help="It did not do its task, and why.")] = None,
    passed: Annotated[bool, Option("--passed", help="It did its task.")] = False,
    clear: Annotated[bool, Option("--clear", help="Take the mark away.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the run as JSON.")] = False,
) -> None:
    """
    Say whether a run did its task, which its status does not: an agent may end without an error and be wrong. For a
    run that failed, `agentdbg explain` then names three steps to look at first; of one that passed it says nothing bad.
    The mark lies beside the run; what was recorded stays as it is.
    """
    if (failed is not None) + passed + clear != 1:
        raise UsageError('say one of --failed "why", --passed and --clear')
    run_id = find(run)
    after = mark_run(run_id, None if clear else "passed" if passed else "failed", failed or "")
    out = Terminal()
    if as_json:
        out.json(after)
        return
    name, known = after["run_name"] or "unnamed", outcome_of_run(after)
    if clear:
        out.sentence(f"{name} has no mark now." if known is None else f"{name} has no mark now. {known.sentence}")
        return
    more = "" if passed else f" `agentdbg explain {run_id[:8]}` names the steps to look at first."
    out.sentence(f"{name} is marked as {'passed' if passed else 'failed'}.{more}")
