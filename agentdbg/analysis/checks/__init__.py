"""
The gate: every check that was asked for, made on one run.

No checks is not a pass: a gate that asks nothing is refused, so that an empty policy cannot let everything through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks.run_limits import check_budgets, check_complete, check_errors, check_status
from agentdbg.analysis.checks.side_effects import check_effects
from agentdbg.analysis.checks.tool_calls import (
    check_answer,
    check_findings,
    check_loops,
    check_must_call,
    check_must_not_call,
    check_new_findings,
    check_order,
    check_tools,
)
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_baseline import Baseline
    from agentdbg.analysis.checks.run_facts import CheckResult, RunFacts

__all__ = ["CHECKS", "NothingToCheck", "Report", "judge"]

CHECKS: tuple[Callable[[RunFacts, Policy, Baseline | None], list[CheckResult]], ...] = (
    check_status,
    check_errors,
    check_loops,
    check_new_findings,
    check_findings,
    check_must_call,
    check_must_not_call,
    check_order,
    check_effects,
    check_answer,
    check_tools,
    check_budgets,
)
"""From what any run should hold to what only a steady agent does."""


class NothingToCheck(UsageError):
    """The policy asks for no check at all."""


@dataclass(frozen=True)
class Report:
    """All results on one run."""

    facts: RunFacts
    results: tuple[CheckResult, ...]
    baseline: Baseline | None = None

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results)

    @property
    def failures(self) -> list[CheckResult]:
        return [result for result in self.results if not result.passed]

    def as_json(self) -> dict[str, Any]:
        """The report as plain JSON."""
        facts = self.facts
        return {
            "spec_version": SPEC_VERSION,
            "passed": self.passed,
            "run": {
                "run_id": facts.run_id,
                "run_name": facts.run_name,
                "status": facts.status,
                "totals": dict(facts.totals),
            },
            "baseline_runs": None if self.baseline is None else [vars(run) for run in self.baseline.runs],
            "checks": [result.as_json() for result in self.results],
        }


def judge(facts: RunFacts, policy: Policy, baseline: Baseline | None = None) -> Report:
    """Make every check that the policy asks for; NothingToCheck when it asks for none."""
    results = tuple(result for check in CHECKS for result in check(facts, policy, baseline))
    if not results:
        raise NothingToCheck(
            "there is nothing to check, and no checks is not a pass; "
            "give a baseline, a rule like max_tokens, or a policy (`agentdbg init` writes one)"
        )
    return Report(facts, (*check_complete(facts, policy), *results), baseline)
