"""`agentdbg` alone: the newest runs and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.commands.list import print_runs
from agentdbg.commands.terminal import Progress, Styled, Terminal
from agentdbg.index.run_index import RunFilter, RunIndex
from agentdbg.storage.layout import TAPE_FILE, run_dir
from agentdbg.storage.reader import default_data_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.events import RunMeta

__all__ = ["command"]

_FIRST = [
    ("agentdbg demo", "record a few small agents and open the viewer"),
    ("agentdbg run agent.py", "record your own program without changing it"),
    ("agentdbg doctor", "find out why a run is missing"),
]
_HELP = ("agentdbg --help", "list every command")


def command() -> None:
    """Show the newest runs, and the commands that make sense for them."""
    data_dir = default_data_dir()
    index = RunIndex(data_dir)
    with Progress("Reading runs") as progress:
        index.refresh(thorough=False, progress=progress.at)
    runs = index.page(RunFilter(), 5).runs
    out = Terminal()
    if runs:
        print_runs(out, index, runs)
    else:
        out.sentence(f"No runs in {data_dir} yet.")
    has_tape = bool(runs) and (run_dir(data_dir, runs[0]["run_id"]) / TAPE_FILE).exists()
    steps = [*(_next_steps(runs, has_tape=has_tape) if runs else _FIRST), _HELP]
    widest = max(len(typed) for typed, _ in steps)
    out.line("")
    out.line(Styled("Next:", "strong"))
    for typed, does in steps:
        out.line("  ", Styled(typed.ljust(widest), "accent"), f"  {does}")


def _next_steps(runs: Sequence[RunMeta], *, has_tape: bool) -> list[tuple[str, str]]:
    newest = runs[0]
    steps = [("agentdbg view", "open the newest run in the browser")]
    if newest["status"] == "running":
        steps.append(("agentdbg tail", "follow it here while it runs"))
    failed = next((run for run in runs if run["status"] == "error"), None)
    if failed is not None:
        steps.append((f"agentdbg explain {failed['run_id'][:8]}", "explain what went wrong"))
    # The demo records several runs in one program, which no single one of them can answer.
    if has_tape and not (newest["run_name"] or "").startswith("demo: "):
        steps.append((f"agentdbg replay {newest['run_id'][:8]}", "run it again, answered from its recording"))
    if len(runs) > 1:
        steps.append((f"agentdbg diff {runs[1]['run_id'][:8]} {newest['run_id'][:8]}", "compare the two newest runs"))
    return steps
