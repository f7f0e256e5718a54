"""
What went wrong in a run, in at most three sentences: the cause, what it led to, how it ended; or in half a line.

Only what the log can prove is said. `judge` looks at the counted run and picks the case; `headline` is the same for a
list of runs. The sentences themselves are in `endings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from agentdbg.analysis.run_answer import final_answer
from agentdbg.analysis.run_columns import SPAN, MemoryColumns, payload_of
from agentdbg.analysis.stats import Tally
from agentdbg.analysis.verdict.case import MANY, Case
from agentdbg.analysis.verdict.endings import (
    died_line,
    failures_in,
    guardrail_line,
    interrupt_line,
    loop_line,
    now_line,
    raised_line,
    spent_on,
    trouble_lines,
)
from agentdbg.analysis.wording import code, cut, duration, line, one_line, quote, text_of, times, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.wording import Line, VerdictPart
    from agentdbg.events import Event, RunMeta

__all__ = ["ANSWERED", "RunState", "Verdict", "headline", "headline_from_tail", "judge"]

ANSWERED = "Answered: "


RunState = Literal["ok", "problems", "failed", "running"]
"""How a run stands; `problems` is one that ended by itself and did not do well, which its `status` does not say."""


class Verdict(TypedDict):
    """What the page shows on top of a run."""

    state: RunState
    tone: Literal["ok", "warn", "error", "running"]
    word: Literal["Finished", "Finished with problems", "Failed", "Interrupted", "Died", "Running"]
    lines: list[Line]


def judge(tally: Tally, run: RunMeta, now_ms: int | None = None) -> Verdict:
    """The verdict on a counted run; `now_ms` (Unix time) is needed only to say how long something has been going on."""
    case = Case(tally, run, now_ms)
    if case.is_live:
        return _running(case)
    if run.get("status") == "error":
        word, lines = _failed(case)
        return {"state": "failed", "tone": "error", "word": word, "lines": lines[:3]}
    return _finished(case)


def _finished(case: Case) -> Verdict:
    answer = final_answer(case.tally)
    lines: list[Line] = []
    if case.groups:
        lines.append(_failed_on_the_way(case, answer))
    elif case.tally.errors:
        error = case.tally.errors[0]
        lines.append(line(error.number, *_ended_well(answer), "an error was recorded: ", quote(error.failure.text)))
    if case.loop is not None:
        # Where the line before has just named the failures, the loop need not repeat them.
        is_said = bool(case.groups) and failures_in(case, case.loop) is case.groups[0]
        lines.append(loop_line(case, case.loop, beside_failures=is_said))
    ending = case.last_word
    if ending is not None and ending.severity == "warning":
        lines.append(ending.line)
    if len(case.groups) > 1:
        lines.append(_other_failures(case))
    if lines:
        return {"state": "ok", "tone": "warn", "word": "Finished", "lines": lines[:3]}
    if answer:
        said = line(None, f"{ANSWERED}{answer}")
    elif ending is not None:
        said = ending.line
    elif case.run_ms is not None:
        said = line(None, f"Finished in {duration(case.run_ms)}, nothing failed.")
    else:
        said = line(None, "Finished, nothing failed.")
    return {"state": "ok", "tone": "ok", "word": "Finished", "lines": [said]}


def _failed_on_the_way(case: Case, answer: str | None) -> Line:
    group = case.groups[0]
    often = times(group, case.tally.failures_unopened)
    once = " once" if often == "failed" else "" if group.is_one_error else ", first with"
    return line(
        group.numbers[0],
        *_ended_well(answer),
        code(group.name),
        f" {often}{once}: ",
        quote(group.failure.text),
    )


def _ended_well(answer: str | None) -> tuple[str | VerdictPart, ...]:
    if answer is None:
        return ("Finished, but ",)
    if len(answer) <= 30:
        return "Finished with the answer ", code(answer), ", but "
    return (f"Finished with the answer “{cut(answer, 80)}”, but ",)


def _other_failures(case: Case) -> Line:
    rest = case.groups[1:]
    count = sum(len(group.numbers) for group in rest)
    first = rest[0]
    if count == 1:
        return line(first.numbers[0], code(first.name), " failed too: ", quote(first.failure.text))
    over = "over " if case.tally.failures_unopened else ""
    failed = "other failures" if any(group.kind == SPAN for group in rest) else "other calls failed"
    return line(
        first.numbers[0],
        f"{over}{count:,} {failed}, among them ".capitalize(),
        code(first.name),
        ": ",
        quote(first.failure.text),
    )


def _failed(case: Case) -> tuple[Literal["Failed", "Interrupted", "Died"], list[Line]]:
    fatal = case.fatal
    if case.died:
        return "Died", [died_line(case), *trouble_lines(case)]
    interrupt = interrupt_line(case)
    if interrupt is not None:
        return "Interrupted", [interrupt, *trouble_lines(case)]
    if fatal is not None and fatal.guardrail:
        stop = guardrail_line(fatal)
        if case.loop is not None:
            return "Failed", [*trouble_lines(case), stop]
        return "Failed", [stop, *spent_on(case, fatal)]
    return "Failed", [raised_line(case), *trouble_lines(case, beside_cause=True)]


def _running(case: Case) -> Verdict:
    in_a_loop = case.loop is not None and case.loop.at_the_end
    failing = bool(case.groups) and len(case.groups[0].numbers) >= MANY
    if in_a_loop or failing:
        return {
            "state": "running",
            "tone": "error",
            "word": "Running",
            "lines": [*trouble_lines(case), now_line(case)][:3],
        }
    lines = [now_line(case)]
    if case.groups:
        group = case.groups[0]
        often = times(group, case.tally.failures_unopened)
        lines.append(line(group.numbers[0], code(group.name), f" {often} so far: ", quote(group.failure.text)))
    if case.loop is not None:
        lines.append(loop_line(case, case.loop))
    return {"state": "running", "tone": "warn" if len(lines) > 1 else "running", "word": "Running", "lines": lines[:3]}


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
    often = f"{len(group.numbers):,} times" if whole else "again and again"
    return f"{group.name} failed {often}, {'same' if group.is_one_error else 'similar'} error"
