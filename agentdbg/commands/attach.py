"""`agentdbg attach`: answer a paused run from another terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.commands.find_runs import newest_runs
from agentdbg.commands.opened_run import open_run
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.terminal import Terminal
from agentdbg.control.pauses import Answered, Pause, is_terminal
from agentdbg.control.prompt import Prompt
from agentdbg.control.where import Breakpoint, parse_breakpoint
from agentdbg.exceptions import UsageError
from agentdbg.storage.control_files import answer_pause, paused_in, read_breaks, write_breaks
from agentdbg.storage.layout import run_dir
from agentdbg.storage.reader import default_data_dir

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentdbg.commands.opened_run import OpenedRun

__all__ = ["command"]

EXAMPLES = """
agentdbg attach               # the run that waits
agentdbg attach a41f          # this run
agentdbg attach a41f --continue
"""

_LOOK_SECONDS = 0.05
_LOOK_AT_STATUS = 20


def command(
    run: Annotated[str | None, Argument("[RUN]", "A run; the newest that waits when left out.", "runs")] = None,
    go_on: Annotated[bool, Option("--continue", help="Let everything that waits go on, and ask nothing.")] = False,
) -> None:
    """Answer a run that is paused at a breakpoint, from another terminal. Ends when the run ends; Ctrl-C leaves it."""
    wanted = run or _newest_waiting()
    if wanted is None:
        raise UsageError(
            "no run is going on here; `agentdbg run --break WHERE --wait 300 agent.py` starts one that waits"
        )
    opened = open_run(wanted)
    folder = run_dir(opened.data_dir, opened.run_id)
    out = Terminal()
    if go_on:
        waiting = paused_in(folder)
        for pause in waiting:
            answer_pause(folder, pause["pause_id"], {"do": "continue", "by": "attach"})
        out.line(f"{len(waiting)} paused, told to go on." if waiting else "Nothing waits in this run.")
        return
    if not is_terminal():
        raise UsageError("attach asks questions, but this is not a terminal; --continue lets the run go on")
    if not opened.is_live:
        raise UsageError(f"the run {opened.run_id[:8]} has ended, so nothing waits in it")
    try:
        _answer_all(out, opened, folder)
    except KeyboardInterrupt:
        out.line("Left; the run goes on waiting as before.")


def _newest_waiting() -> str | None:
    """The newest run in which something waits, else the newest that goes on."""
    live = [one["run_id"] for one in newest_runs(50, status="running")]
    waiting = [run_id for run_id in live if paused_in(run_dir(default_data_dir(), run_id))]
    return next(iter(waiting or live), None)


def _answer_all(out: Terminal, opened: OpenedRun, folder: Path) -> None:
    prompt, breaks, seen = Prompt(), _Breaks(folder), set[str]()
    out.sentence(f"Attached to {opened.meta['run_name'] or 'unnamed'} {opened.run_id[:8]}; waiting for it to pause.")
    looks = 0
    while opened.is_live:
        for told in paused_in(folder):
            if told["pause_id"] not in seen:
                seen.add(told["pause_id"])
                _answer(prompt, breaks, folder, told)
        out.flush()
        time.sleep(_LOOK_SECONDS)
        looks += 1
        if looks % _LOOK_AT_STATUS == 0:
            opened.index.extend()
            opened.refresh()
    out.line("The run has ended.")


def _answer(prompt: Prompt, breaks: _Breaks, folder: Path, told: dict[str, Any]) -> None:
    pause = _as_pause(told)

    def elsewhere() -> Answered | None:
        is_waiting = (folder / "control" / f"paused-{pause.pause_id}.json").exists()
        return None if is_waiting else Answered("continue", by="another place")

    answered = prompt(pause, elsewhere, breaks)
    breaks.save()
    if answered.by == "another place":
        return
    command: dict[str, Any] = {"do": answered.do, "by": "attach"}
    if answered.is_edited:
        command["value"] = answered.value
    if answered.error is not None:
        error = answered.error  # the text of a KeyError is what it was made with, in quotes
        command["error"] = {"type": type(error).__name__, "message": str(error.args[0] if error.args else "")}
    if not answer_pause(folder, pause.pause_id, command):
        Terminal().line("Somebody else was first.")


def _as_pause(told: dict[str, Any]) -> Pause:
    call = told.get("call") or {}
    can = told.get("can") or []
    return Pause(
        str(told.get("when")),
        str(call.get("kind")),
        str(call.get("name")),
        told.get("value"),
        told.get("value"),
        number=int(call.get("number") or 0),
        source=told.get("source"),
        lane=str(told.get("lane") or ""),
        reason=str(told.get("reason") or ""),
        error=told.get("error"),
        spent=str(told.get("spent") or ""),
        can_edit="edit" in can,
        can_skip="skip" in can,
        shows=told.get("shows") or {},
        pause_id=told["pause_id"],
    )


class _Breaks:
    """The breakpoints of the other process, as far as they were set from outside."""

    def __init__(self, folder: Path) -> None:
        self.go_back: Callable[[int], object] | None = None
        self._folder = folder
        self._known = read_breaks(folder)
        self.places: list[Breakpoint] = [parse_breakpoint(text) for text in self._known]

    def save(self) -> None:
        """Tell the other process, if anything has changed."""
        texts = [place.text for place in self.places]
        if texts != self._known:
            self._known = texts
            write_breaks(self._folder, texts)
