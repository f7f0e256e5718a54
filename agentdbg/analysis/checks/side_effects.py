"""
The same things were changed outside the agent: the calls with side effects, with their arguments, in any order.

On repeated trials of one agent this is what tells good runs from bad ones: wording, reads and counts differ between
good runs all the time, what they leave behind does not.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks.facts import EventRef
from agentdbg.analysis.checks.result import CheckResult, joined, numbered
from agentdbg.analysis.wording import as_json, cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.baseline import Baseline, Variant
    from agentdbg.analysis.checks.facts import RunFacts
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.effects import SideEffect

__all__ = ["check_effects"]

_CALLS_SHOWN = 20
_LINES_PER_CALL = 40
_LONGEST_LINE = 400


def check_effects(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """The run's side effects are those of a run of the baseline, or there are none where none may be."""
    if policy.effects is None:
        return []
    came = [_kept(effect, policy.ignore_args) for effect in facts.effects]
    if policy.effects == "none":
        return [_check_none(came)]
    variants = () if baseline is None else baseline.effects
    missing, extra = _nearest(came, variants, policy.ignore_args)
    if not missing and not extra:
        said = f"The same side effects as in the baseline: {_listed(came)}.{_guessed(came)}"
        return [CheckResult("effects", True, said)]
    return [_changed(missing, extra, came)]


def _check_none(came: Sequence[SideEffect]) -> CheckResult:
    if not came:
        return CheckResult("effects", True, "No side effects.")
    events = tuple(EventRef(effect.number, effect.event_id) for effect in came)
    sentence = f"{joined(dict.fromkeys(effect.name for effect in came))} changed something{numbered(events)}."
    return CheckResult(
        "effects", False, sentence + _guessed(came), events, "\n".join(map(_added_line, came[:_CALLS_SHOWN]))
    )


def _nearest(
    came: Sequence[SideEffect], variants: Sequence[Variant], ignored: Sequence[str]
) -> tuple[list[SideEffect], list[SideEffect]]:
    """What is missing and what is too much, against the variant of the baseline that the run comes closest to."""
    found: list[tuple[list[SideEffect], list[SideEffect]]] = []
    for variant in variants:
        expected = [_kept(effect, ignored) for effect in variant.calls]
        found.append((_rest(expected, came), _rest(came, expected)))
    return min(found, key=lambda both: len(both[0]) + len(both[1]), default=([], list(came)))


def _rest(these: Sequence[SideEffect], those: Sequence[SideEffect]) -> list[SideEffect]:
    """What is left of these when those are taken away, each once."""
    taken = Counter(effect.signature for effect in those)
    left = []
    for effect in these:
        if taken[effect.signature]:
            taken[effect.signature] -= 1
        else:
            left.append(effect)
    return left


def _changed(missing: list[SideEffect], extra: list[SideEffect], came: Sequence[SideEffect]) -> CheckResult:
    """Say what changed: a call of the same tool with other arguments is one change, not one call less and one more."""
    pairs: list[tuple[SideEffect, SideEffect]] = []
    for effect in list(extra):
        partner = max(
            (one for one in missing if one.name == effect.name), key=lambda one: _likeness(one, effect), default=None
        )
        if partner is not None:
            pairs.append((partner, effect))
            missing.remove(partner)
            extra.remove(effect)
    said = [f"#{effect.number}: `{effect.name}` has other arguments" for _, effect in pairs]
    said += [f"#{effect.number}: `{effect.name}` is new" for effect in extra]
    said += [f"`{effect.name}` is missing" for effect in missing]
    shown, more = said[:3], len(said) - 3
    sentence = f"Other side effects: {'; '.join(shown)}{f'; and {more} more' if more > 0 else ''}.{_guessed(came)}"
    diff = [_pair_diff(before, after) for before, after in pairs]
    diff += [f"- {_line(effect)}" for effect in missing] + [_added_line(effect) for effect in extra]
    events = sorted(EventRef(effect.number, effect.event_id) for effect in [*(after for _, after in pairs), *extra])
    return CheckResult("effects", False, sentence, tuple(events), "\n".join(diff[:_CALLS_SHOWN]))


def _likeness(one: SideEffect, other: SideEffect) -> int:
    """How many arguments two calls of one tool share."""
    if not isinstance(one.args, dict) or not isinstance(other.args, dict):
        return 0
    return sum(key in other.args and other.args[key] == value for key, value in one.args.items())


def _pair_diff(before: SideEffect, after: SideEffect) -> str:
    """One call's arguments before and after, the changed lines with a little around them."""
    told = difflib.unified_diff(_pretty(before.args), _pretty(after.args), lineterm="", n=1)
    lines = [line for line in list(told)[2:] if not line.startswith("@@")]
    if before.returned != after.returned:
        lines.append("+ it never returned" if before.returned else "- it never returned")
    kept = [f"  #{after.number} {after.name}", *(cut(f"{line[:1]} {line[1:]}", _LONGEST_LINE) for line in lines)]
    return "\n".join(kept[:_LINES_PER_CALL])


def _pretty(args: Any) -> list[str]:
    try:
        return json.dumps(args, indent=2, ensure_ascii=False, sort_keys=True, default=str).split("\n")
    except (ValueError, TypeError, RecursionError):
        return [as_json(args)]


def _added_line(effect: SideEffect) -> str:
    return f"+ #{effect.number} {_line(effect)}"


def _line(effect: SideEffect) -> str:
    return cut(effect.signature, _LONGEST_LINE)


def _listed(came: Sequence[SideEffect]) -> str:
    if not came:
        return "none"
    counts = Counter(effect.name for effect in came)
    return ", ".join(f"`{name}`" if count == 1 else f"`{name}` {count} times" for name, count in counts.items())


def _guessed(came: Sequence[SideEffect]) -> str:
    """That a tool's side effects were only guessed from its name, which a person may want to settle."""
    names = dict.fromkeys(effect.name for effect in came if effect.source == "guessed")
    if not names:
        return ""
    return f" That {joined(names)} {'has' if len(names) == 1 else 'have'} side effects is a guess from the name."


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
