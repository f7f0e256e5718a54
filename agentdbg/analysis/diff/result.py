"""
What a comparison found: aligned rows, changes, effects, totals, and the verdict that follows from them.

All of it is plain data. `to_json` is the whole of it, `rows_json` the light form a page of many rows is drawn from.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentdbg.analysis.diff.layout import lay_out
from agentdbg.analysis.run_columns import KINDS, LLM, LOOP, START, TOOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.analysis.diff.changes import Change
    from agentdbg.analysis.diff.effect_changes import EffectChanges
    from agentdbg.analysis.diff.pairing import Pairing
    from agentdbg.analysis.diff.steps import Side

__all__ = ["Diff", "Op", "Row", "Verdict", "mirror", "new_row"]

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


_Number = int | None
_Fields = tuple[Op, _Number, _Number, int, str, int, bool | None, bool, _Number, str | None, tuple["Change", ...]]
new_row: Callable[[_Fields], Row] = partial(tuple.__new__, Row)
"""As calling the class, but quicker."""


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
        from agentdbg.analysis.diff.told import notes, sentences  # noqa: PLC0415 -- it describes this class

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
    return Diff(
        rows,
        diff.effects.swapped(),
        tuple(context),
        diff.side_b,
        diff.side_a,
        pairing,
    )


def _swapped(row: Row) -> Row:
    changes = tuple(change.swapped() for change in row.changes)
    name, name_b = (row.name, None) if row.name_b is None else (row.name_b, row.name)
    op = _MIRRORED.get(row.op, row.op)
    return row._replace(op=op, a=row.b, b=row.a, changes=changes, name=name, name_b=name_b)
