"""
A suite: scenarios, each tried several times, and what the trials say together.

Agents are not steady, so one trial says little: a scenario has a share of trials that passed, an interval in which the
true share most likely lies, and pass^k, how likely k trials in a row all pass. A scenario whose trials disagree is
flaky; whether that is good enough is decided by how many have to pass.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.events import SPEC_VERSION

if TYPE_CHECKING:
    from agentdbg.analysis.checks import Report

__all__ = ["Scenario", "Suite", "Trial", "pass_hat", "wilson"]

_Z = 1.96
"""Of the normal distribution, for an interval that holds in 95 of 100 cases."""


@dataclass(frozen=True)
class Trial:
    """One run of a scenario and the checks made on it, or why there is none."""

    name: str
    report: Report | None = None
    problem: str = ""
    against: str = ""
    """How the run differs from one of the baseline, as Markdown, where that run is at hand."""

    @property
    def passed(self) -> bool:
        return self.report is not None and self.report.passed

    @property
    def reason(self) -> str:
        """Why it did not pass, in one sentence."""
        if self.report is None:
            return self.problem
        return next((f"{result.name}: {result.sentence}" for result in self.report.failures), "")


@dataclass(frozen=True)
class Scenario:
    """All trials of one scenario, and the share of them that has to pass."""

    name: str
    trials: tuple[Trial, ...]
    needed: float = 1.0

    @property
    def passes(self) -> int:
        return sum(trial.passed for trial in self.trials)

    @property
    def passed(self) -> bool:
        return bool(self.trials) and self.passes >= math.ceil(self.needed * len(self.trials) - 1e-9)

    @property
    def is_flaky(self) -> bool:
        return 0 < self.passes < len(self.trials)

    @property
    def state(self) -> str:
        """`passed`, `failed`, or `flaky` where trials disagree, with what that counts as."""
        if not self.is_flaky:
            return "passed" if self.passed else "failed"
        return "flaky, passed" if self.passed else "flaky, failed"

    def odds(self) -> str:
        """`2 of 3 passed (95 %: 21 to 94 %), pass^3 0.00`; nothing but the count for one trial."""
        count = len(self.trials)
        said = f"{self.passes} of {count} passed"
        if count < 2:
            return said
        low, high = wilson(self.passes, count)
        return f"{said} (95 %: {low:.0%} to {high:.0%}), pass^{count} {pass_hat(self.passes, count, count):.2f}"

    def reasons(self) -> list[tuple[str, int]]:
        """Why trials failed, the most frequent reason first."""
        return Counter(trial.reason for trial in self.trials if not trial.passed).most_common()

    def as_json(self) -> dict[str, Any]:
        count = len(self.trials)
        low, high = wilson(self.passes, count)
        return {
            "name": self.name,
            "passed": self.passed,
            "flaky": self.is_flaky,
            "passes": self.passes,
            "trials": count,
            "needed": self.needed,
            "confidence_95": [round(low, 4), round(high, 4)],
            "pass_hat": {str(k): round(pass_hat(self.passes, count, k), 4) for k in range(1, count + 1)},
            "runs": [
                {
                    "name": trial.name,
                    "passed": trial.passed,
                    "problem": trial.problem or None,
                    "report": None if trial.report is None else trial.report.as_json(),
                }
                for trial in self.trials
            ],
        }


@dataclass(frozen=True)
class Suite:
    """All scenarios."""

    name: str
    scenarios: tuple[Scenario, ...]

    @property
    def passed(self) -> bool:
        return all(scenario.passed for scenario in self.scenarios)

    @property
    def failures(self) -> list[Scenario]:
        return [scenario for scenario in self.scenarios if not scenario.passed]

    def as_json(self) -> dict[str, Any]:
        return {
            "spec_version": SPEC_VERSION,
            "suite": self.name,
            "passed": self.passed,
            "scenarios": [scenario.as_json() for scenario in self.scenarios],
        }


def pass_hat(passes: int, trials: int, k: int) -> float:
    """How likely k trials drawn from these all pass: C(passes, k) / C(trials, k)."""
    return math.comb(passes, k) / math.comb(trials, k) if 0 < k <= trials else 0.0


def wilson(passes: int, trials: int) -> tuple[float, float]:
    """The interval in which the true share lies with 95 % confidence, also for few trials and for all or none."""
    if not trials:
        return 0.0, 1.0
    share, square = passes / trials, _Z * _Z
    middle = share + square / (2 * trials)
    half = _Z * math.sqrt((share * (1 - share) + square / (4 * trials)) / trials)
    return max((middle - half) / (1 + square / trials), 0.0), min((middle + half) / (1 + square / trials), 1.0)
