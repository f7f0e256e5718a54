"""
What the two runs left behind: side effects both have, those that got other arguments, those only one has.

Effects are compared by tool and arguments, whatever their order and whatever steps led to them. That is what holds
between good runs of one agent, where the steps never do. Calls of tools that nobody knows are compared in the same
way, and kept apart: equal calls leave equal things behind, and of different ones nobody can tell.

A letter in other words is the same letter if it holds the same facts. A list of recipients is the same in any order.
Two lists of one length may belong together, `item_ids` and `new_item_ids`, so they are put in order together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.diff.changes import Change, sorted_changes, value_changes
from agentdbg.analysis.diff.steps import Arguments, encoded
from agentdbg.analysis.effect_guess.tool_names import words_of
from agentdbg.analysis.text_facts import TextFacts, facts_in, is_message
from agentdbg.events import TRUNCATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agentdbg.analysis.effects import EffectSource, SideEffect

__all__ = [
    "CallChanges",
    "ChangedEffect",
    "EffectChanges",
    "ask_for_the_same",
    "comparable_args",
    "compare_effects",
    "messages_agree",
]

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
    return effect.name, encoded(comparable_args(effect.name, effect.args)), effect.state


def _unmatched(
    a: Sequence[SideEffect], b: Sequence[SideEffect], done_a: Sequence[_What], done_b: Sequence[_What]
) -> tuple[list[SideEffect], list[SideEffect], list[SideEffect]]:
    """The effects of each run that the other has not, or not as often; and those of A that B has in other words."""
    waiting: dict[_What, list[SideEffect]] = {}
    for effect, what in zip(b, done_b, strict=True):
        waiting.setdefault(what, []).append(effect)
    rest = list(zip(a, done_a, strict=True))
    rest, _ = _taken(rest, waiting, _same_args)
    rest, reworded = _taken(rest, waiting, lambda effect, other: messages_agree(effect.args, other.args))
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


def _portable_what(effect: SideEffect) -> _What:
    return effect.name, encoded(comparable_args(effect.name, effect.portable_args)), effect.state


def _portable_agree(effect: SideEffect, other: SideEffect) -> bool:
    return messages_agree(effect.portable_args, other.portable_args)


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


_DEEPEST = 20
_ORDERED = frozenset(
    {"actions", "args", "argv", "bbox", "columns", "command", "commands", "coordinates", "fields", "history", "legs"}
    | {"instructions", "itinerary", "lines", "matrix", "messages", "order", "path", "phases", "playlist", "point"}
    | {"points", "position", "priorities", "priority", "queue", "range", "rank", "ranking", "route", "rows", "schedule"}
    | {"sequence", "stages", "statements", "steps", "stops", "tracks", "vector", "waypoints"}
)
"""Names of lists whose order says something."""
_FILES = frozenset({"code", "file", "notebook", "patch", "script", "sql"})
"""Tools that are given texts to be kept as they are."""


def comparable_args(name: str, args: Any) -> Any:
    """The arguments of a tool's call in the form in which two that ask for the same are equal."""
    return _form(args, "", keeps_words=not _FILES.isdisjoint(words_of(name)))


def messages_agree(args: Any, other: Any) -> bool:
    """Whether the messages of two calls with the same facts are to the same people, and about the same."""
    texts, texts_b = list(_messages(args)), list(_messages(other))
    return len(texts) == len(texts_b) and all(map(TextFacts.agrees_with, texts, texts_b))


def ask_for_the_same(name: str, args: Any, other: Any) -> bool:
    """Whether two calls of a tool ask for the same, if in other words or in another order."""
    same = encoded(comparable_args(name, args)) == encoded(comparable_args(name, other))
    return same and messages_agree(args, other)


def _messages(args: Any, key: str = "", depth: int = 0) -> Iterator[TextFacts]:
    if isinstance(args, str):
        if is_message(args, key):
            yield facts_in(args)
    elif isinstance(args, dict) and depth < _DEEPEST:
        for inner, item in args.items():
            yield from _messages(item, str(inner), depth + 1)
    elif isinstance(args, list) and depth < _DEEPEST:
        for item in args:
            yield from _messages(item, "", depth + 1)


def _form(value: Any, key: str, *, keeps_words: bool, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return value
    if isinstance(value, str):
        if keeps_words or TRUNCATED in value or not is_message(value, key):
            return value
        return {"says": sorted(facts_in(value).hard)}
    if isinstance(value, list):
        items = [_form(item, "", keeps_words=keeps_words, depth=depth + 1) for item in value]
        return sorted(items, key=encoded) if _is_set(key, value) else items
    if isinstance(value, dict):
        return _table_form(value, keeps_words=keeps_words, depth=depth)
    return value


def _table_form(table: dict[str, Any], *, keeps_words: bool, depth: int) -> dict[str, Any]:
    lengths: dict[int, list[str]] = {}
    for key, item in table.items():
        if isinstance(item, list) and _is_set(str(key), item):
            lengths.setdefault(len(item), []).append(key)
    together = [keys for keys in lengths.values() if len(keys) > 1]
    joined = {key for keys in together for key in keys}
    form = {
        key: _form(item, str(key), keeps_words=keeps_words, depth=depth + 1)
        for key, item in table.items()
        if key not in joined and item is not None  # nothing given is nothing asked
    }
    for keys in together:
        rows = zip(*(table[key] for key in keys), strict=True)
        form[" and ".join(keys)] = sorted((list(row) for row in rows), key=encoded)
    return form


def _is_set(key: str, items: list[Any]) -> bool:
    """Whether the order of a list says nothing: different texts, tables or ids under a name that is no order."""
    words = words_of(key)
    if len(items) < 2 or not words or not _ORDERED.isdisjoint(words):
        return False
    is_plain = all(isinstance(item, str) for item in items) or all(isinstance(item, dict) for item in items)
    is_ids = words[-1] in ("ids", "numbers") and all(isinstance(item, int) for item in items)
    return (is_plain or is_ids) and len({encoded(item) for item in items}) == len(items)
