"""What the run shows besides its events: loops, and other findings that must not be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.analysis.baseline import loop_key
from agentdbg.analysis.checks.result import CheckResult, diff_text, joined
from agentdbg.analysis.checks.run_facts import EventRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.baseline import Baseline
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_facts import RunFacts
    from agentdbg.analysis.findings import Finding

__all__ = ["check_findings", "check_loops"]


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


def check_findings(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:  # noqa: ARG001
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
    events = tuple(EventRef(number, facts.event_ids.get(number, "")) for number in numbers if number is not None)
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
