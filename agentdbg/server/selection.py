"""
Some of a run's events as a JSON array: those of some types, those that hold some text, a page of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from agentdbg.index.search import search_events
from agentdbg.server.stream import numbered_pieces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from agentdbg.server.views import RunView

__all__ = ["Selection"]

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
