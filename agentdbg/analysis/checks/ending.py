"""How the run ended, and what failed on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.analysis.checks.budgets import allowed_amount
from agentdbg.analysis.checks.result import CheckResult, diff_text, numbered
from agentdbg.analysis.wording import count_noun

if TYPE_CHECKING:
    from agentdbg.analysis.baseline import Baseline
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_facts import EventRef, RunFacts

__all__ = ["check_complete", "check_errors", "check_status"]

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
