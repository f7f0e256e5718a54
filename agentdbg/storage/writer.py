"""
The only way to the disk: one run's events.jsonl and run.json.

`append` hands whole lines to the kernel with one `write()`, so that what it returned from survives `kill -9`.
Nothing here raises: what cannot be written is counted in `dropped`, said once, and tried again with the next event.
The caller holds the run's lock.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from agentdbg.faults import tell_once
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
_NO_DESCRIPTOR = -1


class RunWriter:
    """Appends to one run's events.jsonl and replaces its run.json."""

    __slots__ = ("_descriptor", "_folder", "_fsync", "_head", "_line_open", "dropped")

    def __init__(self, folder: str | Path, *, fsync: bool = False) -> None:
        self._folder = str(folder)
        self._fsync = fsync
        self._descriptor = _NO_DESCRIPTOR
        self._head = b""
        self._line_open = False
        self.dropped = 0

    def append(self, lines: bytes, *, is_second_try: bool = False) -> bool:
        """Write whole lines as one write. False when they could not all be written."""
        if (self._descriptor == _NO_DESCRIPTOR or self._head) and not self._is_ready():
            self.dropped += lines.count(b"\n")
            return False
        data = b"\n" + lines if self._line_open else lines
        try:
            written = os.write(self._descriptor, data)
            if self._fsync:
                os.fsync(self._descriptor)
        except OSError as error:
            if error.errno == errno.EBADF:  # the program closed all descriptors, as a daemon does
                self._descriptor = _NO_DESCRIPTOR
                if not is_second_try:
                    return self.append(lines, is_second_try=True)
            self.dropped += lines.count(b"\n")
            self._say(error)
            return False
        if written == len(data):
            self._line_open = False
            return True
        # The disk filled up in the middle: the next event has to start on a line of its own.
        self._line_open = True
        self.dropped += lines.count(b"\n") - data[:written].count(b"\n", len(data) - len(lines))
        self._say(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        return False

    def begin(self, head: bytes) -> bool:
        """Write the RUN_START line; kept and written first once writing works, if it does not yet."""
        self._head = head
        return self._is_ready()

    def replace_meta(self, content: bytes) -> None:
        """Replace run.json, and put the folder back first if somebody deleted it."""
        try:
            if self._descriptor != _NO_DESCRIPTOR and os.fstat(self._descriptor).st_nlink == 0:
                self._put_back()
            replace_file(os.path.join(self._folder, RUN_FILE), content)
        except FileNotFoundError:
            pass  # the whole run was moved to the trash while it ran; its events go on there
        except OSError as error:
            self._say(error)

    def close(self) -> None:
        """Give the descriptor back; the lock that says "somebody writes" goes with it."""
        if self._descriptor != _NO_DESCRIPTOR:
            descriptor, self._descriptor = self._descriptor, _NO_DESCRIPTOR
            try:
                os.close(descriptor)
            except OSError as error:
                self._say(error)

    def _is_ready(self) -> bool:
        """Whether the file is open and begins with its head."""
        if self._descriptor == _NO_DESCRIPTOR and not self._open():
            return False
        head, self._head = self._head, b""
        if head and not self.append(head):
            self._head = head
            self.dropped -= 1
            return False
        return True

    def _open(self) -> bool:
        try:
            make_run_folder(self._folder)
            path = os.path.join(self._folder, EVENTS_FILE)
            descriptor = _raised(open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND))
        except OSError as error:
            self._say(error)
            return False
        _lock_shared(descriptor)
        self._descriptor = descriptor
        self._line_open = _ends_inside_a_line(descriptor)
        return True

    def _put_back(self) -> None:
        """The folder was deleted under a live run: make it again with what the open descriptor still holds."""
        old = self._descriptor
        self._descriptor = _NO_DESCRIPTOR
        if self._open():
            size = os.fstat(old).st_size
            if size <= _RESCUE_BYTES:
                os.write(self._descriptor, os.pread(old, size, 0))
            else:
                tell_once(f"rescue:{self._folder}", f"{self._folder} was deleted; the run goes on from here")
        os.close(old)

    def _say(self, error: OSError) -> None:
        # A file where a folder should be hinders every run alike, and is said once for all of them.
        data_dir = os.path.dirname(os.path.dirname(self._folder))
        place = data_dir if isinstance(error, NotADirectoryError) else self._folder
        tell_once(
            f"write:{place}",
            f"cannot write to {place} ({error.strerror or error}); the program runs on, and recording resumes "
            f"when writing works again",
        )


def _raised(descriptor: int) -> int:
    if sys.platform == "win32":
        return descriptor
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR)
    except OSError:  # the limit of open files is lower than that
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
        except OSError:  # a file system without locks: `owner` decides
            return
        return


def _ends_inside_a_line(descriptor: int) -> bool:
    try:
        size = os.fstat(descriptor).st_size
        return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    except (OSError, AttributeError):  # Windows has no pread; a file we just made is empty
        return False
