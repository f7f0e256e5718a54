"""
The same things were changed outside the agent: the calls with side effects, with their arguments, in any order.

On repeated trials of one agent this is what tells good runs from bad ones: wording, reads and counts differ between
good runs all the time, what they leave behind does not. A call of a tool that nobody knows has to be one that the
baseline's runs made too, for it may be the one that matters; the way out is a line of the policy, complete, so that it
can be copied.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks.run_facts import CheckResult, EventRef, diff_text, joined, numbered, quoted
from agentdbg.analysis.diff.effect_changes import EffectChanges, compare_effects
from agentdbg.analysis.wording import as_json
from agentdbg.events import TRUNCATED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_baseline import Baseline
    from agentdbg.analysis.checks.run_facts import RunFacts
    from agentdbg.analysis.diff.changes import Change
    from agentdbg.analysis.diff.effect_changes import CallChanges, ChangedEffect
    from agentdbg.analysis.effects import SideEffect

__all__ = ["check_effects", "not_in_baseline", "policy_line", "policy_stub", "what_to_add", "without_retries"]

_SAID = 3
_LISTED = 12


def check_effects(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """The run's side effects are those of a run of the baseline, or there are none where none may be."""
    if policy.effects is None:
        return []
    came = [_kept(effect, policy.ignore_args) for effect in facts.effects]
    unknown = [_kept(call, policy.ignore_args) for call in facts.unknown_calls]
    if policy.effects == "none":
        return [_check_none(came, unknown, policy)]
    changes = _nearest(came, unknown, facts.refused, baseline, policy.ignore_args)
    if _holds(changes):
        return [_same(came, changes)]
    return [_differing(changes, baseline, policy)]


def _holds(changes: EffectChanges) -> bool:
    """Whether nothing was done that is not known to be right. A call less of a tool that nobody knows is no harm."""
    return changes.known.are_same and not changes.unknown.changed and not changes.unknown.only_b


def _same(came: Sequence[SideEffect], changes: EffectChanges) -> CheckResult:
    unknown = changes.unknown_tools
    listed = _listed(came) if came or not unknown else "none known"
    doubts = f" Side effects unknown: {joined(unknown)}, called as in the baseline." if unknown else ""
    doubts = _guessed(changes.guessed_tools) + doubts + _cut_short(came)
    return CheckResult("effects", True, f"The same side effects as in the baseline: {listed}.{doubts}")


def _check_none(came: Sequence[SideEffect], unknown: Sequence[SideEffect], policy: Policy) -> CheckResult:
    if not came and not unknown:
        return CheckResult("effects", True, "No side effects.")
    changes = compare_effects((), (*came, *unknown))
    said = []
    if came:
        names = joined(dict.fromkeys(effect.name for effect in came))
        said.append(f"{names} changed something{numbered(_refs(came))}.{_guessed(changes.guessed_tools)}")
    if unknown:
        names, were = joined(changes.unknown_tools), "was" if len(changes.unknown_tools) == 1 else "were"
        said.append(f"Side effects unknown: {names} {were} called{numbered(_refs(unknown))}.")
        said.append(what_to_add(changes.unknown_tools, policy))
    return CheckResult("effects", False, " ".join(said), _refs((*came, *unknown)), _diff(changes))


def _nearest(
    came: Sequence[SideEffect],
    unknown: Sequence[SideEffect],
    refused: Sequence[SideEffect],
    baseline: Baseline | None,
    ignored: Sequence[str],
) -> EffectChanges:
    """How the run differs from the variant of the baseline that it comes closest to."""
    variants = () if baseline is None else baseline.effects
    known_calls = () if baseline is None else [_kept(call, ignored) for call in baseline.unknown_calls]
    all_came = (*came, *without_retries(unknown, known_calls))
    not_done = [_kept(call, ignored) for call in refused]
    found = (
        compare_effects([*(_kept(call, ignored) for call in variant.calls), *known_calls], all_came, (), not_done)
        for variant in variants
    )
    return min(found, key=_distance, default=compare_effects((), all_came))


def _distance(changes: EffectChanges) -> int:
    return changes.known.count + len(changes.unknown.changed) + len(changes.unknown.only_b)


def _differing(changes: EffectChanges, baseline: Baseline | None, policy: Policy) -> CheckResult:
    known, unknown = changes.known, changes.unknown
    said = []
    if not known.are_same:
        missing = [f"{quoted(effect.name)} is missing" for effect in known.only_a]
        said.append(f"Other side effects: {_few([*_new(known), *missing])}.{_made_under_other_rules(known, baseline)}")
        if changes.guessed_tools:
            said.append(_guessed(changes.guessed_tools).strip())
    if unknown.changed or unknown.only_b:
        tools = dict.fromkeys(call.name for call in (*(pair.b for pair in unknown.changed), *unknown.only_b))
        said.append(f"Side effects unknown: {_few(_new(unknown))}.{not_in_baseline(tools, baseline)}")
        said.append(what_to_add(tools, policy))
    wrong = [call for part in (known, unknown) for call in (*(pair.b for pair in part.changed), *part.only_b)]
    return CheckResult("effects", False, " ".join(said), _refs(wrong), _diff(changes))


def _new(calls: CallChanges) -> list[str]:
    """What the run did and the baseline did not."""
    said = [f"#{effect.b.number}: {quoted(effect.b.name)} {_how(effect)}" for effect in calls.changed]
    return [*said, *(f"#{effect.number}: {quoted(effect.name)} {_how_new(effect)}" for effect in calls.only_b)]


def _how_new(effect: SideEffect) -> str:
    if not effect.repeated_by:
        return "is new"
    return f"may have been done twice: it {_ended(effect)}, and #{effect.repeated_by} repeats it"


def _ended(effect: SideEffect) -> str:
    return f"ended with {effect.failure}" if effect.failure else "never returned"


def _few(said: Sequence[str]) -> str:
    more = f"; and {len(said) - _SAID} more" if len(said) > _SAID else ""
    return f"{'; '.join(said[:_SAID])}{more}"


def _made_under_other_rules(known: CallChanges, baseline: Baseline | None) -> str:
    """That a new effect may be no news: the baseline's runs called the tool too, and it counted as a read then."""
    if baseline is None:
        return ""
    counted = {call.name for variant in baseline.effects for call in variant.calls}
    names = dict.fromkeys(effect.name for effect in known.only_b)
    read = [name for name in names if any(baseline.tools.get(name, ())) and name not in counted]
    return f" The baseline's runs called {joined(read)} too, not as a side effect: make it anew?" if read else ""


def _how(effect: ChangedEffect) -> str:
    """What is different about a call of the same tool."""
    paths = [change.path for change in effect.changes]
    if paths == ["returned"]:
        return "never returned" if effect.a.returned else "returned, which the baseline's never did"
    if paths != ["outcome"]:
        return "has other arguments"
    if effect.b.outcome == "unknown":
        return f"may not have been done: it {_ended(effect.b)}"
    return "was refused" if effect.b.outcome == "refused" else "was done, and nobody knows it of the baseline's"


def _diff(changes: EffectChanges) -> str:
    known, unknown = changes.known, changes.unknown
    lines = [line for effect in (*known.changed, *unknown.changed) for line in _changed_lines(effect)]
    lines += [f"- {effect.signature}" for effect in known.only_a]
    lines += [f"+ #{effect.number} {effect.signature}" for effect in (*known.only_b, *unknown.only_b)]
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


_MOST_ADDED = 12
_PLAIN = re.compile(r"(?!(?:true|false|null)$)[A-Za-z_][\w./*-]*", re.ASCII | re.IGNORECASE)
_NOT_IN_A_LIST = re.compile(r"^\s|\s$|[,`\x00-\x1f\x7f-\x9f]")
_MEANS_MORE = re.compile(r"[*?\[]")


def without_retries(calls: Sequence[SideEffect], accepted: Iterable[SideEffect]) -> list[SideEffect]:
    """The calls without those that failed and were made again, here or in the baseline's runs: a retry is no news."""
    made = {call.signature for call in (*accepted, *(call for call in calls if call.outcome == "done"))}
    return [call for call in calls if call.outcome == "done" or call.signature not in made]


def not_in_baseline(tools: Iterable[str], baseline: Baseline | None) -> str:
    """That the baseline cannot tell: it was made by an older version, or when the tool counted as a read."""
    if baseline is None:
        return ""
    kept = {call.name for call in baseline.unknown_calls}
    kept.update(call.name for variant in baseline.effects for call in variant.calls)
    lost = [name for name in tools if any(baseline.tools.get(name, ())) and name not in kept]
    return f" The baseline does not say with what its runs called {joined(lost)}: make it anew." if lost else ""


def what_to_add(tools: Collection[str], policy: Policy) -> str:
    """The line that settles it, for whoever knows what the tools do."""
    one = len(tools) == 1
    writes, reads = policy_stub(list(tools)[:_MOST_ADDED], policy)
    return (
        f"If {'it changes' if one else 'they change'} nothing, put `{reads}` into the policy "
        f"(.agentdbg/policy.yaml); if {'it does' if one else 'they do'}, `{writes}`."
    )


def policy_stub(tools: Iterable[str], policy: Policy) -> tuple[str, str]:
    """The two lines of the policy, for writes and for reads, each with all of the tools: one is too many in each."""
    names = list(tools)
    writes = policy_line("write_tools", policy.write_tools, names)
    return writes, policy_line("read_tools", policy.read_tools, names)


def policy_line(rule: str, patterns: Iterable[str], names: Iterable[str]) -> str:
    """A rule as it stands in the policy, with what it has and more tools: `read_tools: [get_*, 'odd name']`."""
    return f"{rule}: [{', '.join(_in_yaml(item) for item in (*patterns, *map(_as_pattern, names)))}]"


def _as_pattern(name: str) -> str:
    """The pattern that means this tool alone; what cannot stand in a list, such as a comma, is any character."""
    return _NOT_IN_A_LIST.sub("?", _MEANS_MORE.sub(r"[\g<0>]", name))


def _in_yaml(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"
