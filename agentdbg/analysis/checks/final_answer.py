"""
The run's answer states the same figures and dates as the baseline's, in whatever words.

On repeated trials most wrong answers of runs that changed nothing wrong outside differ in a figure. An answer that
leaves one out, or gives another one besides, is often right; so two answers only contradict each other if each has one
that the other lacks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.checks.result import CheckResult, diff_text
from agentdbg.analysis.outcome import ANSWER_TOOLS, spoken
from agentdbg.analysis.text_facts import facts_in
from agentdbg.analysis.wording import cut

if TYPE_CHECKING:
    from agentdbg.analysis.baseline import Baseline
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_facts import RunFacts

__all__ = ["AnswerReader", "check_answer"]

_LONGEST = 4_000
_MOST_NAMED = 5
_FIGURE_OR_DATE = re.compile(r"-?\d+(?:\.\d+)?|\d\d-\d\d")


class AnswerReader:
    """Keeps what may be the answer while a run is read: what it returned, what the model said or handed in last."""

    def __init__(self) -> None:
        self._returned: str | None = None
        self._said: str | None = None

    def add(self, event_type: str, name: str, payload: dict[str, Any]) -> None:
        """Take the next event."""
        if event_type == "RUN_END":
            self._returned = spoken(payload.get("result"))
        elif event_type == "LLM_CALL":
            said = conversation.answer(payload.get("response"))
            if said.text.strip() and not said.calls:
                self._said = said.text
        elif event_type == "TOOL_CALL" and name in ANSWER_TOOLS:
            self._said = spoken(payload.get("args")) or spoken(payload.get("result")) or self._said

    def text(self) -> str:
        """The answer so far; empty if there is none."""
        return cut(self._returned or self._said or "", _LONGEST)


def check_answer(facts: RunFacts, policy: Policy, baseline: Baseline | None) -> list[CheckResult]:
    """The answer contradicts that of none of the baseline's runs, or not that of each of them."""
    if policy.answer is None or baseline is None:
        return []
    if not baseline.answers:
        return [CheckResult("answer", False, "The baseline holds no answer, so it cannot be compared: make it anew.")]
    came = _figures(facts.answer)
    found = [(_figures(answer), answer) for answer in baseline.answers]
    if any(came <= figures or figures <= came for figures, _ in found):
        return [CheckResult("answer", True, "The answer contradicts no figure or date of the baseline's.")]
    figures, answer = min(found, key=lambda one: len(came ^ one[0]))
    says, said = _named(came - figures), _named(figures - came)
    lines = diff_text([f"- {' '.join(answer.split())}", f"+ {' '.join(facts.answer.split())}"])
    return [CheckResult("answer", False, f"The answer says {says} where the baseline's says {said}.", (), lines)]


def _figures(text: str) -> frozenset[str]:
    return frozenset(fact for fact in facts_in(text).hard if _FIGURE_OR_DATE.fullmatch(fact))


def _named(figures: frozenset[str]) -> str:
    named = sorted(figures)
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more
