"""
The traceback of an exception that is served: it looks as it did, although nothing of the call runs.

Each recorded frame becomes code of the same name whose only line, at the same place of the same file, raises. Only
files that the program itself has loaded are named, so that nobody's recording has others shown.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from types import CodeType

__all__ = ["give_frames"]


def give_frames(error: BaseException, frames: Any) -> None:
    """Let an exception look as if it had been raised there; whoever raises it adds his own frames above."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    one: BaseException | None = error
    for part in frames if isinstance(frames, list) else ():
        if one is None:
            return
        context, is_silent = one.__context__, one.__suppress_context__
        try:
            _raise_through(one, [frame for frame in part if frame[0] in files])
        except (LookupError, TypeError, ValueError, SyntaxError) as damage:
            pass_on(damage)
        _set(one, "__context__", context)
        _set(one, "__suppress_context__", is_silent)
        one = one.__cause__


def _raise_through(error: BaseException, frames: list[list[Any]]) -> None:
    BaseException.with_traceback(error, None)
    for frame in reversed(frames):
        code = _raising(*frame)
        try:
            exec(code, {"error": error})  # noqa: S102 -- it only raises; of a recording it has places and a name
        except BaseException as raised:
            if raised is not error:
                raise
            trace = raised.__traceback__
            BaseException.with_traceback(error, None if trace is None else trace.tb_next)


def _raising(file: str, line: int, name: str, last_line: int = 0, column: int = 0, last_column: int = 0) -> CodeType:
    """Code of that name whose only instruction, at that place, raises `error`."""
    place = {"lineno": line, "end_lineno": last_line or line, "col_offset": column, "end_col_offset": last_column}
    raising = ast.Raise(exc=ast.Name(id="error", ctx=ast.Load(), **place), cause=None, **place)
    code = compile(ast.Module(body=[raising], type_ignores=[]), file, "exec")
    return code.replace(co_name=name)


def _set(error: BaseException, name: str, value: Any) -> None:
    BaseException.__dict__[name].__set__(error, value)
