"""
How the run ended, what failed on the way, and what it spent, against a hard cap or what the baseline's runs needed.

Good runs of one agent differ: in a third of all pairs one makes over half as many calls again as the other. So a
baseline allows its largest run and a tolerance on top of it, and only what a person has to see is over that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis.checks.run_facts import CheckResult, diff_text, numbered, quoted
from agentdbg.analysis.wording import count_noun, duration, grouped, money

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentdbg.analysis.checks.policy import Amount, Policy
    from agentdbg.analysis.checks.run_baseline import Baseline
    from agentdbg.analysis.checks.run_facts import CallSpent, EventRef, RunFacts

__all__ = ["allowed_amount", "check_budgets", "check_complete", "check_errors", "check_status"]


class _Budget(NamedTuple):
    rule: str
    total: str
    what: str
    noun: str
    spent_by: Callable[[CallSpent], float | None]
    shown: Callable[[float], str] = grouped
    unit: float = 1
    """How much of the total one of the rule's units is: a rule counts seconds, a total milliseconds."""


_BUDGETS = (
    _Budget("max_steps", "steps", "steps", " steps", lambda _: 1),
    _Budget("max_llm_calls", "llm_calls", "model calls", " model calls", lambda step: step.is_llm),
    _Budget("max_tool_calls", "tool_calls", "tool calls", " tool calls", lambda step: not step.is_llm),
    _Budget("max_tokens", "total_tokens", "tokens", " tokens", lambda step: step.tokens),
    _Budget("max_cost_usd", "cost_usd", "what it cost", "", lambda step: step.cost_usd, money),
    _Budget("max_duration_s", "duration_ms", "how long it took", "", lambda _: 0, duration, 1000),
)


def check_budgets(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """Every budget that was asked for."""
    results = []
    for budget in _BUDGETS:
        asked: Any = getattr(policy, budget.rule)
        known = [] if baseline is None else baseline.known_totals(budget.total)
        # A baseline whose runs did not record something asks nothing about it by itself.
        if asked is None or (not known and budget.rule in policy.by_default):
            continue
        allowed = allowed_amount(asked, known, policy.tolerance, budget.unit)
        spent = facts.spent(budget.total)
        if allowed is None:
            said = f"The baseline's runs did not record {budget.what}, so nothing is known to compare with."
            results.append(CheckResult(budget.rule, False, said))
        elif spent is None:
            said = f"The run did not record {budget.what}, so the budget cannot be checked."
            results.append(CheckResult(budget.rule, False, said))
        elif spent <= allowed:
            said = f"{budget.shown(spent)}{budget.noun}, {_whole(budget, allowed)} allowed{_silent(budget, facts)}."
            results.append(CheckResult(budget.rule, True, said))
        else:
            results.append(_overspent(budget, facts, allowed, spent, known if asked == "baseline" else (), baseline))
    return results


def allowed_amount(asked: Amount, known: Sequence[float], tolerance: float, unit: float = 1) -> float | None:
    """The most that may be spent; None where the baseline's runs do not say."""
    if asked != "baseline":
        return asked * unit
    return max(known) * (1 + tolerance) if known else None


def _overspent(
    budget: _Budget,
    facts: RunFacts,
    allowed: float,
    spent: float,
    known: Sequence[float],
    baseline: Baseline | None,
) -> CheckResult:
    shown, limit = _told_apart(budget, spent, allowed)
    said = f"{shown}{budget.noun}, {limit} allowed{_silent(budget, facts)}"
    if known:
        least, most = budget.shown(min(known)), budget.shown(max(known))
        needed = most if least == most else f"{least} to {most}"
        said += f": the baseline's {count_noun(len(known), 'run')} needed {needed}"
    crossing = _crossing(budget, facts.steps, allowed)
    longest = max(facts.steps, key=lambda step: step.duration_ms, default=None)
    if crossing is not None:
        said += f"; #{crossing.number} went over it"
    elif longest is not None and longest.duration_ms and budget.shown is duration:
        crossing = longest.event
        said += f"; the longest call was #{crossing.number}, {quoted(longest.name)}, {duration(longest.duration_ms)}"
    diff = [f"- {budget.total} {limit}", f"+ {budget.total} {shown}"]
    if baseline is not None:
        diff += _more_calls(facts, baseline)
    return CheckResult(budget.rule, False, f"{said}.", () if crossing is None else (crossing,), diff_text(diff))


def _silent(budget: _Budget, facts: RunFacts) -> str:
    """That the sum is not all of it: some calls did not say what they spent."""
    silent = sum(budget.spent_by(step) is None for step in facts.steps)
    return f" ({count_noun(silent, 'model call')} did not say)" if silent else ""


def _told_apart(budget: _Budget, spent: float, allowed: float) -> tuple[str, str]:
    """Both as they are said; with every digit where rounding has made them one, as of `$0.01, $0.01 allowed`."""
    shown, limit = budget.shown(spent), _whole(budget, allowed)
    if shown != limit:
        return shown, limit
    if budget.shown is money:
        return f"${spent:,.6f}", f"${allowed:,.6f}"
    return f"{grouped(spent)} ms", f"{grouped(allowed)} ms"


def _whole(budget: _Budget, allowed: float) -> str:
    """A limit as it is said: what the tolerance made of a count has fractions that nobody wants to see."""
    return budget.shown(float(int(allowed)) if budget.shown is grouped else allowed)


def _crossing(budget: _Budget, steps: Sequence[CallSpent], allowed: float) -> EventRef | None:
    """The call that went over the budget."""
    sum_so_far = 0.0
    for step in steps:
        sum_so_far += budget.spent_by(step) or 0
        if sum_so_far > allowed:
            return step.event
    return None


def _more_calls(facts: RunFacts, baseline: Baseline) -> list[str]:
    """What was called more often than in any run of the baseline: that is where the money went."""
    counts = {"model calls": (baseline.known_totals("llm_calls"), int(facts.totals.get("llm_calls") or 0))}
    counts |= {name: (list(baseline.tools.get(name, ())), count) for name, count in facts.call_counts().items()}
    most = {name: (max(known, default=0), count) for name, (known, count) in counts.items()}
    return [f"  {name}: {before:g} -> {count}" for name, (before, count) in most.items() if count > before]


_ERRORS_SHOWN = 5


def check_complete(facts: RunFacts, policy: Policy) -> list[CheckResult]:
    """Says so when the log is not the whole run, whatever was asked: what is not in it nobody can vouch for."""
    said = facts.gaps()
    if facts.status == "running" and policy.status is None:
        said.append("The run is still being recorded, and what it will do yet nobody knows.")
    return [CheckResult("complete", False, " ".join(said))] if said else []


def check_status(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """The run ended, and ended as it should."""
    if policy.status is None:
        return []
    expected = {policy.status}
    if policy.status == "baseline":
        expected = set() if baseline is None else set(baseline.statuses)
    if facts.status in expected:
        said = "The run ended ok." if facts.status == "ok" else "The run ended with an error, as expected."
        return [CheckResult("status", True, said)]
    event = _ending_event(facts)
    diff = diff_text([f"- status {' or '.join(sorted(expected))}", f"+ status {facts.status}"])
    return [CheckResult("status", False, _unexpected(facts, event), () if event is None else (event,), diff)]


def _unexpected(facts: RunFacts, event: EventRef | None) -> str:
    if facts.status == "running":
        return "The run is still being recorded."
    where = "" if event is None else f"#{event.number}: "
    if facts.status == "ok":
        return f"{where}The run ended ok, but was expected to fail."
    if facts.ending and not facts.has_end:
        return f"{where}{facts.ending}"
    return f"{where}The run ended with an error{f': {facts.ending}' if facts.ending else '.'}"


def _ending_event(facts: RunFacts) -> EventRef | None:
    """The error that ended the run, where it was recorded by itself, else the last event."""
    fatal = (failed.event for failed in reversed(facts.errors) if failed.text == facts.ending)
    return next(fatal, facts.last_event)


def check_errors(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """Not more errors than allowed; what the baseline's runs had is allowed."""
    if policy.max_errors is None:
        return []
    known = [] if baseline is None else baseline.known_totals("errors")
    allowed = allowed_amount(policy.max_errors, known, tolerance=0)
    count = len(facts.errors)
    if allowed is None:
        said = "The baseline's runs did not record their errors, so nothing is known to compare with."
        return [CheckResult("max_errors", False, said)]
    passed = count <= allowed
    most = "" if not allowed else f", at most {allowed:g} allowed" if not passed else f" of {allowed:g} allowed"
    events = () if passed else tuple(failed.event for failed in facts.errors)
    shown = [f"+ #{failed.event.number} {failed.said}" for failed in facts.errors[:_ERRORS_SHOWN]]
    sentence = f"{count_noun(count, 'error') if count else 'No errors'}{most}{numbered(events)}."
    return [CheckResult("max_errors", passed, sentence, events, "" if passed else "\n".join(shown))]
