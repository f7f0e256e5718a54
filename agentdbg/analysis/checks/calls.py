"""Which tools were called: those that have to be, those that must not be, in what order, and no others."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from agentdbg.analysis.checks.result import CheckResult, diff_text, joined, numbered, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.analysis.baseline import Baseline
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_facts import RunFacts, ToolCall

__all__ = ["check_must_call", "check_must_not_call", "check_order", "check_tools"]


def check_must_call(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:  # noqa: ARG001
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


def check_must_not_call(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:  # noqa: ARG001
    """None of the named tools was called, not even in vain."""
    if not policy.must_not_call:
        return []
    wrong = [call for call in facts.calls if _matches(call.name, policy.must_not_call)]
    if not wrong:
        names = joined(policy.must_not_call)
        return [CheckResult("must_not_call", True, f"{names} {_were(policy.must_not_call)} not called.")]
    return [_unwanted("must_not_call", wrong, "must not be called")]


def check_order(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:  # noqa: ARG001
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
                came = " -> ".join(one.name for one in facts.calls if _matches(one.name, policy.order))
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
        wrong = [call for call in facts.calls if not _matches(call.name, policy.tools)]
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


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _were(names: tuple[str, ...]) -> str:
    return "was" if len(names) == 1 else "were"
