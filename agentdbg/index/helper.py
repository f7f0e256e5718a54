"""
A process of ours that reads stretches of one run's file for another one.

`Helper` is the one that asks: it starts the process, which shares the open file and a connection with it and nothing
else. The helper ends when the connection does, and so with whoever started it, however that one ends.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.index.stretch import Stretch, read_stretch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

__all__ = ["Helper", "is_possible", "main", "wait_for"]

# Told our own module path and no other, the process loads what we loaded, wherever it is started.
_PROGRAM = "import sys; sys.path[:] = sys.argv[5:]; from agentdbg.index.helper import main; main(sys.argv[1:5])"
_READY = b"ready"


class Helper:
    """One process. OSError or EOFError from any method means that it is gone."""

    def __init__(self, descriptor: int, run_id: str, started_ms: int) -> None:
        from multiprocessing import Pipe  # noqa: PLC0415 -- only for runs that take seconds to read
        from subprocess import DEVNULL, Popen  # noqa: PLC0415

        self.connection, theirs = Pipe()
        with contextlib.closing(theirs):
            facts = [str(theirs.fileno()), str(descriptor), run_id, str(started_ms)]
            self._process = Popen(  # noqa: S603 -- ourselves
                [sys.executable, "-I", "-c", _PROGRAM, *facts, *filter(None, sys.path)],
                pass_fds=(theirs.fileno(), descriptor),
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=DEVNULL,
            )
        self._is_ready = False

    def is_ready(self) -> bool:
        """Whether it has started up and may be asked."""
        if not self._is_ready and self.connection.poll():
            self._is_ready = self.connection.recv_bytes() == _READY
        return self._is_ready

    def ask(self, start: int, end: int) -> None:
        """Ask for what stands there: whole lines. Answers come in the order of the questions."""
        self.connection.send_bytes(marshal.dumps((start, end)))

    def answer(self) -> Stretch | None:
        """The next answer; None where the lines alone do not tell it."""
        found = marshal.loads(self.connection.recv_bytes())  # noqa: S302 -- written by ourselves
        return None if found is None else Stretch(*found)

    def close(self) -> None:
        """End the process."""
        self.connection.close()
        self._process.kill()
        self._process.wait()


def is_possible() -> bool:
    """Whether there can be helpers here: a Python to start, with which an open file can be shared."""
    is_python = bool(sys.executable) and not getattr(sys, "frozen", False)  # else it is somebody's whole program
    return is_python and os.name == "posix" and hasattr(os, "pread")


def wait_for(helpers: Sequence[Helper], seconds: float) -> list[Helper]:
    """Those that have something to say, after waiting for the first one as long as that."""
    from multiprocessing.connection import wait  # noqa: PLC0415 -- as above

    ready = wait([helper.connection for helper in helpers], seconds)
    return [helper for helper in helpers if helper.connection in ready]


def main(facts: list[str]) -> None:
    """What the process does: answer until nobody asks any more."""
    from multiprocessing.connection import Connection  # noqa: PLC0415 -- as above

    connection, descriptor, run_id, started_ms = Connection(int(facts[0])), int(facts[1]), facts[2], int(facts[3])
    with contextlib.suppress(EOFError, OSError):
        _answer_all(connection, descriptor, run_id, started_ms)


def _answer_all(connection: Connection, descriptor: int, run_id: str, started_ms: int) -> None:
    connection.send_bytes(_READY)
    while True:
        start, end = marshal.loads(connection.recv_bytes())  # noqa: S302 -- written by ourselves
        stretch = read_stretch(os.pread(descriptor, end - start, start), start, run_id, started_ms)
        plain: Any = None if stretch is None else tuple(stretch)
        connection.send_bytes(marshal.dumps(plain))
