"""
The first thing that a fork did otherwise than its parent, in a few words.

What was changed at the cut, and what a model was therefore given, is no difference: it is the question that was asked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.changes import from_first_difference
from agentdbg.analysis.run_columns import LLM, TOOL
from agentdbg.analysis.wording import cut

if TYPE_CHECKING:
    from agentdbg.analysis.diff.result import Diff, Row

__all__ = ["first_change"]

_GIVEN = ("appended", "history", "system", "tools", "parameters")
_MOST = 30
_NEAR = 8


def first_change(diff: Diff, after: int | None = None) -> tuple[int | None, str]:
    """The number of the step in B (else in A), and what is different there; `after` is the number of the cut in A."""
    is_behind = after is None
    for row in diff.rows:
        if is_behind and row.kind in (LLM, TOOL) and (said := _said(row)):
            return (row.b if row.b is not None else row.a), said
        is_behind = is_behind or row.a == after
    return None, "the same" if any(row.wording for row in diff.rows) is False else "only the wording"


def _said(row: Row) -> str:
    name = row.name or "the model"
    if row.op in ("deleted", "moved"):
        return f"no {name}" if row.op == "deleted" else f"{name} elsewhere"
    if row.op == "inserted":
        return f"{name} is new"
    for change in row.changes:
        if change.part not in _GIVEN and not change.wording:
            was, now = from_first_difference(_flat(change.was), _flat(change.now), _NEAR)
            return f"{name} {change.path} {cut(was, _MOST)} → {cut(now, _MOST)}"
    return ""


def _flat(value: Any) -> str:
    """A value on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text.split())
