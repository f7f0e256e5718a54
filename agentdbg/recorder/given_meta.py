"""What a caller gave as meta, of whatever type, as the table that is stored."""

from __future__ import annotations

from typing import Any

__all__ = ["as_mapping", "with_effect"]


def as_mapping(meta: Any) -> dict[str, Any]:
    """What was given as meta, as a table; under `meta` where it is none."""
    try:
        if isinstance(meta, (list, tuple)) or hasattr(meta, "keys"):  # never an iterator: that would use it up
            return dict(meta)
    except Exception:  # noqa: BLE001, S110 -- not a mapping after all; kept as it is
        pass
    return {"meta": meta}


def with_effect(meta: Any, effect: Any) -> dict[str, Any]:
    """The meta of a tool call whose effect was declared with it."""
    return {**({} if meta is None else as_mapping(meta)), "effect": effect}
