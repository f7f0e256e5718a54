"""
`back` at a breakpoint of a replay: the same command begins again, and pauses at an earlier call.

Nothing is live in a replay, so beginning again does nothing twice. What the program prints on the way was printed
before, and is not shown again; the run that is left is taken away.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from typing import TYPE_CHECKING, NoReturn

from agentdbg.config import load_config
from agentdbg.control.effects_guard import Paused
from agentdbg.exceptions import UsageError
from agentdbg.storage.layout import run_dir

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.control.replaying import Replay

__all__ = ["go_back", "going_back_to", "mute_until_arrival"]

_CALL = "AGENTDBG_REPLAY_BACK_TO"
_words = tuple(sys.orig_argv)
_folder = os.getcwd()
_environment = dict(os.environ)


def going_back_to() -> int:
    """The call that this process was begun again for; 0 where it was not."""
    text = os.environ.pop(_CALL, "")
    return int(text) if text.isdecimal() else 0


def go_back(replay: Replay, call: int, forgotten: str | None = None) -> NoReturn:
    """Begin this replay again and pause before this call; `forgotten` is a data folder that is thrown away."""
    if os.name != "posix":
        raise UsageError("back needs a system that can begin a program again in its place; this one cannot")
    sys.stdout.flush()
    data_dir = load_config().data_dir
    folders = [str(run_dir(data_dir, run.run_id)) for run in replay.session.runs if run.run_id]
    sys.stderr.write(f"agentdbg: back to call {call}\n")
    sys.stderr.flush()
    with Paused():  # only this thread: the others are served until they are no more
        for folder in (*folders, replay.temporary, *([forgotten] if forgotten else [])):
            shutil.rmtree(folder, ignore_errors=True)
        os.chdir(_folder)
        os.execve(sys.executable, [sys.executable, *_words[1:]], {**_environment, _CALL: str(call)})  # noqa: S606 -- ourselves


def mute_until_arrival() -> Callable[[], None]:
    """Show nothing of what the program prints until it is where it was; gives what shows it again."""
    if not _is_back:
        return lambda: None
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    is_muted = [True]

    def show() -> None:
        if is_muted.pop() if is_muted else False:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)

    atexit.register(show)  # the call may never come
    return show


_is_back = _CALL in os.environ
