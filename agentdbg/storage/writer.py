"""
The only way to the disk: one run's events.jsonl and run.json.

`append` hands whole lines to the kernel with one `write()`, so that what it returned from survives `kill -9`.
Nothing here raises: what cannot be written is counted in `dropped`, said once, and tried again with the next event.
An interruption (a signal handler's exception) goes on to the program, and whoever was interrupted asks with `holds`
whether the lines are in the file. The caller holds the run's lock.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import TYPE_CHECKING

from agentdbg.faults import pass_on, tell_once
from agentdbg.own_os import os
from agentdbg.storage.layout import EVENTS_FILE, RUN_FILE, make_run_folder, open_private, replace_file

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform != "win32":  # there run.json's `owner` tells readers whether the writer lives
    import fcntl

__all__ = ["RunWriter"]

# Above the numbers programs use, so that a daemon that closes "all" descriptors and opens its own file does not get
# ours by accident and find our lines in it.
_HIGH_DESCRIPTOR = 512
_LOCK_ATTEMPTS = 50
# A run whose folder was deleted is put back from the open descriptor if it is no larger than this.
_RESCUE_BYTES = 16_000_000
# How much other processes of the run may have written after a line, as far as it is looked for.
_OTHERS_BYTES = 262_144
_NO_DESCRIPTOR = -1
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} if hasattr(errno, "EDQUOT") else {errno.ENOSPC, errno.EFBIG}


class RunWriter:
    """Appends to one run's events.jsonl, or another file of it, and replaces its run.json."""

    __slots__ = (
        "_descriptor",
        "_folder",
        "_fsync",
        "_head",
        "_is_head_tried",
        "_line_open",
        "_path",
        "dropped",
        "problem",
    )

    def __init__(self, folder: str | Path, *, fsync: bool = False, file_name: str = EVENTS_FILE) -> None:
        self._folder = str(folder)
        self._path = os.path.join(self._folder, file_name)
        self._fsync = fsync
        self._descriptor = _NO_DESCRIPTOR
        self._head = b""
        self._is_head_tried = False
        self._line_open = False
        self.dropped = 0
        self.problem: str | None = None
        """What last kept us from writing."""

    def append(self, lines: bytes) -> bool:
        """Write whole lines as one write. False when they could not all be written."""
        is_ready = (self._descriptor != _NO_DESCRIPTOR and not self._head) or self._is_ready()
        missing = self._write(lines) if is_ready else lines.count(b"\n")
        self.dropped += missing
        return not missing

    def _write(self, lines: bytes, *, is_second_try: bool = False) -> int:
        """Write lines, and say how many of them are not whole in the file."""
        data = b"\n" + lines if self._line_open else lines
        try:
            written = os.write(self._descriptor, data)
            if self._fsync:
                os.fsync(self._descriptor)
        except OSError as error:
            pass_on(error)
            if error.errno == errno.EBADF:  # the program closed all descriptors, as a daemon does
                self._descriptor = _NO_DESCRIPTOR
                if not is_second_try and self._is_ready():
                    return self._write(lines, is_second_try=True)
            self._say(error)
            return lines.count(b"\n")
        if written == len(data):
            self._line_open = False
            return 0
        # The disk filled up in the middle: the next event, also of another process, has to start on a line of its own.
        whole = data.rfind(b"\n", 0, written) + 1
        self._line_open = not _took_back(self._descriptor, data[whole:written])
        self._say(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        return lines.count(b"\n") - data[:written].count(b"\n", len(data) - len(lines))

    def holds(self, line: bytes) -> bool:
        """Whether a line is among the last of the file; asked after an interruption, which may come before or after."""
        try:
            with open(self._path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - len(line) - _OTHERS_BYTES))
                end = file.read()
        except FileNotFoundError:
            return False
        except OSError as error:
            pass_on(error)
            return True  # twice would be worse than not at all
        self._line_open = not end.endswith(b"\n") and end != b""
        return line in end

    def prepare(self, head: bytes) -> None:
        """Have the RUN_START line ready. It is written first, by `begin` or as soon as writing works."""
        self._head = head

    def begin(self) -> bool:
        """Open the file and write the RUN_START line."""
        return self._is_ready()

    def replace_meta(self, content: bytes) -> None:
        """Replace run.json, and put the folder back first if somebody deleted it."""
        try:
            if self._descriptor != _NO_DESCRIPTOR and os.fstat(self._descriptor).st_nlink == 0:
                self._put_back()
            _replace(os.path.join(self._folder, RUN_FILE), content)
        except FileNotFoundError:
            pass  # the whole run was moved to the trash while it ran; its events go on there
        except OSError as error:
            pass_on(error)
            self._say(error)

    def close(self) -> None:
        """Give the descriptor back; the lock that says "somebody writes" goes with it."""
        if self._descriptor == _NO_DESCRIPTOR:
            return
        try:
            os.close(self._descriptor)
            self._descriptor = _NO_DESCRIPTOR
        except BaseException as error:
            self._give_up(self._path)
            if not isinstance(error, OSError):
                raise
            pass_on(error)
            self._say(error)

    def _is_ready(self) -> bool:
        """Whether the file is open and begins with its head."""
        if self._descriptor == _NO_DESCRIPTOR and not self._open():
            return False
        if self._head and self._is_head_tried:
            return self._write_head_later()
        if self._head:
            self._is_head_tried = True
            if self._write(self._head):
                return False
        self._head = b""
        return True

    def _write_head_later(self) -> bool:
        """
        Write the head for which there was no room at first, or whose writing was interrupted.

        One of the run's processes does so, for all of them. The lock is one between processes, held for microseconds.
        """
        is_locked = any(_is_locked(self._descriptor) for _ in range(_LOCK_ATTEMPTS))
        try:
            if not self._has_head() and self._write(self._head):
                return False
            self._head = b""
            return True
        finally:
            if is_locked:
                _unlock(self._descriptor)

    def _has_head(self) -> bool:
        if not hasattr(os, "pread"):
            return self.holds(self._head)
        # Not by opening the file again: closing it would give up the lock. Where the first write was cut off, the head
        # stands behind what is left of that.
        return self._head in os.pread(self._descriptor, 2 * len(self._head) + _OTHERS_BYTES, 0)

    def _open(self) -> bool:
        path = self._path
        try:
            make_run_folder(self._folder)
            descriptor = _raised(open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND))
            _lock_shared(descriptor)
            self._line_open = _ends_inside_a_line(descriptor)
            self._descriptor = descriptor
        except OSError as error:
            self._give_up(path)
            pass_on(error)
            self._say(error)
            return False
        except BaseException:
            self._give_up(path)
            raise
        return True

    def _give_up(self, path: str) -> None:
        """Close the file after an interruption, which may have come between a descriptor and the name for it."""
        self._descriptor = _NO_DESCRIPTOR
        try:
            wanted = os.stat(path)
            for number in map(int, os.listdir("/dev/fd")):
                if _is_open_on(number, wanted):
                    os.close(number)
        except OSError as error:  # there is no such file, or no such list
            pass_on(error)

    def _put_back(self) -> None:
        """The folder was deleted under a live run: make it again with what the open descriptor still holds."""
        old = self._descriptor
        self._descriptor = _NO_DESCRIPTOR
        try:
            size = os.fstat(old).st_size if self._open() else 0
            if size > _RESCUE_BYTES:
                tell_once(f"rescue:{self._folder}", f"{self._folder} was deleted; the run goes on from here")
            elif size:
                # Another process of the run may have put some of it back already.
                there = set(os.pread(self._descriptor, _RESCUE_BYTES, 0).splitlines(keepends=True))
                lines = os.pread(old, size, 0).splitlines(keepends=True)
                os.write(self._descriptor, b"".join(line for line in lines if line not in there))
        finally:
            os.close(old)

    def _say(self, error: OSError) -> None:
        self.problem = error.strerror or str(error)
        # A file where a folder should be hinders every run alike, and is said once for all of them.
        data_dir = os.path.dirname(os.path.dirname(self._folder))
        place = data_dir if isinstance(error, NotADirectoryError) else self._folder
        tell_once(
            f"write:{place}",
            f"cannot write to {place} ({error.strerror or error}); the program runs on, and recording resumes "
            f"when writing works again",
        )


def _replace(path: str, content: bytes) -> None:
    """Replace a file; on a disk without room for a second one, in its own place, which readers know to be a cache."""
    try:
        replace_file(path, content)
    except OSError as error:
        pass_on(error)
        if error.errno not in _NO_ROOM:
            raise
        with io.FileIO(path, "r+", opener=_open_ours) as file:
            file.write(content.ljust(os.fstat(file.fileno()).st_size))
            file.truncate(len(content))


def _open_ours(path: str, flags: int) -> int:
    return open_private(path, flags)


def _is_open_on(descriptor: int, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), wanted)
    except OSError as error:  # it was the list's own
        pass_on(error)
        return False


def _raised(descriptor: int) -> int:
    if sys.platform == "win32":
        return descriptor
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR)
    except OSError as error:  # the limit of open files is lower than that
        pass_on(error)
        return descriptor
    os.close(descriptor)
    return high


def _lock_shared(descriptor: int) -> None:
    """Hold the lock that tells readers somebody writes. A reader holds the exclusive one for microseconds only."""
    if sys.platform == "win32":
        return
    for _ in range(_LOCK_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        except OSError as error:  # a file system without locks: `owner` decides
            pass_on(error)
            return
        return


def _is_locked(descriptor: int) -> bool:
    """Whether this process holds, or could now take, the lock that is one between processes; True without locks."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        pass_on(error)
        return error.errno not in (errno.EACCES, errno.EAGAIN)
    return True


def _unlock(descriptor: int) -> None:
    if sys.platform != "win32" and descriptor != _NO_DESCRIPTOR:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_UN)
        except OSError as error:
            pass_on(error)


def _took_back(descriptor: int, torn: bytes) -> bool:
    """Cut off the beginning of a line that found no room for its end, unless something stands behind it by now."""
    if not torn:
        return True
    try:
        start = os.fstat(descriptor).st_size - len(torn)
        if os.pread(descriptor, len(torn), start) != torn:
            return False
        os.ftruncate(descriptor, start)
    except (OSError, AttributeError) as error:  # Windows has no pread
        pass_on(error)
        return False
    return True


def _ends_inside_a_line(descriptor: int) -> bool:
    try:
        size = os.fstat(descriptor).st_size
        return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    except (OSError, AttributeError) as error:  # Windows has no pread; a file we just made is empty
        pass_on(error)
        return False
