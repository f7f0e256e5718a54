"""
Learn what ends a program that we did not start ourselves.

An uncaught exception comes by `sys.excepthook`; a SystemExit comes by nothing. From 3.12 on the interpreter tells of
each frame that an exception leaves, so the one that leaves the last frame is seen. Before, a SystemExit that `sys.exit`
(or `exit`, `quit`) raises carries a note, and the note tells when the interpreter, and not the program, lets go of it;
what a program raises as SystemExit by itself stays unknown there. `agentdbg run` sees everything.
"""

from __future__ import annotations

import builtins
import functools
import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any

from agentdbg.faults import Shield
from agentdbg.interpreter import frame_above

if TYPE_CHECKING:
    from collections.abc import Callable

    _NoteEnd = Callable[[BaseException | None], object]

__all__ = ["watch_departure"]

# Those that no tool has reserved; 0 to 2 and 5 belong to debuggers, coverage, profilers and optimizers.
_FREE_TOOL_IDS = (4, 3)


def watch_departure(note_end: _NoteEnd) -> None:
    """Tell `note_end` which exception, or which exit status, ended the program."""
    sys.excepthook = _noting_hook(sys.excepthook, note_end)
    if _watch_last_frame(note_end):
        return
    for owner, name in ((sys, "exit"), (type(getattr(builtins, "exit", None)), "__call__")):
        if hasattr(owner, name):
            setattr(owner, name, _noting_exit(getattr(owner, name), note_end))


def _noting_hook(before: Callable[..., Any], note_end: _NoteEnd) -> Callable[..., None]:
    def excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        note_end(error)
        before(kind, error, trace)

    return excepthook


def _watch_last_frame(note_end: _NoteEnd) -> bool:
    """Be told of a SystemExit that leaves the program's last frame; False where that cannot be had."""
    monitoring: Any = getattr(sys, "monitoring", None)
    tool_id = None if monitoring is None else next((n for n in _FREE_TOOL_IDS if monitoring.get_tool(n) is None), None)
    if tool_id is None:
        return False
    program_thread = get_ident()

    def unwound(_code: Any, _offset: int, error: BaseException) -> None:
        if isinstance(error, SystemExit) and get_ident() == program_thread:
            left = frame_above(1)
            if left.f_back is None:
                with Shield("note how the program ended"):  # it would take the place of the program's own
                    note_end(error)

    monitoring.use_tool_id(tool_id, "agentdbg")
    monitoring.register_callback(tool_id, monitoring.events.PY_UNWIND, unwound)
    monitoring.set_events(tool_id, monitoring.events.PY_UNWIND)
    return True


def _noting_exit(leave: Callable[..., Any], note_end: _NoteEnd) -> Callable[..., Any]:
    program_thread = get_ident()

    @functools.wraps(leave)
    def leave_with_note(*args: Any, **kwargs: Any) -> Any:
        try:
            return leave(*args, **kwargs)
        except SystemExit as error:
            if get_ident() == program_thread:
                error.__dict__["_agentdbg_note"] = _Note(error.code, note_end)
            raise

    return leave_with_note


class _Note:
    """Rides on a SystemExit. The interpreter drops the one that ends the program when no frame is left running."""

    __slots__ = ("_code", "_note_end")

    def __init__(self, code: Any, note_end: _NoteEnd) -> None:
        self._code = code
        self._note_end = note_end

    def __del__(self) -> None:
        if frame_above().f_back is None:
            self._note_end(SystemExit(self._code))
