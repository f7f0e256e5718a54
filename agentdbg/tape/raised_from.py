"""
Where an exception was raised, as plain data: a program may show a traceback to its model or its user.

`control/served_tracebacks` is the way back.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, TracebackType

__all__ = ["frames_of"]

_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST_FRAMES = 60
_LONGEST_CHAIN = 5
_Frame = list[Any]  # file, line, function, and where Python tells it: last line, first and last column


def frames_of(error: BaseException, trace: TracebackType | None) -> list[list[_Frame]] | None:
    """
    The frames below our own, the outermost first: of an exception, and of each that it was raised from.

    `trace` is the traceback as it was where we stood around the call. None where no frame of ours begins it: then it
    cannot be told which are the call's.
    """
    if trace is None or not _is_own(trace):
        return None
    found, cause = [_frames(trace)], error.__cause__
    while cause is not None and len(found) < _LONGEST_CHAIN:
        found.append(_frames(cause.__traceback__))
        cause = cause.__cause__
    return found if any(found) else None


def _frames(trace: TracebackType | None) -> list[_Frame]:
    frames: list[_Frame] = []
    while trace is not None:
        if not _is_own(trace):
            code = trace.tb_frame.f_code
            frames.append([code.co_filename, trace.tb_lineno, code.co_name, *_position(code, trace.tb_lasti)])
        trace = trace.tb_next
    return frames if len(frames) <= _MOST_FRAMES else []


def _is_own(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_OWN_FOLDER)


def _position(code: CodeType, instruction: int) -> list[int]:
    tell: Any = getattr(code, "co_positions", None)  # Python 3.11
    if tell is None or instruction < 0:
        return []
    position: list[Any] = list(next(islice(tell(), instruction // 2, None), ()))
    return [] if None in position else position[1:]
