"""
Where in the user's code something was recorded: `"path/agent.py:42"`.

The user's frame is the nearest one that is neither ours nor an installed library's; where there is only library code,
the nearest that is not ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.faults import pass_on
from agentdbg.interpreter import frame_above
from agentdbg.own_os import os

if TYPE_CHECKING:
    from types import CodeType, FrameType

__all__ = ["forget_paths", "function_source", "is_own_file", "is_user_file", "user_source"]

_OURS, _LIBRARY, _USER = 0, 1, 2
_MOST_FRAMES = 80
_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# The demo's agents live in our folder but stand for a user's program.
_NOT_OURS = _OWN_FOLDER + "demo" + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_MOST_PLACES = 1_000
_kinds: dict[str, int] = {}
_shown: dict[str, str] = {}
# A line number is worked out from the code each time it is asked for; the same calls come up again and again. The code
# is kept with it, since the interpreter would give the id of dead code to other code.
_places: dict[tuple[int, int], tuple[str, CodeType]] = {}


def user_source(depth: int = 1) -> str | None:
    """The user's line that is running, looking from `depth` frames above the caller."""
    try:
        frame = frame_above(depth + 1)  # inspect would cost a hundred times more
    except ValueError as error:  # called by the interpreter itself, at exit for example
        pass_on(error)
        return None
    known = _places.get((id(frame.f_code), frame.f_lasti))
    return _find_source(frame) if known is None else known[0]


def _find_source(frame: FrameType | None) -> str | None:
    nearest: FrameType | None = None
    for _ in range(_MOST_FRAMES):
        if frame is None:
            break
        path = frame.f_code.co_filename
        kind = _kinds.get(path)
        if kind is None:
            kind = _classify(path)
        if kind == _USER:
            return _user_line(frame)
        if kind == _LIBRARY and nearest is None:
            nearest = frame
        frame = frame.f_back
    return None if nearest is None else _line(nearest)


def _user_line(frame: FrameType) -> str:
    """The line of a frame of the user's own, which is remembered."""
    place = (id(frame.f_code), frame.f_lasti)
    known = _places.get(place)
    if known is None:
        known = (_line(frame), frame.f_code)
        if len(_places) < _MOST_PLACES:
            _places[place] = known
    return known[0]


def _line(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    return f"{_shown.get(path) or _display(path)}:{frame.f_lineno}"


def function_source(path: str) -> str:
    """A source file the way run names show it: relative to the current folder where it lies below it."""
    return _shown.get(path) or _display(path)


def is_own_file(path: str) -> bool:
    """Whether a source file is ours, and only stands between the user's code and what it calls."""
    return path.startswith(_OWN_FOLDER) and not path.startswith(_NOT_OURS)


def is_user_file(path: str) -> bool:
    """Whether a source file is the user's: neither ours nor an installed library's."""
    kind = _kinds.get(path)
    return (_classify(path) if kind is None else kind) == _USER


def forget_paths() -> None:
    """Look at paths anew: the current folder may have changed since the last run."""
    _shown.clear()
    _places.clear()


def _classify(path: str) -> int:
    if path.startswith(_NOT_OURS):  # also where the package is installed among the libraries
        kind = _USER
    elif is_own_file(path):
        kind = _OURS
    elif path.startswith((_STANDARD_LIBRARY, "<frozen")) or any(folder in path for folder in _PACKAGES):
        kind = _LIBRARY
    else:
        kind = _USER
    _kinds[path] = kind
    return kind


def _display(path: str) -> str:
    # A kernel gives each cell a file of its own, in a folder for a day.
    shown = "notebook" if f"{os.sep}ipykernel_" in path else path
    try:
        folder = os.getcwd() + os.sep
        if path.startswith(folder):
            shown = path[len(folder) :]
    except OSError as error:  # the current folder is gone
        pass_on(error)
    _shown[path] = shown
    return shown
