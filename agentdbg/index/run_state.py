"""How a run went, in a word and in a sentence, as a list of runs shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.analysis.known_outcome import outcome_of_run
from agentdbg.analysis.verdict import headline_from_tail
from agentdbg.index.follow import last_events
from agentdbg.index.kept_findings import examined_if_short
from agentdbg.storage.control_files import pause_headline, paused_in

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.events import RunMeta

__all__ = ["headline_of", "state_of"]


def state_of(meta: RunMeta, folder: str, data_dir: Path, *, keep: bool) -> str:
    """`running`, `paused`, `failed`, `problems` or `ok`; `keep` says whether what is found out is kept for later."""
    if meta["status"] == "running":
        return "paused" if paused_in(folder) else "running"
    if meta["status"] != "ok":
        return "failed"
    # Not every writer counts its events by type; calls are counted by all of them.
    calls = meta["counts"]["llm_calls"] + meta["counts"]["tool_calls"]
    length = max(calls, sum((meta.get("event_counts") or {}).values()))
    found = examined_if_short(data_dir, meta, length, keep=keep)
    if found is not None:
        return found.state
    outcome = outcome_of_run(meta)
    return "problems" if outcome is not None and not outcome.passed else "ok"


def headline_of(meta: RunMeta, folder: str) -> str:
    """What there is to know of it; empty when nothing stands out."""
    if meta["status"] == "running" and (waiting := paused_in(folder)):
        return pause_headline(waiting[0])
    events, is_whole = last_events(folder, meta["run_id"])
    return headline_from_tail(meta, events, whole=is_whole) or ""
