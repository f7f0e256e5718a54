"""
Sentences about how a run ended, what it is doing now, and what went wrong on the way.

It died, was interrupted, raised an exception or crossed a limit; calls failed again and again, loops cost something.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.analysis.run_columns import CALL_KINDS, LLM, NO_VALUE, payload_of
from agentdbg.analysis.verdict.case import MANY, Case
from agentdbg.analysis.wording import (
    clock_time,
    code,
    cost_of,
    duration,
    grouped,
    line,
    money,
    one_line,
    quote,
    times,
    timestamp_ms,
    tokens,
)
from agentdbg.events.facts import tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.stats import FailedCalls, RecordedError
    from agentdbg.analysis.verdict.case import LoopCost
    from agentdbg.analysis.wording import Line, VerdictPart

__all__ = [
    "died_line",
    "failures_in",
    "failures_line",
    "guardrail_line",
    "interrupt_line",
    "loop_line",
    "now_line",
    "raised_line",
    "spent_on",
    "trouble_lines",
]

_WORTH_SAYING_MS = 2_000
_INTERRUPTS = {"KeyboardInterrupt": "Ctrl-C", "CancelledError": "Cancelled"}


def died_line(case: Case) -> Line:
    columns = case.tally.columns
    if case.open_call is not None:
        number, event = case.open_call
        at = clock_time(event.get("ts"))
        name = code(payload_of(event).get("name") or event.get("name"))
        if number == columns.total:
            return line(
                number,
                "The process ended inside ",
                name,
                f". The start of that call, at {at}, is the last thing it recorded.",
            )
        return line(number, "The process ended inside ", name, f", a call that began at {at}.")
    if not columns.total:
        return line(None, "The process ended before it recorded anything.")
    event = columns.event(columns.total)
    if event["event_type"] == "RUN_START":
        return line(columns.total, "The process ended before it recorded a call.")
    return line(
        columns.total,
        "The process ended without closing the run. The last thing it recorded was ",
        code(event.get("name")),
        f", at {clock_time(event.get('ts'))}.",
    )


def interrupt_line(case: Case) -> Line | None:
    failure = case.ending
    word = _INTERRUPTS.get(failure.error_type.rsplit(".", 1)[-1]) if failure else None
    if word is None or failure is None:
        return None
    during = case.tally.failed_with(failure)
    if during is not None:
        number = during.numbers[-1]
        length = case.tally.columns.duration_ms[number - 1]
        into = f", {duration(length)} into the call." if length < NO_VALUE else "."
        return line(number, f"{word} during ", code(during.name), into)
    if case.open_call is not None:
        number, event = case.open_call
        return line(number, f"{word} during ", code(payload_of(event).get("name") or event.get("name")), ".")
    number = case.fatal.number if case.fatal else case.tally.end or case.tally.columns.total
    before = case.last_call_before(number)
    if before is None:
        return line(number, f"{word} before the first call.")
    return line(number, f"{word} after ", code(before[1]), f" #{before[0]}.")


def raised_line(case: Case) -> Line:
    failure = case.ending
    group = case.tally.failed_with(failure) if failure else None
    if group is not None:
        often = times(group, 0)
        if len(group.numbers) == 1:
            return line(
                group.numbers[0], code(group.name), " raised ", quote(group.failure.text), ", which ended the run."
            )
        return line(
            group.numbers[0],
            code(group.name),
            f" {often}{_with_error(group)}: ",
            quote(group.failure.text),
            ", the last time uncaught.",
        )
    if failure is None:
        if case.groups:
            last = max(case.groups, key=lambda other: other.numbers[-1])
            return line(
                last.numbers[-1],
                "The run ended as failed. Its last failure was ",
                code(last.name),
                ": ",
                quote(last.failure.text),
            )
        return line(case.tally.end, "The run ended as failed, and no error was recorded.")
    number = case.fatal.number if case.fatal else case.tally.end
    pieces: list[str | VerdictPart] = ["The program raised ", quote(failure.text)]
    if failure.error_type == "SystemExit":
        pieces = ["The program ended itself with exit status ", code(failure.message or "0")]
    if failure.frame is not None:
        if failure.frame.function != "<module>":
            pieces += [" in ", code(failure.frame.function), f", {failure.frame.short}"]
        else:
            pieces.append(f" at {failure.frame.short}")
    before = case.last_call_before(number) if number else None
    if before is not None:
        pieces += [", after ", code(before[1]), f" #{before[0]}"]
    return line(number, *pieces, ".")


def guardrail_line(error: RecordedError) -> Line:
    name = error.guardrail
    threshold, actual = error.threshold, error.actual
    if threshold is None:
        return line(error.number, "Stopped by ", code(name), ": ", quote(error.failure.message))
    used = threshold if actual is None else actual
    if name == "stop_on_loop":
        repeated = _repeated(error.failure.message)
        limit = f" repeated {grouped(used)} times (stop_on_loop limit: {grouped(threshold)})."
        return line(error.number, "Stopped: ", *repeated, limit)
    crossed, limit = {
        "max_llm_calls": (f"LLM call {grouped(threshold + 1)}", grouped(threshold)),
        "max_tool_calls": (f"tool call {grouped(threshold + 1)}", grouped(threshold)),
        "max_events": (f"event {grouped(threshold + 1)}", grouped(threshold)),
        "max_tokens": (f"{grouped(used)} tokens", grouped(threshold)),
        "max_cost_usd": (f"a cost of {money(used)}", money(threshold)),
        "max_duration_s": (f"a run time of {duration(used * 1000)}", duration(threshold * 1000)),
    }.get(str(name), (grouped(used), grouped(threshold)))
    return line(error.number, f"Stopped: {crossed} exceeded ", code(f"{name}={limit}"), ".")


def _repeated(message: str) -> tuple[str | VerdictPart, ...]:
    """What the stored message of `stop_on_loop` says was repeated; in other words where it cannot be read."""
    found = re.search(r"exceeded: (.+), \d+ repetitions", message)
    if found is None:
        return ("the same steps",)
    names = [signature.partition(":")[2] or signature for signature in found[1].split(" -> ")]
    return (code(" → ".join(names)),)


def spent_on(case: Case, error: RecordedError) -> list[Line]:
    """What used up the limit, where the log shows it."""
    if case.groups and len(case.groups[0].numbers) >= MANY:
        return [failures_line(case, case.groups[0])]
    if error.guardrail in ("max_tokens", "max_cost_usd", "max_llm_calls"):
        return _prompt_growth(case)
    if error.guardrail == "max_duration_s":
        columns, total = case.tally.columns, case.tally.columns.total
        calls = [at for at in range(total) if columns.kind[at] in CALL_KINDS and columns.duration_ms[at] < NO_VALUE]
        longest = max(calls, key=lambda at: columns.duration_ms[at], default=None)
        if longest is not None:
            name = columns.event(longest + 1)["name"]
            return [line(longest + 1, code(name), f" took {duration(columns.duration_ms[longest])} of it.")]
    return []


def _prompt_growth(case: Case) -> list[Line]:
    tally, columns = case.tally, case.tally.columns
    if tally.largest_llm is None or tally.first_llm is None or tally.last_llm is None:
        return []
    largest = tokens(columns.tokens[tally.largest_llm - 1])
    first = tokens_of(payload_of(columns.event(tally.first_llm))).given
    last = tokens_of(payload_of(columns.event(tally.last_llm))).given
    grown = f"The largest call took {largest} tokens"
    if first and last and last > 1.5 * first and tally.llm_calls > 2:
        grown += f"; the prompt grew from {tokens(first)} to {tokens(last)} over {tally.llm_calls:,} calls"
    return [line(tally.largest_llm, f"{grown}.")]


def now_line(case: Case) -> Line:
    columns = case.tally.columns
    if case.open_call is not None:
        number, event = case.open_call
        payload = payload_of(event)
        began = timestamp_ms(event.get("ts"))
        waited_ms = 0 if case.now_ms is None or began is None else case.now_ms - began
        # A figure that changes all the time is noise; from two seconds on somebody wonders.
        since = f" ({duration(waited_ms)})" if waited_ms >= _WORTH_SAYING_MS else ""
        return line(None, "Waiting for ", code(payload.get("name") or event.get("name")), since)
    before = case.last_call_before(columns.total + 1)
    if before is None:
        return line(None, "Started; no call has been recorded yet")
    number, name = before
    length = columns.duration_ms[number - 1]
    ended = columns.started_ms + columns.start_ms[number - 1] + (0 if length == NO_VALUE else length)
    since_ms = 0 if case.now_ms is None else case.now_ms - ended
    ago = f" {duration(since_ms)} ago" if since_ms >= _WORTH_SAYING_MS else ""
    verb = "answered" if columns.kind[number - 1] == LLM else "returned"
    return line(None, code(name), f" #{number} {verb}{ago}")


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
    alike = _with_error(group) if len(group.numbers) > 1 else ""
    return line(group.numbers[0], code(group.name), f" {has}{often}{alike}: ", quote(group.failure.text))


def _with_error(group: FailedCalls) -> str:
    return " with the same error" if group.is_one_error else ", first with"


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
