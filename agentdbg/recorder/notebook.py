"""
Show a run below the notebook cell that made it: how it ended, what it cost, where to look.

One small line a run, when the cell is done, in Jupyter and whatever else speaks to an IPython kernel; nothing in a
terminal. Nothing is imported for it: a program in a notebook has IPython loaded, and any other has not.
"""

from __future__ import annotations

import html
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.encoding import decode_json
from agentdbg.faults import Shield
from agentdbg.storage.layout import RUN_FILE, viewer_lock_path

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


class _Told(NamedTuple):
    """How a run ended, its name and figures, the command that opens it, and its address where a viewer serves it."""

    status: str
    told: str
    command: str
    address: str | None


def _described(run: ActiveRun) -> _Told:
    with open(os.path.join(run.path, RUN_FILE), "rb") as file:
        stored = decode_json(file.read())
    counts = stored["counts"]
    figures = [f"{counts[key]} {word}{'' if counts[key] == 1 else 's'}" for key, word in _COUNTS if counts[key]]
    took_ms = stored["duration_ms"] or 0
    took = f"{took_ms / 1000:.1f} s" if took_ms >= 1000 else f"{took_ms} ms" if took_ms else "<1 ms"
    told = " · ".join([stored["run_name"], took, *figures])
    status = _STATUS.get(stored["status"], stored["status"])
    return _Told(status, told, f"agentdbg view {run.run_id[:8]}", _address(run))


def _address(run: ActiveRun) -> str | None:
    """Where the page shows the run; without the viewer's token, which this user needs not and nobody else may read."""
    try:
        said = decode_json(viewer_lock_path(Path(run.path).parent.parent).read_bytes())
        host, port = said["host"], int(said["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return f"http://{host}:{port}/?run_id={run.run_id}" if host in ("127.0.0.1", "localhost") else None


def _publish(shell: Any, runs: list[_Told], more: int) -> None:
    lines = [f"{run.status}  {run.told}  ({run.command})" for run in runs]
    rows = [f"<div><b>{html.escape(run.status)}</b> {html.escape(run.told)} · {_way_to(run)}</div>" for run in runs]
    if more > 0:
        lines.append(f"and {more} more: agentdbg list")
        rows.append(f"<div>and {more} more: <code>agentdbg list</code></div>")
    small = f'<div style="font-size: 85%; opacity: 0.8">{"".join(rows)}</div>'
    shell.display_pub.publish(data={"text/plain": "\n".join(lines), "text/html": small})


def _way_to(run: _Told) -> str:
    command = f"<code>{html.escape(run.command)}</code>"
    return f'<a href="{html.escape(run.address)}" target="_blank">{command}</a>' if run.address else command
