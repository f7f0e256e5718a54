"""
The order in which two aligned runs are read: each run's own order, paired steps side by side.

Between two rows that both runs share, what only A has comes first, then what only B has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.analysis.diff.sequences import longest_increasing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.diff.pairing import Pairing

__all__ = ["Placed", "lay_out"]

Place = tuple[int | None, int | None]


@dataclass(frozen=True)
class Placed:
    """The numbers of each run's steps, in the order of its tree."""

    a: Sequence[int]
    b: Sequence[int]

    def swapped(self) -> Placed:
        return Placed(self.b, self.a)


def lay_out(pairing: Pairing, placed: Placed) -> list[Place]:
    """Every step of both runs once. A pair out of order (parallel steps) stands at its place in A."""
    rank_b = {number: rank for rank, number in enumerate(placed.b)}
    paired = [number for number in placed.a if number in pairing.pairs]
    kept = longest_increasing([rank_b[pairing.pairs[number]] for number in paired])
    spine = {paired[position] for position in kept}
    taken = set(pairing.pairs.values())
    places: list[Place] = []
    at_b = 0

    def put_until(rank: int) -> None:
        nonlocal at_b
        places.extend((None, number) for number in placed.b[at_b:rank] if number not in taken)
        at_b = rank + 1

    for number in placed.a:
        partner = pairing.pairs.get(number)
        if number in spine and partner is not None:
            put_until(rank_b[partner])
        places.append((number, partner))
    put_until(len(placed.b))
    return places
