"""
Whether something writes or reads, and what several things that are done together come to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["EffectKind", "together"]

EffectKind = Literal["write", "read", "unknown"]
"""`unknown` is neither: nobody may call it harmless."""


def together(kinds: Iterable[EffectKind]) -> EffectKind:
    """One write makes a write of all; else one that nobody knows makes all of them unknown. Nothing at all reads."""
    found = set(kinds)
    return "write" if "write" in found else "unknown" if "unknown" in found else "read"
