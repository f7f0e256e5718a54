"""
All that stands above a run's rows: the run, how far it is indexed, counts, figures, the verdict and what to know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from agentdbg.analysis.stats import Figures, Tally, figures
from agentdbg.analysis.verdict import Verdict, judge
from agentdbg.analysis.wording import count_noun
from agentdbg.events import SPEC_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.events import RunMeta

__all__ = ["Summary", "notes", "summarise"]

_DAMAGED_LISTED = 20


class Summary(TypedDict):
    """What the server answers for a run's summary."""

    spec_version: str
    run: RunMeta
    progress: float
    complete: bool
    total_events: int
    type_counts: dict[str, int]
    errors: int
    loops: dict[str, int]
    figures: Figures
    verdict: Verdict
    damaged_lines: list[int]
    damaged_total: int
    notes: list[str]


def summarise(
    tally: Tally,
    run: RunMeta,
    *,
    now_ms: int | None = None,
    progress: float | None = None,
    damaged_lines: Sequence[int] = (),
    damaged_total: int | None = None,
) -> Summary:
    """The summary of a run as far as its tally has counted; keep the tally and a live run costs only what is new."""
    tally.catch_up()
    complete = tally.columns.complete
    counted = figures(tally, run, now_ms)
    damaged = len(damaged_lines) if damaged_total is None else damaged_total
    return {
        "spec_version": SPEC_VERSION,
        "run": run,
        "progress": 1.0 if complete else min(progress or 0.0, 1.0),
        "complete": complete,
        "total_events": tally.counted,
        "type_counts": tally.type_counts,
        "errors": counted["errors"],
        "loops": dict(tally.loops),
        "figures": counted,
        "verdict": judge(tally, run, now_ms),
        "damaged_lines": list(damaged_lines[:_DAMAGED_LISTED]),
        "damaged_total": damaged,
        "notes": notes(run, damaged_lines, damaged),
    }


def notes(run: RunMeta, damaged_lines: Sequence[int] = (), damaged_total: int = 0) -> list[str]:
    """What a reader should know about how this run was recorded, one sentence each."""
    said = []
    redaction = run.get("redaction")
    if redaction == "off":
        said.append("Recorded with redaction off. This run may hold secrets in clear.")
    elif redaction not in (None, "on", "", True):
        said.append(f"Recorded with weakened redaction ({redaction}). This run may hold secrets in clear.")
    dropped = run.get("dropped_events")
    if isinstance(dropped, int) and dropped > 0:
        were = "was" if dropped == 1 else "were"
        said.append(f"{count_noun(dropped, 'event')} {were} not written, so something is missing here.")
    if damaged_total:
        said.append(_damage(damaged_lines, damaged_total))
    return said


def _damage(lines: Sequence[int], total: int) -> str:
    were = "line was" if total == 1 else "lines were"
    if not lines:
        return f"{total:,} damaged {were} skipped."
    listed = [f"{number:,}" for number in lines[:_DAMAGED_LISTED]]
    if total > len(listed):
        return f"{total:,} damaged {were} skipped, the first: {', '.join(listed)}."
    joined = f"{', '.join(listed[:-1])} and {listed[-1]}" if len(listed) > 1 else listed[0]
    return f"{total:,} damaged {were} skipped: {joined}."
