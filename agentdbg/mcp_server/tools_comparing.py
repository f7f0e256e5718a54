"""
The tool that compares two runs: what changed between the good one and the bad one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff import compare_rows
from agentdbg.exceptions import UsageError
from agentdbg.mcp_server.answers import fit, paged
from agentdbg.mcp_server.arguments import OFFSET, Parameter, limit
from agentdbg.mcp_server.reader import run_brief
from agentdbg.mcp_server.tool import Tool
from agentdbg.policy_file import effect_rules_of, find_policy
from agentdbg.storage.reader import load_events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.mcp_server.reader import Reader

__all__ = ["COMPARE_RUNS"]

_MOST_EVENTS = 200_000


def _compare_runs(
    reader: Reader,
    *,
    a: str,
    b: str,
    ignore: Sequence[str],
    all_rows: bool,
    limit: int,
    offset: int,
    max_bytes: int,
) -> dict[str, Any]:
    sides = [reader.open(wanted) for wanted in (a, b)]
    for meta, view in sides:
        if view.index.total > _MOST_EVENTS:
            raise UsageError(f"run {meta['run_id']} has {view.index.total:,} events, too many to compare here")
    events_a, events_b = (load_events(meta["run_id"], reader.data_dir) for meta, _ in sides)
    found = compare_rows(events_a, events_b, effect_rules_of(find_policy()), ignore)
    rows, divergence = found["rows"], found["first_divergence"]
    head = {
        "a": _fitted(run_brief(sides[0][0]), max_bytes // 10),
        "b": _fitted(run_brief(sides[1][0]), max_bytes // 10),
        "verdict": found["verdict"],
        "first_divergence": None if divergence is None else _fitted(rows[divergence], max_bytes // 10),
        "counts": found["counts"],
        "totals": found["totals"],
        "effects": _fitted(found["effects"], max_bytes // 5),
        "notes": _fitted(found["notes"], max_bytes // 10),
        "context": _fitted(found["context"], max_bytes // 5),
    }
    shown = rows if all_rows else [row for row in rows if row["op"] != "same"]
    return paged(head, "rows", shown[offset:], offset=offset, limit=limit, max_bytes=max_bytes)


def _fitted(value: Any, max_bytes: int) -> Any:
    return fit(value, max_bytes)[0]


COMPARE_RUNS = Tool(
    "compare_runs",
    "Compare two runs",
    "What differs between two runs, aligned step by step: the verdict (`same`, `same_effects`, `different_effects`, or "
    "`unknown_effects` where only calls differ whose side effects nobody knows), the first step where they do "
    "different things, the side effects only one of them had, changed instructions, tools and parameters, tokens, "
    "cost and time of both, and the steps that changed, were added, left out or moved. Ids, times and durations are "
    "no differences. Good for a run that worked against one that did not, before a change against after it.",
    (
        Parameter("a", "string", "The run to compare with: its id, the unique beginning of one, or `latest`."),
        Parameter("b", "string", "The other run.", "latest"),
        Parameter("ignore", "strings", "Parts that may differ, such as args.date or result.items[*].price.", ()),
        Parameter("all_rows", "boolean", "Also the steps that are the same.", False),
        limit(30, 300, "steps"),
        OFFSET,
    ),
    _compare_runs,
)
