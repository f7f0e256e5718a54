"""
Runs of the same task that passed, for a run that did not.

The same task is told by the metadata (`task_id` and its kin), else by what the run was asked, else, where nothing was
recorded of that, by its name. A run passed when somebody marked it so, its program recorded it, or a score in its
metadata says it; beside a run that ended with an error, one that ended without is good enough.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.beside import request_in, task_of, told_beside
from agentdbg.analysis.known_outcome import outcome_of_payload, outcome_of_run
from agentdbg.analysis.suspects import with_first
from agentdbg.index.run_index import RunFilter
from agentdbg.storage.reader import load_events

if TYPE_CHECKING:
    from agentdbg.analysis.findings import Examination
    from agentdbg.events import RunMeta
    from agentdbg.index.run_index import RunIndex

__all__ = ["beside_passing"]

_MOST_RUNS = 2_000
_MOST_READ = 40
_MOST_COMPARED = 4
_MOST_EVENTS = 3_000
_TELLING = 40
"""A request of so many characters is nobody else's by chance."""
_NUMBERS = re.compile(r"[\d/._-]+")
_WORD = re.compile(r"\w+")
_ALIKE = 0.5


def beside_passing(runs: RunIndex, run: RunMeta, examined: Examination) -> Examination:
    """What was found, and, for a run that went wrong, how it differs from one that passed the same task."""
    if examined.state not in ("problems", "failed") or _length(run) > _MOST_EVENTS:
        return examined
    passing = _passing(runs, run)
    if not passing:
        return examined
    folder = runs.data_dir
    others = [(other, load_events(other["run_id"], folder)) for other in passing]
    beside = told_beside(load_events(run["run_id"], folder), others)
    differs = next((said["n"] for said in beside.lines if said["n"] is not None), None) if beside else None
    return examined._replace(beside=beside, suspects=with_first(examined.suspects, differs))


def _passing(runs: RunIndex, run: RunMeta) -> list[RunMeta]:
    task, request = task_of(run.get("metadata")), request_in(load_events(run["run_id"], runs.data_dir))
    found: list[RunMeta] = []
    read = 0
    for other in runs.page(RunFilter(), _MOST_RUNS).runs:
        if read >= _MOST_READ or len(found) >= _MOST_COMPARED:
            break
        if other["run_id"] == run["run_id"] or _length(other) > _MOST_EVENTS:
            continue
        other_task = task_of(other.get("metadata"))
        if task is not None and other_task is not None and not _is_same_task(run, other, task, other_task):
            continue
        if not _may_have_passed(other, run):
            continue
        read += 1
        is_known_task = task is not None and other_task is not None
        if (is_known_task or _asks_the_same(runs, run, other, request)) and _has_passed(runs, other, run):
            found.append(other)
    return found


def _length(run: RunMeta) -> int:
    """How many events there are, at least; who told no counts by type has counted its calls all the same."""
    counted: Any = run.get("event_counts") or run["counts"]
    return sum(counted.values())


def _is_same_task(run: RunMeta, other: RunMeta, task: str, other_task: str) -> bool:
    """A short id may be that of another set of tasks; the runs' names, but for their numbers, tell."""
    return task == other_task and (len(task) >= _TELLING or _stem(run) == _stem(other))


def _stem(run: RunMeta) -> str:
    return _NUMBERS.sub("", run["run_name"] or "").strip().lower()


def _may_have_passed(other: RunMeta, run: RunMeta) -> bool:
    """Whether it is worth reading: known to have passed, or its events may say so."""
    outcome = outcome_of_run(other)
    if outcome is not None:
        return outcome.passed
    counts = other.get("event_counts")
    says_itself = counts is None or counts.get("OUTCOME", 0) > 0
    return other["status"] == "ok" and (says_itself or run["status"] == "error")


def _has_passed(runs: RunIndex, other: RunMeta, run: RunMeta) -> bool:
    if outcome_of_run(other) is not None:
        return True
    told = None
    for event in load_events(other["run_id"], runs.data_dir):
        if event["event_type"] == "OUTCOME":
            told = outcome_of_payload(event["payload"]) or told
    return told.passed if told is not None else run["status"] == "error"


def _asks_the_same(runs: RunIndex, run: RunMeta, other: RunMeta, request: str | None) -> bool:
    asked = request_in(load_events(other["run_id"], runs.data_dir))
    is_same_name = bool(run["run_name"]) and run["run_name"] == other["run_name"]
    if request is None or asked is None:
        return is_same_name and request is asked
    if asked == request:
        return is_same_name or len(request) >= _TELLING
    one, two = (frozenset(_WORD.findall(text.lower())) for text in (request, asked))
    return is_same_name and len(one & two) >= _ALIKE * len(one | two)
