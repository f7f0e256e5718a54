"""
A run beside one that passed the same task: the first thing it did otherwise, and where the two part.

Good runs of one task take different steps and leave the same behind. So what a failed run changed outside the agent, or
failed to change, against a run that passed says more than anything in the failed run alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis import conversation
from agentdbg.analysis.diff import compare_sides
from agentdbg.analysis.diff.read_side import read_side
from agentdbg.analysis.diff.summary import does, given_to, next_step
from agentdbg.analysis.value_text import argument_text, plain_text, value
from agentdbg.analysis.wording import as_json, code, count_noun, line, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agentdbg.analysis.diff.effect_changes import CallChanges, ChangedEffect
    from agentdbg.analysis.diff.result import Diff
    from agentdbg.analysis.effects import SideEffect
    from agentdbg.analysis.wording import Line, VerdictPart
    from agentdbg.events import Event, RunMeta

__all__ = ["Beside", "request_in", "task_of", "told_beside"]

_TASK_KEYS = (
    "task_id",
    "instance_id",
    "question_id",
    "problem_id",
    "sample_id",
    "example_id",
    "case_id",
    "scenario_id",
    "test_id",
    "task",
    "question",
    "instruction",
)
_DEEPEST = 3
_LOOKED_AT = 40
_ROOM = 60
_SPACE = re.compile(r"\s+")


class Beside(NamedTuple):
    """What a run did otherwise than one that passed. Each line names an event of the run, and one of the other."""

    run_id: str
    name: str
    lines: tuple[Line, ...]
    theirs: tuple[int | None, ...]

    def as_json(self) -> dict[str, Any]:
        told = [
            {"event": said["n"], "passing_event": number, "sentence": text_of(said), "parts": said["parts"]}
            for said, number in zip(self.lines, self.theirs, strict=True)
        ]
        return {"run_id": self.run_id, "run_name": self.name, "differences": told}


def task_of(metadata: Any, depth: int = 0) -> str | None:
    """What a run's metadata says its task is, as text that equals that of another run of the task."""
    if not isinstance(metadata, dict) or depth > _DEEPEST:
        return None
    for key in _TASK_KEYS:
        if isinstance(metadata.get(key), (str, int)) and metadata[key] != "":
            return f"{key} {metadata[key]}"
    found = (task_of(item, depth + 1) for key, item in metadata.items() if key != "imported_from")
    return next((task for task in found if task is not None), None)


def request_in(events: Iterable[Event]) -> str | None:
    """What a run was asked: the arguments it was started with, else the first message of a user, in one line."""
    for number, event in enumerate(events):
        payload: Any = event.get("payload")
        if number > _LOOKED_AT or not isinstance(payload, dict):
            break
        if event["event_type"] == "RUN_START" and (payload.get("args") or payload.get("kwargs")):
            return as_json([payload.get("args"), payload.get("kwargs")])
        if event["event_type"] == "LLM_CALL":
            said = [turn.text for turn in conversation.turns(payload.get("prompt")) if turn.role in ("user", "human")]
            return _SPACE.sub(" ", said[0]).strip() if said else None
    return None


def told_beside(events: Iterable[Event], others: Iterable[tuple[RunMeta, Iterable[Event]]]) -> Beside | None:
    """What a run did otherwise than the nearest of those that passed; None where there is nothing to say."""
    own = read_side(events)
    found: list[tuple[int, int, RunMeta, Diff]] = []
    for place, (meta, passing) in enumerate(others):
        diff = compare_sides(read_side(passing), own)
        found.append((diff.effects.known.count + diff.effects.unknown.count, place, meta, diff))
    if not found:
        return None
    _, _, meta, diff = min(found, key=lambda item: item[:2])
    told = [*_first_effect(diff), *_parting(diff)]
    if not told:
        return None
    lines, theirs = tuple(said for said, _ in told), tuple(number for _, number in told)
    return Beside(meta["run_id"], meta["run_name"] or "unnamed", lines, theirs)


def _first_effect(diff: Diff) -> Iterator[tuple[Line, int | None]]:
    """The first write that is other, missing or too many; of calls that may write, where no known write differs."""
    calls = diff.effects.known if not diff.effects.known.are_same else diff.effects.unknown
    told = sorted(_differences(calls), key=lambda item: item[0])
    if not told:
        return
    _, here, there, pieces = told[0]
    more = f" {count_noun(calls.count - 1, 'more call')} {'differs' if calls.count == 2 else 'differ'}."
    yield line(here, *pieces, *([more] if calls.count > 1 else [])), there


def _differences(calls: CallChanges) -> Iterator[tuple[int, int | None, int | None, list[str | VerdictPart]]]:
    for effect in calls.changed:
        yield effect.b.number, effect.b.number, effect.a.number, _changed(effect)
    for alone in calls.only_b:
        said = [
            code(alone.name),
            f" #{alone.number} was called ",
            *_with(alone),
            "; the passing run did not do that.",
        ]
        yield alone.number, alone.number, None, said
    for missing in calls.only_a:
        said = [
            "The passing run called ",
            code(missing.name),
            " ",
            *_with(missing),
            f" (its #{missing.number}); this run never did.",
        ]
        yield missing.number, None, missing.number, said


def _changed(effect: ChangedEffect) -> list[str | VerdictPart]:
    head: list[str | VerdictPart] = [code(effect.b.name), f" #{effect.b.number}"]
    change = effect.changes[0] if effect.changes else None
    passing = f"in the passing run (its #{effect.a.number})"
    if change is None or change.path in ("outcome", "returned"):
        here, there = (side.outcome if side.returned else "never finished" for side in (effect.b, effect.a))
        return [*head, f" was {here}; {passing} it was {there}."]
    path = code(change.path.removeprefix("args."))
    rest = f", and {count_noun(len(effect.changes) - 1, 'more difference')}" if len(effect.changes) > 1 else ""
    if change.op == "added":
        return [*head, " got ", path, " ", _shown(change.now), f"; {passing} it got none{rest}."]
    if change.op == "removed":
        return [*head, " got no ", path, f"; {passing} it got ", _shown(change.was), f"{rest}."]
    return [*head, " got ", path, " ", _shown(change.now), f"; {passing} it got ", _shown(change.was), f"{rest}."]


def _shown(item: Any) -> VerdictPart:
    return code(plain_text(value(item, _ROOM)))


def _with(effect: SideEffect) -> list[str | VerdictPart]:
    args: Mapping[str, Any] | Any = effect.args
    shown = argument_text(args, 2 * _ROOM) if isinstance(args, dict) else plain_text(value(args, 2 * _ROOM))
    return ["with ", code(shown)] if shown else ["without arguments"]


def _parting(diff: Diff) -> Iterator[tuple[Line, int | None]]:
    """Where the two begin to do different things."""
    at = diff.first_divergence
    if at is None:
        return
    there, here = next_step(diff, at, "a"), next_step(diff, at, "b")
    if here is None and there is None:
        return
    ours, theirs = does(here), does(there)
    if ours == theirs:
        ours, theirs = (
            (*ours, *([] if here is None else given_to(here))),
            (*theirs, *([] if there is None else given_to(there))),
        )
    number = None if here is None else here.number
    other = None if there is None else there.number
    place = "" if number is None else f" #{number}"
    beside = "" if other is None else f" (its #{other})"
    yield (
        line(number, f"First difference: this run{place} ", *ours, f"; the passing run{beside} ", *theirs, "."),
        other,
    )
