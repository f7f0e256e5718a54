"""
Families of runs: a fork or a replay is a run with a parent, found by what its run.json says.

A parent that is not among the runs (deleted, or not asked for) leaves its children where they are. What one program did
for another is linked too: a child process, a request to a service, by the run that started it or the trace of its
`traceparent`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agentdbg.events import RunMeta

__all__ = ["family_of", "in_trees", "linked_with", "parent_of", "relation", "served_and_live"]

_MOST_EDIT = 60


def parent_of(run: RunMeta) -> str | None:
    """The id of the run that this one is a fork or a replay of."""
    parent = _origin(run).get("parent_run_id")
    return parent if isinstance(parent, str) else None


def relation(run: RunMeta) -> str:
    """What a run is to its parent, in a few words: `fork at #3, result.ok=false`, `replay, equal`."""
    origin = _origin(run)
    if parent_of(run) is None:
        return ""
    if origin.get("mode") != "fork":
        equal = origin.get("equal")
        return "replay" if equal is None else "replay, equal" if equal else "replay, different"
    at = origin.get("at")
    number = at.get("n") if isinstance(at, dict) else None
    changed = [_edit(edit) for edit in origin.get("edits") or () if isinstance(edit, dict)]
    changed += [f"mock {str(mock).partition('=')[0]}" for mock in origin.get("mocks") or ()]
    return ", ".join([f"fork at #{number}" if number else "fork", *changed])


def served_and_live(run: RunMeta) -> tuple[int, int] | None:
    """How many calls of a fork or a replay were answered, and how many were made; None where it does not say."""
    origin = _origin(run)
    live, *answered = (origin.get(name) for name in ("live", "served", "edited", "mock"))
    if not isinstance(live, int):
        return None
    if isinstance(answered[0], int):
        return sum(count for count in answered if isinstance(count, int)), live
    counts = run["counts"]
    return counts["llm_calls"] + counts["tool_calls"] - live, live


def _edit(edit: dict[str, Any]) -> str:
    text = json.dumps(edit.get("value"), ensure_ascii=False)
    text = text if len(text) <= _MOST_EDIT else f"{text[: _MOST_EDIT - 1]}…"
    return f"{edit.get('path')}{'+=' if edit.get('op') == 'append' else '='}{text}"


def in_trees(runs: Sequence[RunMeta]) -> Iterator[tuple[RunMeta, int]]:
    """The runs with their depth: each child under its parent, the oldest first, where its parent is among them."""
    known = {run["run_id"] for run in runs}
    children: dict[str, list[RunMeta]] = {}
    roots = []
    for run in runs:
        parent = parent_of(run)
        if parent in known and parent != run["run_id"]:
            children.setdefault(str(parent), []).append(run)
        else:
            roots.append(run)
    told: set[str] = set()
    waiting = [(root, 0) for root in reversed(roots)]
    while waiting:
        run, depth = waiting.pop()
        if run["run_id"] not in told:
            told.add(run["run_id"])
            yield run, depth
            waiting += [(child, depth + 1) for child in children.get(run["run_id"], ())]  # newest first: taken last
    yield from ((run, 0) for run in runs if run["run_id"] not in told)  # files that name each other as parents


def family_of(run_id: str, runs: Sequence[RunMeta]) -> list[tuple[RunMeta, int]]:
    """The tree that a run stands in, from its oldest known ancestor on."""
    tree: list[tuple[RunMeta, int]] = []
    for run, depth in in_trees(runs):
        if depth == 0:
            if any(one["run_id"] == run_id for one, _ in tree):
                break
            tree = []
        tree.append((run, depth))
    return tree if any(one["run_id"] == run_id for one, _ in tree) else []


def _origin(run: RunMeta) -> dict[str, Any]:
    origin: Any = run.get("replay")
    return origin if isinstance(origin, dict) else {}


def linked_with(
    run_id: str, runs: Sequence[RunMeta], event_ids: Callable[[str], Iterable[str]]
) -> list[tuple[RunMeta, int]]:
    """
    All that one program did for another, of which a run is a part: each run with its depth, under the one that asked.

    `event_ids` gives the ids of a run's events, to find the step that a request was made in.
    """
    known = {run["run_id"]: run for run in runs}
    traces: dict[str, list[str]] = {}
    for run in runs:
        for trace in {run["run_id"].replace("-", ""), str(_metadata(run).get("trace_id") or "")} - {""}:
            traces.setdefault(trace, []).append(run["run_id"])
    steps: dict[str, set[str]] = {}

    def caller(run: RunMeta) -> str | None:
        told, own = _metadata(run), run["run_id"]
        step = str(told.get("parent_span_id") or "")
        for one in traces.get(str(told.get("trace_id") or ""), []) if step else ():
            if one != own and one not in steps:
                steps[one] = {event_id.replace("-", "")[-16:] for event_id in (one, *event_ids(one))}
            if one != own and step in steps[one]:
                return one
        started = told.get("parent_run_id")
        return started if isinstance(started, str) and started in known and started != own else None

    callers = {run["run_id"]: caller(run) for run in runs if _metadata(run)}
    root, seen = run_id, {run_id}
    while (above := callers.get(root)) is not None and above not in seen:
        root = above
        seen.add(above)
    found: list[tuple[RunMeta, int]] = []
    waiting = [(root, 0)]
    while waiting:
        one, depth = waiting.pop()
        if one in known and one not in {run["run_id"] for run, _ in found}:
            found.append((known[one], depth))
            called = [other for other, above in callers.items() if above == one]
            waiting += sorted(((other, depth + 1) for other in called), key=lambda two: known[two[0]]["started_at"])[
                ::-1
            ]
    return found


def _metadata(run: RunMeta) -> dict[str, Any]:
    told = run.get("metadata")
    return told if isinstance(told, dict) else {}
