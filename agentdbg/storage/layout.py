"""
Where everything lies on disk, and how a folder or a file of ours is made: private, and never through a symlink.

    <data_dir>/runs/<run_id>/run.json            what the run is, a cache
                             events.jsonl        what happened, the truth
                             events.jsonl.gz     the same, once it is old
                             tape.jsonl          every value of its calls, whole, once
                             tape.jsonl.gz       the same, once it is old
                             label.json          the name and the mark a user gave it
    <data_dir>/trash/<run_id>/                   deleted runs, for a day
    <data_dir>/index/                            caches anyone may delete
    <data_dir>/viewer.lock                       the viewer that serves this folder
    <data_dir>/receiver.token                    what other users and containers show to the receiver
    <data_dir>/tape.key                          what proves that a tape was made in this folder
"""

from __future__ import annotations

import errno
import functools
import io
import re
import stat
from typing import TYPE_CHECKING

from agentdbg.exceptions import DataFolderUnusable
from agentdbg.faults import pass_on
from agentdbg.own_os import os

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "EVENTS_FILE",
    "EVENTS_GZIP_FILE",
    "LABEL_FILE",
    "RUN_FILE",
    "TAPE_FILE",
    "TAPE_GZIP_FILE",
    "check_data_dir",
    "index_dir",
    "is_run_id",
    "make_private_folder",
    "make_run_folder",
    "open_private",
    "receiver_token_path",
    "remove_quietly",
    "replace_file",
    "run_dir",
    "runs_dir",
    "tables_dir",
    "tape_key_path",
    "trash_dir",
    "viewer_lock_path",
]

RUN_FILE = "run.json"
EVENTS_FILE = "events.jsonl"
EVENTS_GZIP_FILE = "events.jsonl.gz"
TAPE_FILE = "tape.jsonl"
TAPE_GZIP_FILE = "tape.jsonl.gz"
LABEL_FILE = "label.json"
_OURS = {"runs", "trash", "index", "viewer.lock", "receiver.token", "tape.key", "config.yaml", "policy.yaml"}

_RUN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Windows has neither; there the flags are 0 and change nothing.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)


def runs_dir(data_dir: Path) -> Path:
    """The folder that holds one folder per run."""
    return data_dir / "runs"


def run_dir(data_dir: Path, run_id: str) -> Path:
    """The folder of one run. `run_id` is ours or was found by scanning, never text of a request."""
    return data_dir / "runs" / run_id


def trash_dir(data_dir: Path) -> Path:
    """Where deleted runs wait for a day."""
    return data_dir / "trash"


def index_dir(data_dir: Path) -> Path:
    """Caches that may be deleted at any time."""
    return data_dir / "index"


def tables_dir(data_dir: Path) -> Path:
    """The tables that questions are asked of; anyone may delete them."""
    return index_dir(data_dir) / "tables"


def viewer_lock_path(data_dir: Path) -> Path:
    """Says which viewer serves this folder."""
    return data_dir / "viewer.lock"


def receiver_token_path(data_dir: Path) -> Path:
    """Holds the token of every receiver of this folder."""
    return data_dir / "receiver.token"


def tape_key_path(data_dir: Path) -> Path:
    """Holds the key by which a tape of this folder is known."""
    return data_dir / "tape.key"


def check_data_dir(data_dir: str | Path) -> None:
    """Raise DataFolderUnusable when a file lies where the runs should, or they may not be read. Missing is fine."""
    try:
        os.scandir(data_dir).close()
        os.scandir(os.path.join(data_dir, "runs")).close()
    except FileNotFoundError:
        return  # the first run makes it
    except NotADirectoryError as error:
        raise DataFolderUnusable(error.filename, "it is a file, not a folder") from None
    except OSError as error:
        pass_on(error)
        raise DataFolderUnusable(error.filename or data_dir, error.strerror or str(error)) from None


def is_run_id(text: str) -> bool:
    """Whether `text` is a canonical UUID, as run folders are named."""
    return _RUN_ID.fullmatch(text) is not None


def make_run_folder(folder: str) -> None:
    """Make a run's folder and the two above it, private; a data folder that holds other things too stays as it is."""
    runs = os.path.dirname(folder)
    data_dir = os.path.dirname(runs)
    if not _is_private_folder(data_dir) and not (os.path.isdir(data_dir) and set(os.listdir(data_dir)) - _OURS):
        make_private_folder(data_dir)
    if not _is_private_folder(runs):
        make_private_folder(runs)
    make_private_folder(folder)


def _is_private_folder(path: str) -> bool:
    """Whether nothing needs doing to this folder, found out without trying to make it: nearly every run finds it so."""
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        pass_on(error)
        return False
    return stat.S_ISDIR(mode) and not mode & 0o077


def make_private_folder(path: str | Path) -> None:
    """Make `path` and what is missing above it, for this user alone; tighten it where it exists but is wider."""
    path = os.fspath(path)
    try:
        _make_or_tighten(path)
    except FileNotFoundError:
        above = os.path.dirname(path)
        if above in ("", path):  # the working directory is gone
            raise
        make_private_folder(above)
        _make_or_tighten(path)  # another process may have made it meanwhile


def _make_or_tighten(path: str) -> None:
    try:
        _make_folder(path)
    except FileExistsError:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            # A data folder that is a link is the user's own choice; a link to nowhere is an error further on.
            found = os.stat(path)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(20, "there is a file where a folder should be", path) from None
        if os.name == "posix" and found.st_mode & 0o077 and found.st_uid == os.getuid():
            os.chmod(path, found.st_mode & 0o700)


def _make_folder(path: str) -> None:
    os.mkdir(path, 0o700)
    if os.name == "posix" and os.stat(path).st_mode & 0o777 != 0o700:  # an unusual umask took more than it should
        os.chmod(path, 0o700)


def open_private(path: str | Path, flags: int) -> int:
    """Open a file of ours: mode 0600 whatever the umask, never through a symlink. To be read it has to be a file."""
    is_read = not flags & (os.O_WRONLY | os.O_RDWR)
    descriptor = os.open(path, flags | _NO_FOLLOW | _CLOSE_ON_EXEC | (_NO_WAITING if is_read else 0), 0o600)
    if is_read and not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))
    if flags & os.O_CREAT:
        _make_private(descriptor)
    return descriptor


def _make_private(descriptor: int) -> None:
    if os.name == "posix" and os.fstat(descriptor).st_mode & 0o777 != 0o600:  # an unusual umask
        os.fchmod(descriptor, 0o600)


_open_mine = functools.partial(os.open, mode=0o600)


def replace_file(path: str | Path, *content: bytes | memoryview) -> None:
    """Put `content`, part by part, at `path` atomically: a reader sees the old or the new file, never some of it."""
    path = os.fspath(path)
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        # An object that owns its descriptor from the first moment: an interruption cannot come between the two.
        with io.FileIO(temporary, "x", opener=_open_mine) as file:
            _make_private(file.fileno())
            for part in content:
                view = memoryview(part).cast("B")
                while view:
                    view = view[os.write(file.fileno(), view) :]
        os.replace(temporary, path)
    except BaseException:
        remove_quietly(temporary)
        raise


def remove_quietly(path: str | Path) -> None:
    """Remove a file of ours, if it is there and can be removed."""
    try:
        os.unlink(path)
    except OSError as error:
        pass_on(error)
