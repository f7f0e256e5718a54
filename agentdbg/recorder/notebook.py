"""
Show a run below the notebook cell that made it: how it ended, what it cost, where to look.

One small line a run, when the cell is done, in Jupyter and whatever else speaks to an IPython kernel; nothing in a
terminal. Nothing is imported for it: a program in a notebook has IPython loaded, and any other has not.
"""

from __future__ import annotations

import html
import os
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json
from agentdbg.faults import Shield
from agentdbg.storage.layout import RUN_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentdbg.recorder.active_run import ActiveRun

__all__ = ["show_runs_below_cells"]

_MOST_SHOWN = 3
_STATUS = {"ok": "✓ Finished", "error": "✕ Failed"}
_COUNTS = (
    ("llm_calls", "LLM call"),
    ("tool_calls", "tool call"),
    ("errors", "error"),
    ("loop_warnings", "loop warning"),
)


def show_runs_below_cells(ended: Callable[[], Sequence[ActiveRun]]) -> None:
    """Follow the notebook this process belongs to, if there is one; `ended` gives the runs that have ended so far."""
    ipython = sys.modules.get("IPython")
    shell: Any = None if ipython is None else ipython.get_ipython()
    if not hasattr(shell, "kernel"):
        return
    shown = {run.run_id for run in ended()}

    def cell_done(*_: Any) -> None:
        with Shield("show the run below its cell"):
            new = [run for run in ended() if run.run_id not in shown]
            shown.update(run.run_id for run in new)
            if new:
                _publish(shell, [_described(run) for run in new[-_MOST_SHOWN:]], len(new) - _MOST_SHOWN)

    shell.events.register("post_run_cell", cell_done)


def _described(run: ActiveRun) -> tuple[str, str, str]:
    """How the run ended, its name and figures, and the command that opens it."""
    with open(os.path.join(run.path, RUN_FILE), "rb") as file:
        stored = decode_json(file.read())
    counts = stored["counts"]
    figures = [f"{counts[key]} {word}{'' if counts[key] == 1 else 's'}" for key, word in _COUNTS if counts[key]]
    seconds = (stored["duration_ms"] or 0) / 1000
    told = " · ".join([stored["run_name"], f"{seconds:.1f} s", *figures])
    return _STATUS.get(stored["status"], stored["status"]), told, f"agentdbg view {run.run_id[:8]}"


def _publish(shell: Any, runs: list[tuple[str, str, str]], more: int) -> None:
    lines = [f"{status}  {told}  ({command})" for status, told, command in runs]
    rows = [
        f"<div><b>{html.escape(status)}</b> {html.escape(told)} · <code>{html.escape(command)}</code></div>"
        for status, told, command in runs
    ]
    if more > 0:
        lines.append(f"and {more} more: agentdbg list")
        rows.append(f"<div>and {more} more: <code>agentdbg list</code></div>")
    small = f'<div style="font-size: 85%; opacity: 0.8">{"".join(rows)}</div>'
    shell.display_pub.publish(data={"text/plain": "\n".join(lines), "text/html": small})
