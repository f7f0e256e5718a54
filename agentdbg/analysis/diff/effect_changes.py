"""
What the two runs left behind: side effects both have, those that got other arguments, those only one has.

Effects are compared by tool and arguments, whatever their order and whatever steps led to them. That is what holds
between good runs of one agent, where the steps never do. Calls of tools that nobody knows are compared in the same
way, and kept apart: equal calls leave equal things behind, and of different ones nobody can tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.changes import Change, sorted_changes, value_changes
from agentdbg.analysis.diff.same_arguments import comparable_args, messages_agree
from agentdbg.analysis.diff.steps import Arguments, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agentdbg.analysis.effects import EffectSource, SideEffect

__all__ = ["CallChanges", "ChangedEffect", "EffectChanges", "compare_effects"]

_What = tuple[str, bytes, str]
_TABLE = 2_500
"""Beyond this many combinations effects of one tool are paired in their order."""


@dataclass(frozen=True)
class ChangedEffect:
    """The same tool with other arguments, or with another outcome."""

    a: SideEffect
    b: SideEffect

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What differs, looked for when it is asked for: of many effects only the first few are shown."""
        was, now = self.a.portable_args, self.b.portable_args
        found = value_changes(was, now, "args")
        if not found and encoded(was) != encoded(now):
            found = _exact_changes(was, now)
        if self.a.returned != self.b.returned:
            return (*sorted_changes(found), Change("returned", "changed", self.a.returned, self.b.returned))
        if self.a.outcome != self.b.outcome and (self.a.is_known or self.b.is_known):
            return (*sorted_changes(found), Change("outcome", "changed", self.a.outcome, self.b.outcome))
        return tuple(sorted_changes(found))

    def swapped(self) -> ChangedEffect:
        return ChangedEffect(self.b, self.a)

    def to_json(self) -> dict[str, Any]:
        changes = [change.to_json() for change in self.changes]
        return {"a": self.a.to_json(), "b": self.b.to_json(), "changes": changes}


def _exact_changes(was: Any, now: Any) -> list[Change]:
    """What differs in ids and clocks alone, which are no other wording, but another effect."""
    if not isinstance(was, dict) or not isinstance(now, dict):
        return [Change("args", "changed", was, now)]
    both = [key for key in was if key in now and encoded(was[key]) != encoded(now[key])]
    return [Change(f"args.{key}", "changed", was[key], now[key]) for key in both]


@dataclass(frozen=True)
class CallChanges:
    """How the calls of two runs differ, in any order."""

    same: int
    changed: tuple[ChangedEffect, ...]
    only_a: tuple[SideEffect, ...]
    only_b: tuple[SideEffect, ...]
    reworded: int = 0
    """How many of the same ones got the same in other words, or in another order."""

    @property
    def are_same(self) -> bool:
        return not (self.changed or self.only_a or self.only_b)

    @property
    def count(self) -> int:
        """How many calls differ."""
        return len(self.changed) + len(self.only_a) + len(self.only_b)

    def swapped(self) -> CallChanges:
        changed = sorted((effect.swapped() for effect in self.changed), key=lambda effect: effect.a.number)
        return CallChanges(self.same, tuple(changed), self.only_b, self.only_a, self.reworded)

    def to_json(self) -> dict[str, Any]:
        return {
            "same": self.same,
            "reworded": self.reworded,
            "changed": [effect.to_json() for effect in self.changed],
            "only_a": [effect.to_json() for effect in self.only_a],
            "only_b": [effect.to_json() for effect in self.only_b],
        }


@dataclass(frozen=True)
class EffectChanges:
    """
    How the effects of two runs differ.

    `known` has the calls that change something, `unknown` those of tools of which nobody knows it. `guessed_tools` are
    those whose effect only their name tells.
    """

    known: CallChanges
    unknown: CallChanges
    same_order: bool
    guessed_tools: tuple[str, ...]
    unknown_tools: tuple[str, ...]

    @property
    def are_same(self) -> bool:
        """Whether nothing differs, also among the calls that nobody knows."""
        return self.known.are_same and self.unknown.are_same

    @property
    def same(self) -> int:
        return self.known.same

    @property
    def changed(self) -> tuple[ChangedEffect, ...]:
        return self.known.changed

    @property
    def only_a(self) -> tuple[SideEffect, ...]:
        return self.known.only_a

    @property
    def only_b(self) -> tuple[SideEffect, ...]:
        return self.known.only_b

    def swapped(self) -> EffectChanges:
        return replace(self, known=self.known.swapped(), unknown=self.unknown.swapped())

    def to_json(self) -> dict[str, Any]:
        return {
            **self.known.to_json(),
            "same_order": self.same_order,
            "guessed_tools": list(self.guessed_tools),
            "unknown_tools": list(self.unknown_tools),
            "unknown": self.unknown.to_json(),
        }


def compare_effects(
    a: Sequence[SideEffect],
    b: Sequence[SideEffect],
    refused_a: Sequence[SideEffect] = (),
    refused_b: Sequence[SideEffect] = (),
) -> EffectChanges:
    """Compare what two runs changed or may have changed; what one did may have been refused in the other."""
    forms = {effect.name: effect.forms for effect in (*a, *b) if effect.forms}
    a, b, refused_a, refused_b = ([_under(effect, forms) for effect in side] for side in (a, b, refused_a, refused_b))
    done_a, done_b = [_what(effect) for effect in a], [_what(effect) for effect in b]
    both = zip((*a, *b), (*done_a, *done_b), strict=True)
    sources = {what: effect.source for effect, what in both if effect.is_known}
    a, b = _settled(a, done_a, sources), _settled(b, done_b, sources)
    rest_a, rest_b, reworded = _unmatched(a, b, done_a, done_b)
    pairs = _alike(rest_a, rest_b)
    pairs += _done_and_refused(rest_a, rest_b, refused_a, refused_b, pairs)
    pairs.sort(key=lambda pair: (pair.a.number, pair.b.number))
    return EffectChanges(
        known=_part(a, (rest_a, rest_b, reworded), pairs, is_known=True),
        unknown=_part(a, (rest_a, rest_b, reworded), pairs, is_known=False),
        same_order=[what for what in done_a if what in sources] == [what for what in done_b if what in sources],
        guessed_tools=tuple(sorted({effect.name for effect in (*a, *b) if effect.source == "guessed"})),
        unknown_tools=tuple(sorted({effect.name for effect in (*a, *b) if not effect.is_known})),
    )


def _under(effect: SideEffect, forms: Mapping[str, Mapping[str, str]]) -> SideEffect:
    """The effect with its tool's contract, also where only the other run knows it, and without what is ignored."""
    own = forms.get(effect.name)
    if not own or not isinstance(effect.args, dict):
        return effect
    kept = {key: value for key, value in effect.args.items() if own.get(key) != "ignored"}
    return replace(effect, args=kept, forms=own)


def _done_and_refused(
    rest_a: Sequence[SideEffect],
    rest_b: Sequence[SideEffect],
    refused_a: Sequence[SideEffect],
    refused_b: Sequence[SideEffect],
    pairs: Sequence[ChangedEffect],
) -> list[ChangedEffect]:
    """What one run did and the other asked for in the same words, and was turned down."""
    taken = {id(effect) for pair in pairs for effect in (pair.a, pair.b)}
    left_a, left_b = ([effect for effect in rest if id(effect) not in taken] for rest in (rest_a, rest_b))
    found = [ChangedEffect(effect, other) for effect, other in _same_asked(left_a, refused_b)]
    return found + [ChangedEffect(other, effect) for effect, other in _same_asked(left_b, refused_a)]


def _same_asked(
    effects: Sequence[SideEffect], refused: Sequence[SideEffect]
) -> Iterator[tuple[SideEffect, SideEffect]]:
    by_call: dict[tuple[str, bytes], list[SideEffect]] = {}
    for call in reversed(refused):
        by_call.setdefault(_what(call)[:2], []).append(call)
    for effect in effects:
        others = by_call.get(_what(effect)[:2]) if effect.is_known else None
        if others:
            yield effect, others.pop()


def _settled(
    effects: Sequence[SideEffect], done: Sequence[_What], sources: Mapping[_What, EffectSource]
) -> list[SideEffect]:
    """The effects, a call of one run that only the other run knows to write known here too."""
    return [
        effect if effect.is_known or what not in sources else replace(effect, source=sources[what])
        for effect, what in zip(effects, done, strict=True)
    ]


def _part(
    a: Sequence[SideEffect],
    found: tuple[Sequence[SideEffect], Sequence[SideEffect], Sequence[SideEffect]],
    pairs: Sequence[ChangedEffect],
    *,
    is_known: bool,
) -> CallChanges:
    """The known or the unknown ones of what was found; a pair is known where one of its calls is."""
    taken = {id(effect) for pair in pairs for effect in (pair.a, pair.b)}
    all_a, rest_a, rest_b, reworded = ([one for one in calls if one.is_known == is_known] for calls in (a, *found))
    return CallChanges(
        same=len(all_a) - len(rest_a),
        changed=tuple(pair for pair in pairs if (pair.a.is_known or pair.b.is_known) == is_known),
        only_a=tuple(effect for effect in rest_a if id(effect) not in taken),
        only_b=tuple(effect for effect in rest_b if id(effect) not in taken),
        reworded=len(reworded),
    )


def _what(effect: SideEffect) -> _What:
    """The same for two calls that did the same: the keys of their arguments are in order already."""
    return effect.name, encoded(comparable_args(effect.name, effect.args, effect.forms)), effect.state


def _unmatched(
    a: Sequence[SideEffect], b: Sequence[SideEffect], done_a: Sequence[_What], done_b: Sequence[_What]
) -> tuple[list[SideEffect], list[SideEffect], list[SideEffect]]:
    """The effects of each run that the other has not, or not as often; and those of A that B has in other words."""
    waiting: dict[_What, list[SideEffect]] = {}
    for effect, what in zip(b, done_b, strict=True):
        waiting.setdefault(what, []).append(effect)
    rest = list(zip(a, done_a, strict=True))
    rest, _ = _taken(rest, waiting, _same_args)
    rest, reworded = _taken(rest, waiting, _messages_agree)
    unmet = {id(effect) for others in waiting.values() for effect in others}
    rest_b = [effect for effect in b if id(effect) in unmet]
    # At last by where ids come from: a ticket that the run has opened itself has another number in each run.
    by_origin: dict[_What, list[SideEffect]] = {}
    for effect in rest_b:
        by_origin.setdefault(_portable_what(effect), []).append(effect)
    rest, met = _taken([(effect, _portable_what(effect)) for effect, _ in rest], by_origin, _portable_agree)
    unmet = {id(effect) for others in by_origin.values() for effect in others}
    return [effect for effect, _ in rest], [effect for effect in rest_b if id(effect) in unmet], [*reworded, *met]


def _taken(
    rest: Sequence[tuple[SideEffect, _What]],
    waiting: Mapping[_What, list[SideEffect]],
    is_match: Callable[[SideEffect, SideEffect], bool],
) -> tuple[list[tuple[SideEffect, _What]], list[SideEffect]]:
    """Take from those that wait one match for each; gives the effects without one, and those with."""
    left, met = [], []
    for effect, what in rest:
        others = waiting.get(what, [])
        at = next((at for at, other in enumerate(others) if is_match(effect, other)), None)
        if at is None:
            left.append((effect, what))
        else:
            del others[at]
            met.append(effect)
    return left, met


def _messages_agree(effect: SideEffect, other: SideEffect) -> bool:
    return messages_agree(_free(effect.args, effect), _free(other.args, other))


def _portable_what(effect: SideEffect) -> _What:
    return effect.name, encoded(comparable_args(effect.name, effect.portable_args, effect.forms)), effect.state


def _portable_agree(effect: SideEffect, other: SideEffect) -> bool:
    return messages_agree(_free(effect.portable_args, effect), _free(other.portable_args, other))


def _free(args: Any, effect: SideEffect) -> Any:
    """The arguments that a contract leaves to their facts, or says nothing of."""
    if not effect.forms or not isinstance(args, dict):
        return args
    return {key: value for key, value in args.items() if effect.forms.get(key, "facts") == "facts"}


def _same_args(effect: SideEffect, other: SideEffect) -> bool:
    return bool(effect.args == other.args)


def _alike(a: Sequence[SideEffect], b: Sequence[SideEffect]) -> list[ChangedEffect]:
    """Effects of the same tool, those with the most arguments in common together."""
    by_name: dict[str, tuple[list[SideEffect], list[SideEffect]]] = {}
    for side, effects in enumerate((a, b)):
        for effect in effects:
            by_name.setdefault(effect.name, ([], []))[side].append(effect)
    pairs = [pair for ours, theirs in by_name.values() for pair in _best_pairs(ours, theirs)]
    pairs.sort(key=lambda pair: pair[0].number)
    return [ChangedEffect(effect, other) for effect, other in pairs]


def _best_pairs(a: Sequence[SideEffect], b: Sequence[SideEffect]) -> list[tuple[SideEffect, SideEffect]]:
    if len(a) * len(b) > _TABLE:
        return list(zip(a, b, strict=False))
    given, given_b = [Arguments(effect.args) for effect in a], [Arguments(effect.args) for effect in b]
    # Candidates as good as each other never share an effect, for then the sum of their places differs.
    candidates = sorted(
        (-args.likeness(other), at + at_b, at, at_b)
        for at, args in enumerate(given)
        for at_b, other in enumerate(given_b)
    )
    pairs, taken, taken_b = [], set(), set()
    for _, _, at, at_b in candidates:
        if at not in taken and at_b not in taken_b:
            taken.add(at)
            taken_b.add(at_b)
            pairs.append((a[at], b[at_b]))
    return pairs
