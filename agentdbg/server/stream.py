"""
A run's events as one JSON array, streamed.

Lines known to be in the strict form are spliced in as they stand; others are read and written again one by one. What is
held at any time is one piece of the file, however long the run is and however slowly the client reads.

Some of a run's events as a JSON array: those of some types, those that hold some text, a page of them.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from agentdbg.encoding import decode_json, encode_json
from agentdbg.index.events import STRICT_AFTER_GAP, STRICT_JOINED
from agentdbg.index.scan import scan_lines
from agentdbg.index.search_runs import search_events
from agentdbg.index.source import EventSource
from agentdbg.storage.dialects import parse_event
from agentdbg.storage.layout import make_private_folder, replace_file
from agentdbg.storage.lines import open_regular

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from agentdbg.index.events import EventIndex
    from agentdbg.server.run_view import RunView

__all__ = ["CleanMark", "Selection", "WholeRun", "numbered_pieces"]

_PIECE = 1 << 18


class CleanMark:
    """How far a run's file is known to be nothing but strict lines; kept between processes, believed if it fits."""

    def __init__(self, folder: Path, run_id: str) -> None:
        self._path = folder / f"{run_id}.clean"

    def read(self, source: EventSource) -> int:
        """The known length; 0 when nothing is known of this file."""
        try:
            with open_regular(self._path) as file:
                said = decode_json(file.read(4096))
            length = said["fingerprint"][0]
            return length if said["fingerprint"] == source.fingerprint(length) else 0
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return 0

    def write(self, source: EventSource, length: int) -> None:
        """Remember the length."""
        with contextlib.suppress(OSError):
            make_private_folder(self._path.parent)
            replace_file(self._path, encode_json({"fingerprint": source.fingerprint(length)}))


class WholeRun:
    """All events of one run as they are at this moment."""

    def __init__(self, folder: Path, run_id: str, mark: CleanMark, clean_bytes: int = 0) -> None:
        self._run_id = run_id
        self._mark = mark
        self._source = EventSource(folder)
        self._source.refresh(0)
        self._clean_bytes = min(clean_bytes or mark.read(self._source), self._source.size)

    @property
    def content_length(self) -> int | None:
        """The length of the answer, when it can be told before reading."""
        size = self._source.size
        if size == 0 or self._clean_bytes < size:
            return None
        return size + 2 - (self._source.read(size - 1, 1) == b"\n")

    async def pieces(self) -> AsyncIterator[bytes]:
        """
        The array, piece by piece.

        A piece takes a millisecond, less than handing it to a thread and back on a busy machine, so it is made right
        here; after each one everybody else has a turn.
        """
        try:
            lead = b"["
            position = 0
            while position < self._clean_bytes:
                piece = self._source.read(position, min(_PIECE, self._clean_bytes - position))
                if not piece:
                    break
                position += len(piece)
                text = piece.replace(b"\n", b",")
                ends_line = text.endswith(b",")
                yield lead + (text[:-1] if ends_line else text)
                lead = b"," if ends_line else b""
                await asyncio.sleep(0)
            is_clean = True
            async for text, is_strict in self._checked(position):
                is_clean = is_clean and is_strict
                if text:
                    yield lead + text
                    lead = b","
                await asyncio.sleep(0)
            if is_clean and self._source.size > self._clean_bytes:
                self._mark.write(self._source, self._source.size)
            yield b"[]" if lead == b"[" else b"]"
        finally:
            self._source.close()

    async def _checked(self, position: int) -> AsyncIterator[tuple[bytes, bool]]:
        while (block := self._source.next_block(position)).end:
            yield splice(block.lines, position, self._run_id) if block.lines else (b"", False)
            position = block.end
        if self._source.has_torn_end:
            yield b"", False


def splice(block: bytes, offset: int, run_id: str) -> tuple[bytes, bool]:
    """The events of some whole lines with commas between them, and whether they were served as they stand."""
    scan = scan_lines(block, offset, run_id)
    if scan.is_whole:
        return block.removesuffix(b"\n").replace(b"\n", b","), True
    parts = []
    last_ts: dict[str, str] = {}
    for start, length, is_strict in zip(scan.offsets, scan.lengths, scan.is_strict, strict=True):
        line = block[start - offset : start - offset + length]
        if is_strict:
            parts.append(line.strip())
        else:
            event = parse_event(line, run_id, start, **last_ts)
            last_ts["fallback_ts"] = event["ts"]
            parts.append(encode_json(event))
    return b",".join(parts), False


def numbered_pieces(index: EventIndex, numbers: Sequence[int]) -> bytes:
    """Some events of an indexed run with commas between them."""
    parts = []
    for number in numbers:
        if index.strictness[number - 1] in (STRICT_JOINED, STRICT_AFTER_GAP):
            parts.append(index.line(number).strip())
        else:
            parts.append(encode_json(index.event(number)))
    return b",".join(parts)


_AT_ONCE = 200
_PLENTY = 1 << 40


class Selection:
    """The events of one run that fit, decided from its index; their lines are read as they are sent."""

    def __init__(self, view: RunView, *, types: str, query: str, offset: int, limit: int | None) -> None:
        self._view = view
        self._types = frozenset(filter(None, types.split(",")))
        self._query = query
        self._offset = offset
        self._limit = limit
        self._numbers: Sequence[int] = ()

    def headers(self) -> dict[str, str]:
        """Choose the events, and say what is known of them before the first is sent."""
        index = self._view.index
        end = _PLENTY if self._limit is None else self._offset + self._limit
        self._view.reach(_PLENTY if self._types or self._query else end, 60_000)
        numbers = self._matching()
        self._numbers = numbers[self._offset : end]
        known = {"x-damaged-lines": str(index.damaged_total)}
        if index.complete:
            known["x-total-count"] = str(len(numbers))
        return known

    async def pieces(self) -> AsyncIterator[bytes]:
        """The array, piece by piece."""
        lead = b"["
        for start in range(0, len(self._numbers), _AT_ONCE):
            piece = await run_in_threadpool(numbered_pieces, self._view.index, self._numbers[start : start + _AT_ONCE])
            yield lead + piece
            lead = b","
        yield b"[]" if lead == b"[" else b"]"

    def _matching(self) -> Sequence[int]:
        index = self._view.index
        numbers: Sequence[int] = range(1, index.total + 1)
        if self._query:
            numbers = [number for found in search_events(index, self._query, _PLENTY) for number in found]
        if self._types:
            with index.lock:
                codes = {code for code, name in enumerate(index.types) if name in self._types}
                numbers = [number for number in numbers if index.type[number - 1] in codes]
        return numbers
