"""
The rows of many runs, read by every core there is.

Helpers are processes of ours that get runs through a pipe and give back their rows; whoever asked reads others
meanwhile. One that fails costs nothing but its share. Long runs are read here, row by row, because a helper would have
to keep all of their rows at once; and few runs are, because a process takes as long to start as some hundred to read.
"""

from __future__ import annotations

import contextlib
import importlib
import marshal
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.index.parallel_read import is_possible
from agentdbg.storage.layout import run_dir
from agentdbg.storage.lines import events_path

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from subprocess import Popen

    from agentdbg.events import RunMeta

__all__ = ["RowsOf", "main", "read_runs"]

RowsOf = Callable[["RunMeta", Path], Iterable[tuple[Any, ...]]]
"""The rows a table has of one run, whose folder is given; a function of some module, so that a helper finds it."""

_FEWEST_RUNS = 400
_LARGEST_LOG = 1_000_000
_CHUNK = 25
_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_MOST_HELPERS = 3
_PATIENCE_SECONDS = 0.05
_LENGTH_BYTES = 8
# Told our own module path and no other, the process loads what we loaded, wherever it is started.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[4:]; "
    "from agentdbg.interop.tables.table_reading import main; main(sys.argv[1:4])"
)

_Chunk = list["RunMeta"]
_Rows = list[tuple[Any, ...]]


def read_runs(
    runs: Sequence[RunMeta], data_dir: Path, rows_of: RowsOf
) -> Generator[tuple[RunMeta, Iterable[tuple[Any, ...]]], None, None]:
    """Every run with its rows, in no order; to be closed by whoever does not want all."""
    short = [meta for meta in runs if _is_short(run_dir(data_dir, meta["run_id"]))]
    helpers = min(_MOST_HELPERS, _CORES - 1) if len(short) >= _FEWEST_RUNS and is_possible() else 0
    if helpers:
        yield from _read_together(short, data_dir, rows_of, helpers)
    done = {meta["run_id"] for meta in short} if helpers else set()
    for meta in runs:
        if meta["run_id"] not in done:
            yield meta, rows_of(meta, run_dir(data_dir, meta["run_id"]))


def _is_short(folder: Path) -> bool:
    path = events_path(folder)
    try:
        return path is None or os.stat(path).st_size <= _LARGEST_LOG
    except OSError:
        return False


def _read_together(
    runs: Sequence[RunMeta], data_dir: Path, rows_of: RowsOf, helpers: int
) -> Iterator[tuple[RunMeta, _Rows]]:
    chunks = deque(list(runs[at : at + _CHUNK]) for at in range(0, len(runs), _CHUNK))
    read: queue.SimpleQueue[tuple[_Chunk, list[_Rows]]] = queue.SimpleQueue()
    left = len(chunks)
    with contextlib.ExitStack() as started:
        for _ in range(helpers):
            with contextlib.suppress(OSError):  # no more processes
                process = started.enter_context(_helper(data_dir, rows_of))
                threading.Thread(target=_keep_busy, args=(process, chunks, read), daemon=True).start()
        while left:
            own = _next(chunks)  # none when helpers read all that is left; one of them may yet fail
            if own is not None:
                read.put((own, _rows_of_chunk(own, data_dir, rows_of)))
            with contextlib.suppress(queue.Empty):
                while left:
                    chunk, rows = read.get(timeout=0 if chunks else _PATIENCE_SECONDS)
                    left -= 1
                    yield from zip(chunk, rows, strict=True)


def _next(chunks: deque[_Chunk]) -> _Chunk | None:
    with contextlib.suppress(IndexError):
        return chunks.popleft()
    return None


def _rows_of_chunk(chunk: _Chunk, data_dir: Path, rows_of: RowsOf) -> list[_Rows]:
    return [list(rows_of(meta, run_dir(data_dir, meta["run_id"]))) for meta in chunk]


@contextlib.contextmanager
def _helper(data_dir: Path, rows_of: RowsOf) -> Iterator[Popen[bytes]]:
    from subprocess import DEVNULL, PIPE, Popen  # noqa: PLC0415 -- only where there is much to read

    facts = [str(data_dir), rows_of.__module__, rows_of.__name__]
    process = Popen(  # noqa: S603 -- ourselves
        [sys.executable, "-I", "-c", _PROGRAM, *facts, *filter(None, sys.path)],
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _keep_busy(process: Popen[bytes], chunks: deque[_Chunk], read: queue.SimpleQueue[Any]) -> None:
    """Hand a helper one chunk after the other; what it does not answer is put back."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError), process.stdin, process.stdout:  # closing them may fail too
        while (chunk := _next(chunks)) is not None:
            try:
                _send(process.stdin, chunk)
                rows = _receive(process.stdout)
            except (OSError, EOFError, ValueError, TypeError):
                chunks.append(chunk)
                return
            read.put((chunk, rows))


def main(facts: list[str]) -> None:
    """What a helper does: give back rows until nobody asks any more."""
    data_dir, rows_of = Path(facts[0]), getattr(importlib.import_module(facts[1]), facts[2])
    with contextlib.suppress(EOFError, OSError):
        while True:
            chunk = _receive(sys.stdin.buffer)
            _send(sys.stdout.buffer, _rows_of_chunk(chunk, data_dir, rows_of))


def _send(pipe: Any, value: Any) -> None:
    content = marshal.dumps(value)
    pipe.write(len(content).to_bytes(_LENGTH_BYTES, "big") + content)
    pipe.flush()


def _receive(pipe: Any) -> Any:
    content = pipe.read(int.from_bytes(pipe.read(_LENGTH_BYTES), "big"))
    return marshal.loads(content)  # noqa: S302 -- written by ourselves
