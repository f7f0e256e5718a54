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
# Beside the commands; where there is less, what they do stands below each.
_LEAST_ROOM = 50
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
    is_paused = bool(runs) and index.states([runs[0]["run_id"]])[runs[0]["run_id"]] == "paused"
    has_tape = bool(runs) and (run_dir(data_dir, runs[0]["run_id"]) / TAPE_FILE).exists()
    steps = [*(_next_steps(runs, has_tape=has_tape, is_paused=is_paused) if runs else _FIRST), _HELP]
    widest = max(len(typed) for typed, _ in steps)
    out.line("")
    out.line(Styled("Next:", "strong"))
    has_room = out.width is None or out.width >= widest + _LEAST_ROOM
    for typed, does in steps:
        if has_room:
            out.line("  ", Styled(typed.ljust(widest), "accent"), f"  {does}")
        else:
            out.line("  ", Styled(typed, "accent"))
            out.sentence(does, indent=6)


def _next_steps(runs: Sequence[RunMeta], *, has_tape: bool, is_paused: bool) -> list[tuple[str, str]]:
    newest = runs[0]
    steps = [("agentdbg view", "open the newest run in the browser")]
    is_live = newest["status"] == "running"
    if is_paused:
        steps.append((f"agentdbg attach {newest['run_id'][:8]}", "answer it: it waits at a breakpoint"))
    elif is_live:
        steps.append(("agentdbg tail", "follow it here while it runs"))
    failed = next((run for run in runs if run["status"] == "error"), None)
    if failed is not None:
        steps.append((f"agentdbg explain {failed['run_id'][:8]}", "explain what went wrong"))
    # The demo records several runs in one program, which no single one of them can answer.
    if has_tape and not is_live and not (newest["run_name"] or "").startswith("demo: "):
        steps.append((f"agentdbg replay {newest['run_id'][:8]}", "run it again, answered from its recording"))
    ended = [run for run in runs if run["status"] != "running"]
    if len(ended) > 1:
        alike = [run for run in ended[1:] if run["run_name"] == ended[0]["run_name"]]
        before, what = (
            (alike[0], "compare it with the one before") if alike else (ended[1], "compare the two newest runs")
        )
        steps.append((f"agentdbg diff {before['run_id'][:8]} {ended[0]['run_id'][:8]}", what))
    return steps
