"""
A run in half a line, for a list of runs: the cause of a failure, the last answer, or what a live run is doing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentdbg.analysis.case import MANY, Case
from agentdbg.analysis.endings import interrupt_line, now_line
from agentdbg.analysis.memory import MemoryColumns
from agentdbg.analysis.outcome import final_answer
from agentdbg.analysis.sentences import text_of
from agentdbg.analysis.stats import Tally, payload_of
from agentdbg.analysis.wording import cut, one_line, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.events import Event, RunMeta

__all__ = ["headline", "headline_from_tail"]


def headline(tally: Tally, run: RunMeta) -> str | None:
    """The headline of a run that has been counted."""
    return _headline(Case(tally, run, None), whole=True)


def headline_from_tail(run: RunMeta, events: Sequence[Event], *, whole: bool = False) -> str | None:
    """The headline from a run's last events alone, so that a list of runs need not index them all."""
    return _headline(Case(Tally(MemoryColumns(events)).catch_up(), run, None), whole=whole)


def _headline(case: Case, *, whole: bool) -> str | None:
    status = case.run.get("status")
    if status == "ok":
        answer = final_answer(case.tally, 160)
        return answer or (_repeated(case, whole=whole) if case.groups else None)
    if status == "running":
        if case.groups and len(case.groups[0].numbers) >= MANY:
            return _repeated(case, whole=whole)
        return text_of(now_line(case)).removeprefix("Now: ") if case.tally.columns.total else None
    return cut(_headline_of_failure(case, whole=whole), 160)


def _headline_of_failure(case: Case, *, whole: bool) -> str:
    fatal = case.fatal
    if case.died:
        event = case.open_call[1] if case.open_call is not None else None
        inside = payload_of(event).get("name") or event.get("name") if event else None
        return f"process died in {one_line(str(inside), 80)}" if inside else "process died"
    if (interrupt := interrupt_line(case)) is not None:
        return text_of(interrupt).rstrip(".")
    if case.groups and (fatal is None or fatal.guardrail or case.tally.failed_with(fatal.failure)):
        return _repeated(case, whole=whole)
    if fatal is not None and fatal.guardrail:
        limit = fatal.threshold
        return f"stopped by {fatal.guardrail}" + (f" at {tokens(limit)}" if limit and limit >= 10 else "")
    return _raised(case)


def _raised(case: Case) -> str:
    failure = case.ending
    if failure is None:
        return "ended as failed, no error recorded"
    where = f" in {failure.frame.function}" if failure.frame and failure.frame.function != "<module>" else ""
    return f"{failure.text}{where}"


def _repeated(case: Case, *, whole: bool) -> str:
    group = case.groups[0]
    if len(group.numbers) == 1:
        return f"{group.failure.text} in {group.name}"
    return (
        f"{group.name} failed {f'{len(group.numbers):,} times, same error' if whole else 'again and again, same error'}"
    )
