"""
What changed between two states: a simple diff of dicts, one level deep.
"""

from __future__ import annotations

from typing import Any

from agentdbg.encoding import decode_json

__all__ = ["diff_states"]


def diff_states(before: bytes, after: bytes) -> dict[str, Any] | None:
    """
    The keys that are new or changed with their new values, and the removed ones with null.

    Both states are given as they were stored. None when either of them is not a dict. A key that became null and one
    that was removed are told apart by the state beside the diff.
    """
    if before == after:
        return {} if before.startswith(b"{") else None
    old, new = decode_json(before), decode_json(after)
    if not isinstance(old, dict) or not isinstance(new, dict):
        return None
    changed = {key: value for key, value in new.items() if key not in old or old[key] != value}
    return changed | {key: None for key in old if key not in new}
