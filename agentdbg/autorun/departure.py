"""
Learn what ends a program that we did not start ourselves.

An uncaught exception comes by `sys.excepthook`. A SystemExit comes by nothing, so one that `sys.exit` (or `exit`,
`quit`) raises carries a note, and the note tells when the interpreter, and not the program, lets go of the exception.
What a program raises as SystemExit by itself stays unknown here; `agentdbg run` sees that too.
"""

from __future__ import annotations

import builtins
import functools
import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    _NoteEnd = Callable[[BaseException | None], object]

__all__ = ["watch_departure"]


def watch_departure(note_end: _NoteEnd) -> None:
    """Tell `note_end` which exception, or which exit status, ended the program."""
    sys.excepthook = _noting_hook(sys.excepthook, note_end)
    for owner, name in ((sys, "exit"), (type(getattr(builtins, "exit", None)), "__call__")):
        if hasattr(owner, name):
            setattr(owner, name, _noting_exit(getattr(owner, name), note_end))


def _noting_hook(before: Callable[..., Any], note_end: _NoteEnd) -> Callable[..., None]:
    def excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        note_end(error)
        before(kind, error, trace)

    return excepthook


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
        if sys._getframe().f_back is None:  # noqa: SLF001 -- the only way to ask
            self._note_end(SystemExit(self._code))
