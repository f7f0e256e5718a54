"""
What went wrong in a run, in at most three sentences: the cause, what it led to, how it ended.

Only what the log can prove is said. `judge` looks at the counted run and picks the case; the sentences themselves are
in `endings` and `trouble`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from agentdbg.analysis.case import MANY, Case
from agentdbg.analysis.columns import SPAN
from agentdbg.analysis.endings import died_line, guardrail_line, interrupt_line, now_line, raised_line, spent_on
from agentdbg.analysis.outcome import final_answer
from agentdbg.analysis.sentences import code, line, quote, times
from agentdbg.analysis.trouble import failures_in, loop_line, trouble_lines
from agentdbg.analysis.wording import cut, duration

if TYPE_CHECKING:
    from agentdbg.analysis.sentences import Line, VerdictPart
    from agentdbg.analysis.stats import Tally
    from agentdbg.events import RunMeta

__all__ = ["Verdict", "judge"]


class Verdict(TypedDict):
    """What the page shows on top of a run."""

    tone: Literal["ok", "warn", "error", "running"]
    word: Literal["Finished", "Failed", "Interrupted", "Died", "Running"]
    lines: list[Line]


def judge(tally: Tally, run: RunMeta, now_ms: int | None = None) -> Verdict:
    """The verdict on a counted run; `now_ms` (Unix time) is needed only to say how long something has been going on."""
    case = Case(tally, run, now_ms)
    if case.is_live:
        return _running(case)
    if run.get("status") == "error":
        word, lines = _failed(case)
        return {"tone": "error", "word": word, "lines": lines[:3]}
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
        return {"tone": "warn", "word": "Finished", "lines": lines[:3]}
    if answer:
        said = line(None, f"Answered: {answer}")
    elif ending is not None:
        said = ending.line
    elif case.run_ms is not None:
        said = line(None, f"Finished in {duration(case.run_ms)}, nothing failed.")
    else:
        said = line(None, "Finished, nothing failed.")
    return {"tone": "ok", "word": "Finished", "lines": [said]}


def _failed_on_the_way(case: Case, answer: str | None) -> Line:
    group = case.groups[0]
    often = times(group, case.tally.failures_unopened)
    once = " once" if often == "failed" else ""
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
        return {"tone": "error", "word": "Running", "lines": [*trouble_lines(case), now_line(case)][:3]}
    lines = [now_line(case)]
    if case.groups:
        group = case.groups[0]
        often = times(group, case.tally.failures_unopened)
        lines.append(line(group.numbers[0], code(group.name), f" {often} so far: ", quote(group.failure.text)))
    if case.loop is not None:
        lines.append(loop_line(case, case.loop))
    return {"tone": "warn" if len(lines) > 1 else "running", "word": "Running", "lines": lines[:3]}
