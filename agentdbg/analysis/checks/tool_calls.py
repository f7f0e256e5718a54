"""
Which tools were called and which must not be, and what the run shows besides: loops, other findings, its answer.

The answer has to state the same figures and dates as the baseline's, in whatever words. On repeated trials most wrong
answers of runs that changed nothing wrong outside differ in a figure. An answer that leaves one out, or gives another
one besides, is often right; so two answers only contradict each other if each has one that the other lacks.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from agentdbg.analysis.checks.run_baseline import loop_key
from agentdbg.analysis.checks.run_facts import CheckResult, EventRef, diff_text, joined, numbered, quoted
from agentdbg.analysis.effects import matches_any
from agentdbg.analysis.text_facts import TextFacts, facts_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_baseline import Baseline
    from agentdbg.analysis.checks.run_facts import RunFacts, ToolCall
    from agentdbg.analysis.findings import Finding

__all__ = [
    "check_answer",
    "check_findings",
    "check_loops",
    "check_must_call",
    "check_must_not_call",
    "check_new_findings",
    "check_order",
    "check_tools",
]

_MOST_FIGURES = 5
_TIME = re.compile(r"\d\d:\d\d")
_FIGURE_OR_DATE = re.compile(r"-?\d+(?:\.\d+)*|\d\d-\d\d")
_ANSWER_ID = re.compile(r"(?!\d+-[A-Z]+$)(?=[^\s]*\d)(?=[^\s]*[A-Z])[A-Z0-9_-]+|\[.*\]")
_ADDRESS = re.compile(r"[^\s/]+@[^\s/]+\.[^\s/]+")
_ENOUGH = 2


def check_must_call(facts: RunFacts, policy: Policy, _baseline: Baseline | None) -> list[CheckResult]:
    """Each named tool was called and succeeded at least once."""
    if not policy.must_call:
        return []
    said, events = [], []
    for pattern in policy.must_call:
        calls = [call for call in facts.calls if fnmatchcase(call.name, pattern)]
        if any(call.returned and not call.failed for call in calls):
            continue
        events += [call.event for call in calls]
        how = f"was called, but never succeeded{numbered(call.event for call in calls)}" if calls else "was not called"
        said.append(f"{quoted(pattern)} {how}")
    if not said:
        return [CheckResult("must_call", True, f"{joined(policy.must_call)} {_were(policy.must_call)} called.")]
    called = ", ".join(f"{name} ({count})" for name, count in facts.call_counts().items()) or "none"
    diff = diff_text([*(f"- {one.replace('`', '')}" for one in said), f"  tools called: {called}"])
    return [CheckResult("must_call", False, f"{'; '.join(said)}.", tuple(events), diff)]


def check_must_not_call(facts: RunFacts, policy: Policy, _baseline: Baseline | None) -> list[CheckResult]:
    """None of the named tools was called, not even in vain."""
    if not policy.must_not_call:
        return []
    wrong = [call for call in facts.calls if matches_any(call.name, policy.must_not_call)]
    if not wrong:
        names = joined(policy.must_not_call)
        return [CheckResult("must_not_call", True, f"{names} {_were(policy.must_not_call)} not called.")]
    return [_unwanted("must_not_call", wrong, "must not be called")]


def check_order(facts: RunFacts, policy: Policy, _baseline: Baseline | None) -> list[CheckResult]:
    """No tool of the list was called before all those that stand before it."""
    if not policy.order:
        return []
    seen: set[str] = set()
    for call in facts.calls:
        for position, pattern in enumerate(policy.order):
            if not fnmatchcase(call.name, pattern):
                continue
            missing = [before for before in policy.order[:position] if before not in seen]
            if missing:
                sentence = f"#{call.event.number}: {quoted(call.name)} was called before {joined(missing)}."
                came = " -> ".join(one.name for one in facts.calls if matches_any(one.name, policy.order))
                diff = diff_text([f"- {' -> '.join(policy.order)}", f"+ {came}"])
                return [CheckResult("order", False, sentence, (call.event,), diff)]
            seen.add(pattern)
    return [CheckResult("order", True, f"{joined(policy.order)} came in this order, as far as they were called.")]


def check_tools(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """No tool was called that is not allowed."""
    if policy.tools is None:
        return []
    if policy.tools == "baseline":
        # Names and no patterns: one run's tool called `*` must not allow every other.
        known = () if baseline is None else baseline.tools
        wrong = [call for call in facts.calls if call.name not in known]
    else:
        wrong = [call for call in facts.calls if not matches_any(call.name, policy.tools)]
    if not wrong:
        return [CheckResult("tools", True, "No tool was called that is not allowed.")]
    return [_unwanted("tools", wrong, "is not allowed")]


def _unwanted(check: str, wrong: list[ToolCall], why: str) -> CheckResult:
    events = tuple(call.event for call in wrong)
    first = wrong[0]
    first_of = {call.name: call for call in reversed(wrong)}
    names = list(dict.fromkeys(call.name for call in wrong))
    sentence = f"#{first.event.number}: {quoted(first.name)} {why}."
    if len(wrong) > 1:
        sentence = f"{joined(names)} {why.replace('is not', 'are not') if len(names) > 1 else why}{numbered(events)}."
    diff = diff_text([f"+ #{first_of[name].event.number} {name}" for name in names])
    return CheckResult(check, False, sentence, events, diff)


def _were(names: tuple[str, ...]) -> str:
    return "was" if len(names) == 1 else "were"


def check_loops(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """The agent does not go round in circles, or only where the baseline's runs did."""
    if policy.loops is None:
        return []
    known = set(baseline.loops) if baseline is not None and policy.loops == "baseline" else set()
    new = [finding for finding in facts.loops if loop_key(finding.figures) not in known]
    if not new:
        accepted = len(facts.loops)
        said = "No loop." if not accepted else "No loop that the baseline does not have."
        return [CheckResult("loops", True, said)]
    return [_failed("loops", new, facts)]


def check_new_findings(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """Nothing of warning or worse was found besides loops, or only what the baseline's runs had."""
    if policy.findings is None:
        return []
    known = set(baseline.findings) if baseline is not None and policy.findings == "baseline" else set()
    concerns = facts.concerns()
    if baseline is not None and baseline.answers and all(baseline.answers) and policy.findings == "baseline":
        concerns += facts.unanswered()
    # What came of a write or of an unknown tool is told once, among the effects.
    told = _told_by_effects(facts, baseline) if policy.effects == "baseline" else frozenset()
    new = [concern for concern in concerns if concern.key not in known and concern.event not in told]
    if not new:
        said = "Nothing of warning or worse was found." if not concerns else "Nothing new was found."
        return [CheckResult("findings", True, said)]
    more = f" And {len(new) - 1} more." if len(new) > 1 else ""
    lines = [f"+ {_at(concern.event)}{concern.kind}: {concern.sentence}" for concern in new]
    said = f"{_at(new[0].event, ': ')}{new[0].sentence}{more}"
    return [CheckResult("findings", False, said, tuple(one.event for one in new if one.event.number), diff_text(lines))]


def _told_by_effects(facts: RunFacts, baseline: Baseline | None) -> frozenset[EventRef]:
    done = set() if baseline is None else {call.name for variant in baseline.effects for call in variant.calls}
    # An unknown call that the baseline's runs made too passes there, so a failure of it is told here.
    known = set() if baseline is None else {call.signature for call in baseline.unknown_calls}
    unknown = (call for call in facts.unknown_calls if call.signature not in known)
    calls = [*unknown, *facts.effects, *(call for call in facts.refused if call.name in done)]
    return frozenset(EventRef(call.number, call.event_id) for call in calls)


def _at(event: EventRef, after: str = " ") -> str:
    return f"#{event.number}{after}" if event.number else ""


def check_findings(facts: RunFacts, policy: Policy, _baseline: Baseline | None) -> list[CheckResult]:
    """None of the named kinds of findings is there."""
    if not policy.must_not_find:
        return []
    found = [finding for finding in facts.findings if finding.kind in policy.must_not_find]
    if not found:
        return [CheckResult("must_not_find", True, f"Nothing was found of {joined(policy.must_not_find)}.")]
    return [_failed("must_not_find", found, facts)]


def _failed(name: str, found: Sequence[Finding], facts: RunFacts) -> CheckResult:
    """The worst finding as the sentence, all of them as what came, with what repeats where it is a loop."""
    numbers = [finding.number for finding in found]
    events = tuple(
        EventRef(number, facts.found_at.get(number, ("", ""))[0]) for number in numbers if number is not None
    )
    said = [f"{'' if finding.number is None else f'#{finding.number}: '}{finding.sentence}" for finding in found]
    return CheckResult(name, False, said[0], events, diff_text([f"+ {_came(finding)}" for finding in found]))


def _came(finding: Finding) -> str:
    """`critical cycle: TOOL_CALL:search, 3 times`; a finding that is no loop in its own words."""
    where = "" if finding.number is None else f"#{finding.number} "
    if finding.kind != "loop":
        return f"{where}{finding.severity} {finding.kind}: {finding.sentence}"
    kind, pattern = loop_key(finding.figures)
    times = finding.figures.get("repetitions")
    return f"{where}{finding.severity} {kind}: {pattern}{f', {times} times' if times else ''}"


def check_answer(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """The answer contradicts that of none of the baseline's runs, or not that of each of them."""
    if policy.answer is None or baseline is None:
        return []
    if not any(baseline.answers):
        return [CheckResult("answer", False, "The baseline holds no answer, so it cannot be compared: make it anew.")]
    if not facts.answer and all(baseline.answers):
        return [CheckResult("answer", False, "The run has no answer, and the baseline has one.")]
    came = facts_in(facts.portable_answer)
    found = [(facts_in(answer), answer) for answer in baseline.answers]
    if any(not _contradiction(came, was) for was, _ in found):
        return [CheckResult("answer", True, "The answer contradicts no figure, date or id of the baseline's.")]
    was, answer = min(found, key=lambda one: len(came.numbers_and_ids ^ one[0].numbers_and_ids))
    lines = diff_text([f"- {' '.join(answer.split())}", f"+ {' '.join(facts.answer.split())}"])
    return [CheckResult("answer", False, _contradiction(came, was), (), lines)]


def _contradiction(came: TextFacts, was: TextFacts) -> str:
    """How two answers contradict each other, by their figures and dates or by their ids; empty if they do not."""
    both = came.numbers_and_ids, was.numbers_and_ids
    for is_kind in (_FIGURE_OR_DATE.fullmatch, _TIME.fullmatch, _ANSWER_ID.fullmatch, _ADDRESS.fullmatch):
        now, before = (frozenset(fact for fact in facts if is_kind(fact)) for facts in both)
        if not (now <= before or before <= now):
            return f"The answer says {_named(now - before)} where the baseline's says {_named(before - now)}."
    # With nothing else to hold on to, "cannot" may be part of any friendly sentence.
    if (came.hard ^ was.hard) != {"no"} or len(came.hard & was.hard) < _ENOUGH:
        return ""
    return f"The {'baseline' if 'no' in was.hard else 'run'} answers with a refusal, and the other with none."


def _named(figures: frozenset[str]) -> str:
    named = sorted(figures)
    more = f" and {len(named) - _MOST_FIGURES} more" if len(named) > _MOST_FIGURES else ""
    return ", ".join(named[:_MOST_FIGURES]) + more
