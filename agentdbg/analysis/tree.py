"""
Parents to a tree: the order in which a tree is drawn, and how deep each event stands.

Any parent is accepted: none, one that is not there, the event itself, a circle. Every event comes out exactly once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.analysis.columns import START

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.analysis.columns import RunColumns

__all__ = ["ancestors", "depth_of", "tree_order"]

_DEEPEST = 1_000


def tree_order(parent_n: Sequence[int], start_ms: Sequence[int], kind: Sequence[int]) -> list[tuple[int, int]]:
    """
    Every event as `(number, depth)`, parents before children, siblings by when they began.

    What hangs directly under RUN_START has depth 0, like RUN_START itself: the run is the whole page, not a level.
    """
    total = len(parent_n)
    children: dict[int, list[int]] = {}
    for number in range(1, total + 1):
        children.setdefault(_parent(parent_n, number), []).append(number)
    for siblings in children.values():
        siblings.sort(key=lambda number: (start_ms[number - 1], number))
    order: list[tuple[int, int]] = []
    seen = bytearray(total + 1)

    def walk(root: int) -> None:
        stack = [(root, 0)]
        while stack:
            number, depth = stack.pop()
            if seen[number]:
                continue
            seen[number] = 1
            order.append((number, depth))
            below = depth if kind[number - 1] == START else depth + 1
            stack.extend((child, below) for child in reversed(children.get(number, ())))

    for root in children.get(0, ()):
        walk(root)
    # What is left hangs in a circle: its first event is as good a root as any.
    for number in range(1, total + 1):
        if not seen[number]:
            walk(number)
    return order


def depth_of(columns: RunColumns, number: int) -> int:
    """How many events other than RUN_START this one hangs under."""
    return sum(columns.kind[ancestor - 1] != START for ancestor in ancestors(columns, number))


def ancestors(columns: RunColumns, number: int) -> Iterator[int]:
    """The parent, its parent, and so on; a circle ends where it would begin again."""
    parent_n = columns.parent_n
    seen = {number}
    while len(seen) < _DEEPEST:
        number = _parent(parent_n, number)
        if number == 0 or number in seen:
            return
        seen.add(number)
        yield number


def _parent(parent_n: Sequence[int], number: int) -> int:
    parent = parent_n[number - 1]
    return parent if 0 < parent <= len(parent_n) and parent != number else 0
