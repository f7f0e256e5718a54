"""What is found in a run that has ended, whom to suspect, and where the values of an event came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis import suspects
from agentdbg.analysis.findings import add_to_summary
from agentdbg.index import kept_findings, passing_runs
from agentdbg.tape.whole_events import WholeEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentdbg.analysis.findings import Examination
    from agentdbg.events import Event, RunMeta
    from agentdbg.index.run_index import RunIndex

__all__ = ["add_to_summary", "examined", "origins"]

_MOST_FROM_TAPE = 16_000_000


def examined(data_dir: Path, run: RunMeta, total: int, runs: RunIndex | None) -> Examination | None:
    """What was found in a run, beside other runs that passed; None for one that is too long to look at."""
    found = kept_findings.examined_if_short(data_dir, run, total)
    if found is not None and runs is not None:
        runs.note_state(run, found.state)
        found = passing_runs.beside_passing(runs, run, found)
    return found


def origins(events: Callable[[int], Iterator[Event]], total: int, number: int, folder: Path) -> list[dict[str, Any]]:
    """Where every value of an event came from; nothing of an event that stands beyond what is read in a blink."""
    if number > min(total, kept_findings.MOST_EVENTS_LOOKED_AT):
        return []
    with WholeEvents(folder, most_in_all=_MOST_FROM_TAPE) as kept:
        story = suspects.RunStory.of_values(kept.sources_of(events(number)))
    return [one.as_json() for one in suspects.provenance(story, number)]
