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

__all__ = ["Place", "lay_out"]

Place = tuple[int | None, int | None]


def lay_out(pairing: Pairing, a: Side, b: Side) -> list[Place]:
    """Every step of both runs once. A pair out of order (parallel steps) stands at its place in A."""
    order_a, order_b = [step.number for step in a.order], [step.number for step in b.order]
    partners = [*map(pairing.pairs.get, order_a)]
    in_a = [*zip(order_a, partners, strict=True)]
    rank_b = dict(zip(order_b, range(len(order_b)), strict=True))
    paired = [position for position, partner in enumerate(partners) if partner is not None]
    ranks = [rank_b[partner] for partner in partners if partner is not None]
    taken = set(pairing.pairs.values())
    places: list[Place] = []
    at = at_b = 0
    for position in longest_increasing(ranks):
        rank = ranks[position]
        if rank > at_b:
            places += in_a[at : paired[position]]
            places += [(None, alone) for alone in order_b[at_b:rank] if alone not in taken]
            at = paired[position]
        at_b = rank + 1
    places += in_a[at:]
    places += [(None, alone) for alone in order_b[at_b:] if alone not in taken]
    return places
