"""
The order in which two aligned runs are read: each run's own order, paired steps side by side.

Between two rows that both runs share, what only A has comes first, then what only B has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.analysis.diff.sequences import longest_increasing

if TYPE_CHECKING:
    from agentdbg.analysis.diff.pairing import Pairing
    from agentdbg.analysis.diff.steps import Side

__all__ = ["lay_out"]

Place = tuple[int | None, int | None]


def lay_out(pairing: Pairing, a: Side, b: Side) -> list[Place]:
    """Every step of both runs once. A pair out of order (parallel steps) stands at its place in A."""
    order_a = [step.number for step in a.order]
    order_b = [step.number for step in b.order]
    rank_b = {number: rank for rank, number in enumerate(order_b)}
    paired = [number for number in order_a if number in pairing.pairs]
    kept = longest_increasing([rank_b[pairing.pairs[number]] for number in paired])
    spine = {paired[position] for position in kept}
    taken = set(pairing.pairs.values())
    places: list[Place] = []
    at_b = 0
    for number in order_a:
        partner = pairing.pairs.get(number)
        if partner is not None and number in spine:
            rank = rank_b[partner]
            if rank > at_b:
                places += [(None, alone) for alone in order_b[at_b:rank] if alone not in taken]
            at_b = rank + 1
        places.append((number, partner))
    places += [(None, alone) for alone in order_b[at_b:] if alone not in taken]
    return places
