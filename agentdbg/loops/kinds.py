"""Say of what kind a block is that repeats exactly: polling, one call that fails, or a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.loops.blocks import has_period
from agentdbg.loops.ledger import Candidate

if TYPE_CHECKING:
    from agentdbg.loops.steps import Step

__all__ = ["classify", "is_one_failing_call", "streak_of"]


def classify(steps: list[Step], period: int, repetitions: int) -> Candidate:
    """The candidate for a block of `period` steps, of which `steps` are the last rounds."""
    block = steps[:period]
    calls = [step for step in steps if step.kind == "tool"] or [step for step in steps if step.kind == "model"]
    if any(step.polling for step in calls):
        return Candidate("repetition", _smallest(block), steps, repetitions, period=period, polling=True)
    last = calls[-1]
    same = last.kind == "model" or all(step.exact == last.exact for step in calls)
    if same and all(step.failed for step in calls):
        streak = streak_of(last, last.streak)
        return Candidate("error_retry", [last], max(calls, streak, key=len), max(repetitions, last.streak))
    return Candidate("cycle", _smallest(block), steps, repetitions, period=period)


def is_one_failing_call(candidate: Candidate) -> bool:
    """Whether nothing but model calls lies between the failures: such a block would be called error_retry too."""
    calls = candidate.steps
    return candidate.kind == "error_retry" and calls[-1].call_number - calls[0].call_number < len(calls)


def streak_of(step: Step, number: int) -> list[Step]:
    """The last `number` calls of the streak that ends with `step`, oldest first, as far as they are remembered."""
    chain = [step]
    previous = step.previous
    while previous is not None and len(chain) < number:
        chain.append(previous)
        previous = previous.previous
    return chain[::-1]


def _smallest(block: list[Step]) -> list[Step]:
    """The block of names within a block of calls: `a` for `a(1), a(2)`."""
    names = "".join(step.name for step in block)
    for period in range(1, len(block)):
        if len(block) % period == 0 and has_period(names, period):
            return block[:period]
    return block
