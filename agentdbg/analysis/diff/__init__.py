"""
Compare two runs: what is the same, what changed, where they part, and whether they left the same behind.

`compare` reads two runs' events and aligns them as trees. `compare_rows` is the same as light JSON for a page.
`make_patch` and `apply` rebuild one run from the other. Everything is pure: events in, values out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.align import lay_out, pair_sides
from agentdbg.analysis.diff.changes import Change, changes_between, context_changes
from agentdbg.analysis.diff.effect_changes import compare_effects
from agentdbg.analysis.diff.read_side import Ignored, read_side
from agentdbg.analysis.diff.result import Diff, Row, apply, make_patch, mirror, mirror_patch
from agentdbg.analysis.diff.same_arguments import ask_for_the_same
from agentdbg.analysis.effects import NO_RULES, normal_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentdbg.analysis.diff.align import Place
    from agentdbg.analysis.diff.result import Op
    from agentdbg.analysis.diff.steps import Side, Step
    from agentdbg.analysis.effects import EffectRules
    from agentdbg.events import Event

__all__ = ["Change", "Diff", "Row", "apply", "compare", "compare_rows", "make_patch", "mirror", "mirror_patch"]


def compare(
    a_events: Iterable[Event], b_events: Iterable[Event], rules: EffectRules = NO_RULES, ignore: Sequence[str] = ()
) -> Diff:
    """Compare run A with run B. `ignore` names parts that may differ: `args.date`, `result.items[*].price`."""
    ignored = Ignored(ignore) if ignore else None
    return compare_sides(read_side(a_events, rules, ignored), read_side(b_events, rules, ignored))


def compare_rows(
    a_events: Iterable[Event], b_events: Iterable[Event], rules: EffectRules = NO_RULES, ignore: Sequence[str] = ()
) -> dict[str, Any]:
    """The comparison as a page draws it: aligned rows with short changes, verdict, effects, totals."""
    return compare(a_events, b_events, rules, ignore).rows_json()


def compare_sides(a: Side, b: Side) -> Diff:
    """Compare two runs that have been read."""
    pairing = pair_sides(a, b)
    rows = _RowMaker(a, b, pairing.moved)
    rows.add(lay_out(pairing, a, b))
    effects = compare_effects(a.effects, b.effects, a.refused, b.refused)
    return Diff(tuple(rows.rows), effects, tuple(rows.context), a, b, pairing)


class _RowMaker:
    """Turns places into rows, remembering which differences have been told."""

    def __init__(self, a: Side, b: Side, moved: dict[int, int]) -> None:
        self.rows: list[Row] = []
        self.context: list[tuple[int, Change]] = []
        self._a, self._b = a, b
        self._moved = moved
        self._moved_back = {there: here for here, there in moved.items()}
        self._told: set[tuple[int, int]] = set()
        self._differs = False

    def add(self, places: Iterable[Place]) -> None:
        for a, b in places:
            if a is not None and b is not None:
                self.rows.append(self._pair(self._a.steps[a], self._b.steps[b]))
            elif a is not None:
                self._alone("deleted", a, None, self._a.steps[a], self._moved.get(a))
            elif b is not None:
                self._alone("inserted", None, b, self._b.steps[b], self._moved_back.get(b))

    def _alone(self, op: Op, a: int | None, b: int | None, step: Step, moved_to: int | None) -> None:
        self._differs = True
        shown: Op = op if moved_to is None else "moved"
        self.rows.append(Row(shown, a, b, step.kind, step.name, step.depth, step.effect, other=moved_to))

    def _pair(self, a: Step, b: Step) -> Row:
        changes = changes_between(a, b) if a.key != b.key else []
        if a.context_key != b.context_key:
            changes = [*self._news(a, b), *changes]
        if not changes and not self._differs and a.history != b.history:
            # Nothing before explains that the same conversation is remembered differently.
            changes = [Change("history", "changed", a.history[0], b.history[0])]
        effect = _either(a.effect, b.effect)
        depth, name_b = min(a.depth, b.depth), b.name if b.name != a.name else None
        if not changes:
            return Row("same", a.number, b.number, a.kind, a.name, depth, effect, name_b=name_b)
        self._differs = True
        if effect is not False:
            changes = _with_wording(changes, is_same=_asks_for_the_same(a, b))
        wording = all(change.wording and not change.is_given for change in changes)
        numbers = (a.number, b.number)
        return Row("changed", *numbers, a.kind, a.name, depth, effect, wording, None, name_b, tuple(changes))

    def _news(self, a: Step, b: Step) -> list[Change]:
        """Other instructions or tools are the same news in every call that has them; they are told in the first."""
        told = (a.context_key, b.context_key)
        if told in self._told:
            return []
        self._told.add(told)
        news = context_changes(a, b)
        self.context += [(len(self.rows), change) for change in news]
        return news


def _either(one: bool | None, other: bool | None) -> bool | None:
    """Whether a call writes, as far as one of the two runs knows."""
    return one or other if one is not None else other or None


def _asks_for_the_same(a: Step, b: Step) -> bool:
    """Whether a write, or a call that may be one, got the same facts: other words with other facts do other things."""
    return ask_for_the_same(a.name, normal_form(a.content.get("args")), normal_form(b.content.get("args")))


def _with_wording(changes: list[Change], *, is_same: bool) -> list[Change]:
    """The changes of a write, where other words are other wording only if they ask for the same."""
    return [change._replace(wording=is_same) if change.part == "args" else change for change in changes]
