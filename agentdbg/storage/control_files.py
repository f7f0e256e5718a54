"""
How a paused program and whoever answers it talk: through files in the run's folder, values only, never code.

    control/paused-<id>.json     what waits, written by the program; gone when it goes on
    control/command-<id>.json    what it is told, written once by whoever is first
    control/breaks.json          where it pauses; while it is there, the page or a terminal may change it

The program takes a command only from a regular file of its own user, not open to others, at most 4 MB, opened without
following a link, and only for the pause it is in. The first answer counts: its file is made with O_EXCL.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Any

from agentdbg.faults import pass_on
from agentdbg.owner import is_owner_alive
from agentdbg.storage.layout import make_private_folder, remove_quietly, replace_file

__all__ = [
    "MOST_COMMAND_BYTES",
    "answer_pause",
    "control_dir",
    "forget_breaks",
    "new_pause_id",
    "pause_headline",
    "paused_in",
    "post_pause",
    "read_breaks",
    "read_private_json",
    "reject_command",
    "take_command",
    "withdraw_pause",
    "write_breaks",
]

MOST_COMMAND_BYTES = 4_000_000
_PAUSE_ID = re.compile(r"[0-9a-f]{32}")
_BREAKS = "breaks.json"
_ATTEMPTS = 100
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


# Paths are texts here: the first use of a `Path` raises and catches an exception, which would be chained to whatever
# a signal handler raises in that moment.


def control_dir(run_folder: str | Path) -> str:
    """The folder of one run's control files; it exists only while somebody needs it."""
    return os.path.join(os.fspath(run_folder), "control")


def new_pause_id() -> str:
    """128 random bits, so that nobody can answer a pause he has not read."""
    return secrets.token_hex(16)


# The program's side.


def post_pause(run_folder: str | Path, pause: dict[str, Any]) -> None:
    """Say that the program waits. `pause` has `pause_id`, what is shown, and what may be changed."""
    _write_whole(run_folder, f"paused-{pause['pause_id']}.json", pause)


def take_command(run_folder: str | Path, pause_id: str) -> dict[str, Any] | None:
    """What this pause is told, once somebody has answered; None while nobody has, or the answer is not acceptable."""
    path = os.path.join(folder := control_dir(run_folder), f"command-{pause_id}.json")
    try:
        command = None if _is_link(folder) else read_private_json(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        pass_on(error)
        remove_quietly(path)
        return None
    return command if isinstance(command, dict) else None


def reject_command(run_folder: str | Path, pause_id: str) -> None:
    """What this pause was told makes no sense; it waits on, and somebody else may answer."""
    folder = control_dir(run_folder)
    for name in (f"command-{pause_id}.json", f".answered-{pause_id}"):  # in this order: the next may be quick
        remove_quietly(os.path.join(folder, name))


def withdraw_pause(run_folder: str | Path, pause_id: str) -> None:
    """The program goes on: nothing waits any more."""
    folder = control_dir(run_folder)
    for name in (f"paused-{pause_id}.json", f"command-{pause_id}.json", f".answered-{pause_id}"):
        remove_quietly(os.path.join(folder, name))
    try:
        os.rmdir(folder)
    except OSError as error:  # others wait too, or breakpoints are kept in it
        pass_on(error)


# The other side.


def paused_in(run_folder: str | Path) -> list[dict[str, Any]]:
    """What waits in this run, the longest first; nothing that is damaged, not ours, or of a process that is gone."""
    found, folder = [], control_dir(run_folder)
    try:
        names = [] if _is_link(folder) else os.listdir(folder)
    except OSError as error:  # nothing waits, or no longer: the folder goes with the last pause
        pass_on(error)
        return []
    for name in names:
        if not name.startswith("paused-"):
            continue
        try:
            pause = read_private_json(os.path.join(folder, name))
        except (OSError, ValueError) as error:
            pass_on(error)
            continue
        is_named_so = isinstance(pause, dict) and name == f"paused-{pause.get('pause_id')}.json"
        if is_named_so and is_owner_alive(pause.get("owner")) is not False:
            found.append(pause)
    return sorted(found, key=lambda pause: str(pause.get("since", "")))


def pause_headline(pause: dict[str, Any]) -> str:
    """A pause in half a line, for lists of runs."""
    call = pause.get("call")
    name = str(call.get("name")) if isinstance(call, dict) else "a call"
    when = pause.get("when")
    return f"Paused {when if when in ('before', 'after') else 'at'} {name}, waiting for you"


def answer_pause(run_folder: str | Path, pause_id: str, command: dict[str, Any]) -> bool:
    """Tell a paused program what to do; False when it no longer waits, or somebody else was first."""
    folder = Path(control_dir(run_folder))
    waiting = [pause["pause_id"] for pause in paused_in(run_folder)]
    if pause_id not in waiting or not _PAUSE_ID.fullmatch(pause_id):
        return False
    body = json.dumps(command, allow_nan=False).encode()
    if len(body) > MOST_COMMAND_BYTES:
        raise ValueError(f"the answer has {len(body):,} bytes; {MOST_COMMAND_BYTES:,} are the most")
    target = folder / f"command-{pause_id}.json"
    try:
        # Only for the first, and only while the program waits: what it withdraws first can be linked no more.
        os.link(folder / f"paused-{pause_id}.json", folder / f".answered-{pause_id}")
    except (FileExistsError, FileNotFoundError):
        return False
    except OSError as error:  # the disk knows no links
        pass_on(error)
        if target.exists():
            return False
    try:
        replace_file(target, body)
    except FileNotFoundError:  # it went on, and its folder is gone
        return False
    return True


def read_breaks(run_folder: str | Path) -> list[str]:
    """Where the program should pause, as set from outside."""
    folder = control_dir(run_folder)
    try:
        told = None if _is_link(folder) else read_private_json(os.path.join(folder, _BREAKS))
    except (OSError, ValueError) as error:
        pass_on(error)
        return []
    breaks = told.get("breaks") if isinstance(told, dict) else None
    return [one for one in breaks if isinstance(one, str)][:100] if isinstance(breaks, list) else []


def write_breaks(run_folder: str | Path, breaks: list[str]) -> None:
    """Set where the program should pause from its next call on."""
    _write_whole(run_folder, _BREAKS, {"breaks": breaks})


def forget_breaks(run_folder: str | Path) -> None:
    """The run is over: nothing pauses in it any more."""
    folder = control_dir(run_folder)
    remove_quietly(os.path.join(folder, _BREAKS))
    try:
        os.rmdir(folder)
    except OSError as error:
        pass_on(error)


def read_private_json(path: str | Path) -> Any:
    """
    The JSON in a file that only our own user can have written.

    Raises OSError or ValueError for a link, a pipe, a file of somebody else or open to others, and one that is too
    large. Windows has no such modes; there the profile's own protection has to do.
    """
    descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_BINARY", 0))
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("not a regular file")
        if hasattr(os, "getuid") and (about.st_uid != os.getuid() or about.st_mode & 0o077):
            raise ValueError("not this user's own")
        if about.st_size > MOST_COMMAND_BYTES:
            raise ValueError("too large")
        content = os.read(descriptor, MOST_COMMAND_BYTES + 1)
    finally:
        os.close(descriptor)
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _write_whole(run_folder: str | Path, name: str, value: dict[str, Any]) -> None:
    body = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            replace_file(os.path.join(_own_folder(run_folder), name), body)
        except FileNotFoundError:  # another pause was the last to go, and took the folder with it
            if not attempts_left or not os.path.isdir(run_folder):
                raise
        else:
            return


def _own_folder(run_folder: str | Path) -> str:
    """The control folder, made if it is missing. A link in its place is not followed."""
    folder = control_dir(run_folder)
    make_private_folder(folder)
    if _is_link(folder):
        raise NotADirectoryError(20, "there is a link where the control folder should be", folder)
    return folder


def _is_link(path: str) -> bool:
    """Whether this is a link; unlike `is_symlink`, it takes no exception of a signal handler for a no."""
    return stat.S_ISLNK(os.lstat(path).st_mode)
