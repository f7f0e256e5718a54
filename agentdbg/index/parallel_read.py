"""
A long file read by several processes at once.

What lies ahead is cut into chunks of whole lines. Helpers read some of them while whoever joins the stretches reads
others, so nobody waits; they are given back in file order. A helper that fails or falls behind costs nothing but its
share: its chunks are read here.

A process of ours that reads stretches of one run's file for another one.

`Helper` is the one that asks: it starts the process, which shares the open file and a connection with it and nothing
else. The helper ends when the connection does, and so with whoever started it, however that one ends.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.index.stretch import Stretch, read_stretch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from agentdbg.index.source import EventSource

__all__ = ["Helper", "ReadAhead", "is_possible", "main", "wait_for"]

_CHUNK = 1 << 19
_MOST_CHUNKS = 16
_ASKED_AT_ONCE = 3
_PATIENCE_SECONDS = 0.005
"""How long the next chunk is waited for when all that lie ahead are read; then it is read here."""


@dataclass
class _Chunk:
    start: int
    end: int
    is_taken: bool = False
    """Already read, or about to be."""
    is_unclear: bool = False
    """Already read, but depends on the chunk before it."""
    stretch: Stretch | None = None

    def settle(self, stretch: Stretch | None) -> None:
        """Keep what was read of it."""
        self.stretch = self.stretch or stretch
        self.is_unclear = self.stretch is None


class ReadAhead:
    """The stretches of a file from `offset` on, in order, up to near its end."""

    def __init__(self, source: EventSource, run_id: str, offset: int, started_ms: int, helpers: int) -> None:
        self._asked: dict[Helper, deque[_Chunk]] = {}
        self._chunks: deque[_Chunk] = deque()
        self._source = source
        self._run_id = run_id
        self._planned = offset
        self._started_ms = started_ms
        with contextlib.suppress(OSError):  # no more processes
            for _ in range(helpers if is_possible() else 0):
                self._asked[Helper(source.descriptor(), run_id, started_ms)] = deque()
        self._plan()

    def is_at_end(self) -> bool:
        """Whether there is nothing left to give."""
        return not self._chunks

    def next(self, last_ms: int) -> tuple[Stretch, int] | None:
        """
        The next stretch and where it ends; None when it has not been read yet, and another was read instead.

        `last_ms` is the time of the last event before it.
        """
        self._plan()
        self._talk(0)
        first = self._chunks[0]
        if first.stretch is None and not first.is_unclear:
            free = self._take_free()
            if free is not None:
                free.settle(self._read(free, None))
                return None
            self._talk(_PATIENCE_SECONDS)
        if first.stretch is None:
            first.settle(self._read(first, last_ms))
        self._chunks.popleft()
        return first.stretch or Stretch(), first.end

    def close(self) -> None:
        """Let the helpers go."""
        for helper in list(self._asked):
            self._dismiss(helper)

    def __del__(self) -> None:
        # An index may be let go in the middle of a file; its helpers must not stay.
        self.close()

    def _plan(self) -> None:
        """Cut more of the file; its last lines are left to others, as they may still be being written."""
        while self._asked and len(self._chunks) < _MOST_CHUNKS and self._planned + 2 * _CHUNK < self._source.size:
            end = self._source.end_of_line(self._planned + _CHUNK)
            if end is None:
                return
            self._chunks.append(_Chunk(self._planned, end))
            self._planned = end

    def _take_free(self) -> _Chunk | None:
        """The first chunk that nobody reads, which from now on somebody does."""
        for chunk in self._chunks:
            if not chunk.is_taken:
                chunk.is_taken = True
                return chunk
        return None

    def _read(self, chunk: _Chunk, last_ms: int | None) -> Stretch | None:
        lines = self._source.read(chunk.start, chunk.end - chunk.start)
        return read_stretch(lines, chunk.start, self._run_id, self._started_ms, last_ms)

    def _talk(self, seconds: float) -> None:
        """Take what the helpers have read, waiting for the first of them that long, and ask for more."""
        with_news = wait_for(list(self._asked), seconds)
        for helper, asked in list(self._asked.items()):
            try:
                if helper in with_news and asked:
                    asked[0].settle(helper.answer())
                    asked.popleft()
                while helper.is_ready() and len(asked) < _ASKED_AT_ONCE and (free := self._take_free()):
                    asked.append(free)
                    helper.ask(free.start, free.end)
            except (OSError, EOFError, ValueError, TypeError):
                self._dismiss(helper)

    def _dismiss(self, helper: Helper) -> None:
        helper.close()
        for chunk in self._asked.pop(helper):
            chunk.is_taken = chunk.stretch is not None


# Told our own module path and no other, the process loads what we loaded, wherever it is started.
_PROGRAM = "import sys; sys.path[:] = sys.argv[5:]; from agentdbg.index.parallel_read import main; main(sys.argv[1:5])"
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
