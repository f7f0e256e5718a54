"""
The same things were changed outside the agent: the calls with side effects, with their arguments, in any order.

On repeated trials of one agent this is what tells good runs from bad ones: wording, reads and counts differ between
good runs all the time, what they leave behind does not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks.result import CheckResult, diff_text, joined, numbered, quoted
from agentdbg.analysis.checks.run_facts import EventRef
from agentdbg.analysis.diff.effect_changes import EffectChanges, compare_effects
from agentdbg.analysis.wording import as_json
from agentdbg.events import TRUNCATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.baseline import Baseline, Variant
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_facts import RunFacts
    from agentdbg.analysis.diff.changes import Change
    from agentdbg.analysis.diff.effect_changes import ChangedEffect
    from agentdbg.analysis.effects import SideEffect

__all__ = ["check_effects"]

_SAID = 3
_LISTED = 12


def check_effects(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """The run's side effects are those of a run of the baseline, or there are none where none may be."""
    if policy.effects is None:
        return []
    came = [_kept(effect, policy.ignore_args) for effect in facts.effects]
    if policy.effects == "none":
        return [_check_none(came, facts.unknown_tools)]
    variants = () if baseline is None else baseline.effects
    changes = _nearest(came, variants, policy.ignore_args)
    if changes.are_same:
        doubts = _guessed(changes.guessed_tools) + _unknown(facts.unknown_tools) + _cut_short(came)
        return [CheckResult("effects", True, f"The same side effects as in the baseline: {_listed(came)}.{doubts}")]
    return [_differing(changes, _made_under_other_rules(changes, baseline))]


def _check_none(came: Sequence[SideEffect], unknown_tools: Sequence[str]) -> CheckResult:
    if not came:
        return CheckResult("effects", True, f"No side effects.{_unknown(unknown_tools)}")
    changes = compare_effects((), came)
    events = _refs(came)
    said = f"{joined(dict.fromkeys(effect.name for effect in came))} changed something{numbered(events)}."
    return CheckResult("effects", False, said + _guessed(changes.guessed_tools), events, _diff(changes))


def _nearest(came: Sequence[SideEffect], variants: Sequence[Variant], ignored: Sequence[str]) -> EffectChanges:
    """How the run differs from the variant of the baseline that it comes closest to."""
    found = (compare_effects([_kept(call, ignored) for call in variant.calls], came) for variant in variants)
    return min(found, key=lambda changes: changes.count, default=compare_effects((), came))


def _made_under_other_rules(changes: EffectChanges, baseline: Baseline | None) -> str:
    """That a new effect may be no news: the baseline's runs called the tool too, and it counted as a read then."""
    if baseline is None:
        return ""
    counted = {call.name for variant in baseline.effects for call in variant.calls}
    names = dict.fromkeys(effect.name for effect in changes.only_b)
    read = [name for name in names if any(baseline.tools.get(name, ())) and name not in counted]
    return f" The baseline's runs called {joined(read)} too, not as a side effect: make it anew?" if read else ""


def _differing(changes: EffectChanges, hint: str) -> CheckResult:
    said = [f"#{effect.b.number}: {quoted(effect.b.name)} {_how(effect)}" for effect in changes.changed]
    said += [f"#{effect.number}: {quoted(effect.name)} is new" for effect in changes.only_b]
    said += [f"{quoted(effect.name)} is missing" for effect in changes.only_a]
    more = f"; and {len(said) - _SAID} more" if len(said) > _SAID else ""
    sentence = f"Other side effects: {'; '.join(said[:_SAID])}{more}.{hint}{_guessed(changes.guessed_tools)}"
    events = _refs([*(effect.b for effect in changes.changed), *changes.only_b])
    return CheckResult("effects", False, sentence, events, _diff(changes))


def _how(effect: ChangedEffect) -> str:
    """What is different about a call of the same tool."""
    if [change.path for change in effect.changes] != ["returned"]:
        return "has other arguments"
    return "never returned" if effect.a.returned else "returned, which the baseline's never did"


def _diff(changes: EffectChanges) -> str:
    lines = [line for effect in changes.changed for line in _changed_lines(effect)]
    lines += [f"- {effect.signature}" for effect in changes.only_a]
    lines += [f"+ #{effect.number} {effect.signature}" for effect in changes.only_b]
    return diff_text(lines)


def _changed_lines(effect: ChangedEffect) -> list[str]:
    """One call, and the arguments of it that differ by their paths."""
    lines = [f"  #{effect.b.number} {effect.b.name}"]
    for change in effect.changes:
        path = change.path.removeprefix("args.")
        lines += [f"{sign} {path}: {value}" for sign, value in _sides(change)]
    return lines


def _sides(change: Change) -> list[tuple[str, str]]:
    sides = [("-", as_json(change.was))] if change.op != "added" else []
    return sides + ([("+", as_json(change.now))] if change.op != "removed" else [])


def _refs(effects: Sequence[SideEffect]) -> tuple[EventRef, ...]:
    return tuple(sorted(EventRef(effect.number, effect.event_id) for effect in effects))


def _listed(came: Sequence[SideEffect]) -> str:
    if not came:
        return "none"
    counts = Counter(effect.name for effect in came)
    said = [quoted(name) if count == 1 else f"{quoted(name)} {count:,} times" for name, count in counts.items()]
    return ", ".join(said if len(said) <= _LISTED else [*said[:_LISTED], f"{len(said) - _LISTED:,} other tools"])


def _guessed(names: Sequence[str]) -> str:
    """That a tool's side effects were only guessed from its name, which a person may want to settle."""
    if not names:
        return ""
    return f" That {joined(names)} {'has' if len(names) == 1 else 'have'} side effects is a guess from the name."


def _unknown(names: Sequence[str]) -> str:
    if not names:
        return ""
    are = "it is taken for a read" if len(names) == 1 else "they are taken for reads"
    return f" Nothing says whether {joined(names)} {'has' if len(names) == 1 else 'have'} side effects; {are}."


def _cut_short(came: Sequence[SideEffect]) -> str:
    """That arguments were too long to be recorded whole, so that a difference may lie behind their end."""
    names = dict.fromkeys(effect.name for effect in came if TRUNCATED in effect.signature)
    return f" What {joined(names)} was given was cut when it was recorded; the rest is not compared." if names else ""


def _kept(effect: SideEffect, ignored: Sequence[str]) -> SideEffect:
    """The effect without the arguments that are not compared."""
    return replace(effect, args=_without(effect.args, effect.name, ignored)) if ignored else effect


def _without(value: Any, tool: str, ignored: Sequence[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _without(item, tool, ignored)
            for key, item in value.items()
            if not any(fnmatchcase(str(key), name) or fnmatchcase(f"{tool}.{key}", name) for name in ignored)
        }
    return [_without(item, tool, ignored) for item in value] if isinstance(value, list) else value
