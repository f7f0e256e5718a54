"""
What a comparison found: aligned rows, changes, effects, totals, the verdict that follows from them, and the patch.

All of it is plain data. `to_json` is the whole of it, `rows_json` the light form a page of many rows is drawn from. A
patch makes a comparison provably complete: it lists every event of both runs, paired ones with the edits that turn the
first into the second, ids and times included, the others whole, and reads the same in both directions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentdbg.analysis.diff.align import lay_out
from agentdbg.analysis.diff.summary import notes, sentences
from agentdbg.analysis.run_columns import CALL_KINDS, KINDS, LLM, LOOP, START, TOOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.call_results import Outcome
    from agentdbg.analysis.diff.align import Pairing
    from agentdbg.analysis.diff.changes import Change
    from agentdbg.analysis.diff.effect_changes import EffectChanges
    from agentdbg.analysis.diff.steps import Side, Step
    from agentdbg.events import Event

__all__ = [
    "Diff",
    "Op",
    "Row",
    "Verdict",
    "apply",
    "has_failed",
    "make_patch",
    "mirror",
    "mirror_patch",
    "never_returned",
    "outcome_of_row",
]

Op = Literal["same", "changed", "inserted", "deleted", "moved"]
Verdict = Literal["same", "same_effects", "different_effects", "unknown_effects"]
_FEW = 3
_PROMPT_PARTS = frozenset({"appended", "system", "tools", "parameters", "history"})


class Row(NamedTuple):
    """
    One line of the two runs side by side. `a` and `b` are event numbers, null where that run has nothing here.

    `name_b` is B's name where the two differ. An equal step that stands in another place makes two rows, `moved`, each
    with the other's number in `other`. `wording` says that nothing but words changed. `effect` marks calls that change
    something outside the agent; it is None where nobody knows.
    """

    op: Op
    a: int | None
    b: int | None
    kind: int
    name: str
    depth: int = 0
    effect: bool | None = False
    wording: bool = False
    other: int | None = None
    name_b: str | None = None
    changes: tuple[Change, ...] = ()

    @property
    def diverges(self) -> bool:
        """Whether the runs do different things here, not only say the same in other words."""
        # How the run was started is a cause, and a finding of ours follows from what the agent did.
        if self.op == "same" or self.kind in (START, LOOP):
            return False
        if self.op == "changed" and self.wording:
            return False
        return self.op != "changed" or self.effect is not False or not all(change.is_quiet for change in self.changes)

    def to_json(self) -> dict[str, Any]:
        return {**self._head(), "changes": [change.to_json() for change in self.changes]}

    def to_short_json(self) -> dict[str, Any]:
        return {**self._head(), "changes": [change.to_short_json() for change in self.changes[:_FEW]]}

    def _head(self) -> dict[str, Any]:
        head: dict[str, Any] = {
            "op": self.op,
            "a": self.a,
            "b": self.b,
            "kind": KINDS[self.kind],
            "name": self.name,
            "depth": self.depth,
            "effect": self.effect,
            "wording": self.wording,
            "diverges": self.diverges,
        }
        if self.other is not None:
            head["other"] = self.other
        if self.name_b is not None:
            head["name_b"] = self.name_b
        return head


@dataclass(frozen=True)
class Diff:
    """Two runs compared. Rows are counted from 0."""

    rows: tuple[Row, ...]
    effects: EffectChanges
    context: tuple[tuple[int, Change], ...]
    """Instructions, tools and parameters that differ, each once, with the row where that is first so."""
    side_a: Side = field(repr=False, compare=False)
    side_b: Side = field(repr=False, compare=False)
    pairing: Pairing = field(repr=False, compare=False)

    @property
    def verdict(self) -> Verdict:
        if not self.effects.known.are_same:
            return "different_effects"
        if not self.effects.unknown.are_same:
            return "unknown_effects"
        return "same" if self.first_difference is None else "same_effects"

    @property
    def first_difference(self) -> int | None:
        """The first row that is not the same, if only in its wording."""
        return next((at for at, row in enumerate(self.rows) if row.op != "same"), None)

    @property
    def first_divergence(self) -> int | None:
        """The first row in which the runs do different things."""
        return next((at for at, row in enumerate(self.rows) if row.diverges), None)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each sort there are; `wording` ones are not among `changed`."""
        found = Counter("wording" if row.wording else row.op for row in self.rows)
        return {name: found[name] for name in ("same", "wording", "changed", "deleted", "inserted", "moved")}

    def only(self, part: Literal["effects", "tools", "prompts"]) -> Diff:
        """The same comparison, looking at one thing alone; what is left out counts as the same."""
        kept = [
            at
            for at, row in enumerate(self.rows)
            if (row.kind == LLM if part == "prompts" else row.kind == TOOL)
            and (part != "effects" or row.effect is not False)
        ]
        places = {old: new for new, old in enumerate(kept)}
        if part == "prompts":
            rows = tuple(_only_parts(self.rows[at], _PROMPT_PARTS) for at in kept)
            context = tuple((places[at], change) for at, change in self.context)
            return replace(self, rows=rows, context=context)
        return replace(self, rows=tuple(self.rows[at] for at in kept), context=())

    def to_json(self) -> dict[str, Any]:
        """Everything that was found."""
        return {**self._head(), "rows": [row.to_json() for row in self.rows], "effects": self.effects.to_json()}

    def rows_json(self) -> dict[str, Any]:
        """The light form: at most three short changes in a row."""
        return {**self._head(), "rows": [row.to_short_json() for row in self.rows], "effects": self.effects.to_json()}

    def _head(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "sentences": sentences(self),
            "notes": notes(self),
            "first_difference": self.first_difference,
            "first_divergence": self.first_divergence,
            "counts": self.counts,
            "totals": {"a": self.side_a.totals.to_json(), "b": self.side_b.totals.to_json()},
            "context": [{"row": row, **change.to_json()} for row, change in self.context],
        }


def has_failed(diff: Diff, row: Row) -> bool:
    """Whether the call of a row failed wherever it was made: then a write changed nothing."""
    return row.kind in CALL_KINDS and all(step.failed for step in _steps(diff, row))


def outcome_of_row(diff: Diff, row: Row) -> Outcome:
    """What came of the write of a row, the most that may have come of it where both runs made it."""
    places = ((diff.side_a, row.a), (diff.side_b, row.b))
    found = {outcome for side, number in places if (outcome := side.outcomes.get(number or 0)) is not None}
    return "done" if "done" in found else "unknown" if found else "refused"


def never_returned(diff: Diff, row: Row) -> bool:
    """Whether the call of a row has no end wherever it was made."""
    return all(step.content.get("returned") is False for step in _steps(diff, row))


def _steps(diff: Diff, row: Row) -> list[Step]:
    places = ((diff.side_a, row.a), (diff.side_b, row.b))
    return [side.steps[number] for side, number in places if number is not None]


def _only_parts(row: Row, parts: frozenset[str]) -> Row:
    if row.op != "changed":
        return row
    kept = tuple(change for change in row.changes if change.part in parts)
    if not kept:
        return row._replace(op="same", wording=False, changes=())
    return row._replace(changes=kept, wording=all(change.wording for change in kept))


_MIRRORED: dict[Op, Op] = {"inserted": "deleted", "deleted": "inserted"}


def mirror(diff: Diff) -> Diff:
    """The comparison as it is when A and B change places."""
    pairing = diff.pairing.swapped()
    swapped = {(row.b, row.a): row for row in diff.rows}
    rows = tuple(_swapped(swapped[place]) for place in lay_out(pairing, diff.side_b, diff.side_a))
    at = {(row.a, row.b): number for number, row in enumerate(rows)}
    context = sorted(
        ((at[diff.rows[number].b, diff.rows[number].a], change.swapped()) for number, change in diff.context),
        key=lambda found: (found[0], found[1].path),
    )
    return Diff(rows, diff.effects.swapped(), tuple(context), diff.side_b, diff.side_a, pairing)


def _swapped(row: Row) -> Row:
    changes = tuple(change.swapped() for change in row.changes)
    name, name_b = (row.name, None) if row.name_b is None else (row.name_b, row.name)
    op = _MIRRORED.get(row.op, row.op)
    return row._replace(op=op, a=row.b, b=row.a, changes=changes, name=name, name_b=name_b)


Patch = dict[str, Any]
_DEEPEST = 200


def make_patch(a_events: Sequence[Event], b_events: Sequence[Event], diff: Diff) -> Patch:
    """What turns the events of A into those of B, along the alignment of a comparison."""
    partners = {**diff.pairing.pairs, **diff.pairing.moved}
    starts_b = {call: number for number, call in diff.side_b.starts.items()}
    for number, call in diff.side_a.starts.items():
        other = starts_b.get(partners.get(call, 0))
        if other is not None:
            partners[number] = other
    entries: list[dict[str, Any]] = []
    for number, event in enumerate(a_events, 1):
        other = partners.get(number)
        if other is None:
            entries.append({"a": number, "b": None, "event": event})
        else:
            entries.append({"a": number, "b": other, "edits": _edits(event, b_events[other - 1])})
    taken = set(partners.values())
    entries += [
        {"a": None, "b": number, "event": event} for number, event in enumerate(b_events, 1) if number not in taken
    ]
    return {"entries": entries}


def apply(a_events: Sequence[Event], patch: Patch) -> list[Event]:
    """The events of B, from those of A and the patch."""
    built: dict[int, Any] = {}
    for entry in patch["entries"]:
        if entry["b"] is None:
            continue
        if entry["a"] is None:
            built[entry["b"]] = entry["event"]
        else:
            value: Any = a_events[entry["a"] - 1]
            for edit in entry["edits"]:
                value = _edited(value, edit, 0)
            built[entry["b"]] = value
    return [built[number] for number in sorted(built)]


def mirror_patch(patch: Patch) -> Patch:
    """The patch that leads back."""
    return {"entries": [_mirrored(entry) for entry in patch["entries"]]}


def _mirrored(entry: dict[str, Any]) -> dict[str, Any]:
    swapped = {**entry, "a": entry["b"], "b": entry["a"]}
    if "edits" in entry:
        # The last edit is the first to be taken back.
        names = {"was": "now", "now": "was"}
        swapped["edits"] = [
            {names.get(name, name): value for name, value in edit.items()} for edit in reversed(entry["edits"])
        ]
    return swapped


def _edits(was: Any, now: Any) -> list[dict[str, Any]]:
    edits: list[dict[str, Any]] = []
    _collect(was, now, [], edits)
    return edits


def _collect(was: Any, now: Any, path: list[str | int], edits: list[dict[str, Any]]) -> None:
    """A key that only one side has lacks `was` or `now`; of lists of different lengths the middle is replaced."""
    if isinstance(was, dict) and isinstance(now, dict) and len(path) < _DEEPEST:
        for key in was:
            if key not in now:
                edits.append({"path": [*path, key], "was": was[key]})
            else:
                _collect(was[key], now[key], [*path, key], edits)
        edits.extend({"path": [*path, key], "now": now[key]} for key in now if key not in was)
    elif isinstance(was, list) and isinstance(now, list) and len(path) < _DEEPEST:
        if len(was) == len(now):
            for at, (old, new) in enumerate(zip(was, now, strict=True)):
                _collect(old, new, [*path, at], edits)
            return
        begin = 0
        while begin < min(len(was), len(now)) and _is_same(was[begin], now[begin]):
            begin += 1
        end = 0
        while end < min(len(was), len(now)) - begin and _is_same(was[-1 - end], now[-1 - end]):
            end += 1
        middle, middle_now = was[begin : len(was) - end], now[begin : len(now) - end]
        edits.append({"path": path, "at": begin, "was": middle, "now": middle_now})
    elif not _is_same(was, now):
        edits.append({"path": path, "was": was, "now": now})


def _is_same(was: Any, now: Any) -> bool:
    """Exactly the same JSON: 1, 1.0 and true are three values."""
    if was is now:
        return True
    if type(was) is not type(now):
        return False
    if isinstance(was, dict):
        return was.keys() == now.keys() and all(_is_same(item, now[key]) for key, item in was.items())
    if isinstance(was, list):
        return len(was) == len(now) and all(map(_is_same, was, now))
    return bool(was == now)


def _edited(value: Any, edit: dict[str, Any], depth: int) -> Any:
    """The value with one edit made; the original is left as it is."""
    path = edit["path"]
    if depth < len(path) and not (depth == len(path) - 1 and "at" not in edit):
        key = path[depth]
        copied = value.copy()
        copied[key] = _edited(value[key], edit, depth + 1)
        return copied
    if "at" in edit:
        return [*value[: edit["at"]], *edit["now"], *value[edit["at"] + len(edit["was"]) :]]
    if not path:
        return edit["now"]
    copied = value.copy()
    if "now" in edit:
        copied[path[-1]] = edit["now"]
    else:
        del copied[path[-1]]
    return copied
