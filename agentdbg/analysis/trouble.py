"""
Sentences about what went wrong on the way: calls that failed again and again, and loops with what they cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.analysis.case import MANY, Case
from agentdbg.analysis.sentences import code, cost_of, line, quote, times
from agentdbg.analysis.wording import duration, money, one_line, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.loop_cost import LoopCost
    from agentdbg.analysis.sentences import Line, VerdictPart
    from agentdbg.analysis.stats import FailedCalls

__all__ = ["failures_in", "failures_line", "loop_line", "trouble_lines"]


def trouble_lines(case: Case, *, beside_cause: bool = False) -> list[Line]:
    """What went wrong before the end: the failures behind a loop, and the loop."""
    loop = case.loop
    if loop is None:
        many = case.groups[0] if case.groups and len(case.groups[0].numbers) >= MANY else None
        said = case.ending if beside_cause else None
        if many is None or (said is not None and said.text == many.failure.text):
            return []
        return [failures_line(case, many)]
    group = failures_in(case, loop)
    if group is None:
        return [loop_line(case, loop)]
    return [failures_line(case, group), loop_line(case, loop, beside_failures=True)]


def failures_in(case: Case, loop: LoopCost) -> FailedCalls | None:
    """The failed calls a loop consists of."""
    if loop.kind != "error_retry":
        return None
    inside = [
        (sum(loop.first <= number <= loop.last for number in group.numbers), group)
        for group in case.groups
        if group.name in loop.round_names
    ]
    count, group = max(inside, key=lambda found: found[0], default=(0, None))
    return group if count else None


def failures_line(case: Case, group: FailedCalls) -> Line:
    often = times(group, case.tally.failures_unopened)
    has = "has " if case.is_live else ""
    same = " with the same error" if len(group.numbers) > 1 else ""
    return line(group.numbers[0], code(group.name), f" {has}{often}{same}: ", quote(group.failure.text))


def loop_line(case: Case, loop: LoopCost, *, beside_failures: bool = False) -> Line:
    live = case.is_live
    if live and loop.at_the_end:
        return _live_loop_line(case, loop, beside_failures=beside_failures)
    cost = f" It cost {cost_of(loop, case.run_ms)}."
    explanation = loop.payload.get("explanation")
    if not beside_failures and loop.kind != "cycle" and isinstance(explanation, str) and explanation:
        return line(loop.number, *_with_names(one_line(explanation, 240), loop.round_names), cost)
    return line(loop.number, *_round(loop), ".", cost)


def _live_loop_line(case: Case, loop: LoopCost, *, beside_failures: bool) -> Line:
    stop_is_on = bool((case.run.get("guardrails") or {}).get("stop_on_loop"))
    unstopped: tuple[str | VerdictPart, ...] = (" ", code("stop_on_loop"), " is off, so nothing will stop it.")
    spent = [f"{tokens(loop.tokens)} tokens"] if loop.tokens else []
    if loop.cost_usd:
        spent.append(money(loop.cost_usd))
    so_far = " and ".join(filter(None, (", ".join(spent), duration(loop.milliseconds))))
    began: tuple[str | VerdictPart, ...] = (
        ("Loop, still going",) if beside_failures else (*_round(loop), ", still going")
    )
    return line(loop.number, *began, f": {so_far} so far.", *(() if stop_is_on else unstopped))


def _round(loop: LoopCost) -> tuple[str | VerdictPart, ...]:
    pieces: list[str | VerdictPart] = ["Loop"]
    for position, name in enumerate(loop.round_names[:6]):
        pieces += [" → " if position else ": ", code(name)]
    if loop.same_arguments_since is None:
        pieces.append(" repeated")
    else:
        pieces.append(" was called" if len(loop.round_names) == 1 else " repeated")
        if len(loop.same_arguments_of) < len(set(loop.round_names)):
            pieces.append(", ")
            for position, name in enumerate(loop.same_arguments_of):
                pieces += [" and " if position else "", code(name)]
        pieces.append(f" with the same arguments from #{loop.same_arguments_since} on")
    return tuple(pieces)


def _with_names(explanation: str, names: Sequence[str]) -> list[str | VerdictPart]:
    """A finding's sentence, with the names of the calls it speaks of set as code."""
    explanation = explanation.rstrip(" .") + "."
    for name in names:
        before, found, after = explanation.partition(name)
        if found and name:
            return [before, code(name), after]
    return [explanation]
