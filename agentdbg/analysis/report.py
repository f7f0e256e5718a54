"""
A run in short: the summary that stands above its rows, and a Markdown report to paste to an assistant.

The report says what was asked, what went wrong, the evidence and the place, in at most about six kilobytes whatever the
run: every part is cut, and what is left out is said to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.families import relation
from agentdbg.analysis.rows import RowBuilder, row_sentence
from agentdbg.analysis.run_answer import final_answer, first_request
from agentdbg.analysis.run_columns import CALL_START, ERROR, EXCEPTION, LLM, LOOP, SEVERITIES, SPAN, TOOL, payload_of
from agentdbg.analysis.stats import Figures, Tally, figures
from agentdbg.analysis.verdict import Verdict, judge
from agentdbg.analysis.wording import as_json, count_noun, cut, duration, money, one_line, tokens
from agentdbg.events import SPEC_VERSION
from agentdbg.events.markers import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.wording import Line
    from agentdbg.events import Event, RunMeta

__all__ = ["Summary", "build_report", "figure_line", "notes", "summarise"]

_LARGEST = 6_000
_STEPS_BEFORE = 6


def build_report(tally: Tally, run: RunMeta, now_ms: int | None = None) -> str:
    """The report on a counted run."""
    tally.catch_up()
    verdict = judge(tally, run, now_ms)
    builder = RowBuilder(tally.columns)
    name = one_line(str(run.get("run_name") or "unnamed"), 120)
    sections = [
        f"# {verdict['word']}: {name}",
        "\n".join(f"- {_numbered(line)}" for line in verdict["lines"]),
        figure_line(figures(tally, run, now_ms)),
    ]
    asked = first_request(tally, 600)
    if asked:
        sections.append(f"## What was asked\n{asked}")
    opened = _events_to_open(tally, verdict["lines"])
    sections += [_event_section(tally, number) for number in opened]
    if opened:
        sections.append(_steps_before(builder, tally, opened[0], running=run.get("status") == "running"))
    answer = final_answer(tally, 500)
    if answer:
        sections.append(f"## What it answered\n{answer}")
    sections.append(f"_Run {run['run_id']}, recorded by AgentDbg; `#n` is the event's number in events.jsonl._")
    return _fit(sections)


def figure_line(counted: Figures) -> str:
    """`1 min 17 s · 31 LLM calls · 6 errors · 188k tokens · $0.49`; what is zero and good is left out."""
    said = [duration(counted["duration_ms"])] if counted["duration_ms"] is not None else []
    for count, noun in (
        (counted["llm_calls"], "LLM call"),
        (counted["tool_calls"], "tool call"),
        (counted["errors"], "error"),
        (counted["loops"], "loop"),
    ):
        if count:
            said.append(count_noun(count, noun))
    if counted["total_tokens"]:
        said.append(f"{tokens(counted['total_tokens'])} tokens")
    if counted["cost_usd"]:
        said.append(money(counted["cost_usd"]))
    return " · ".join(said)


def _numbered(line: Line) -> str:
    text = "".join(f"`{piece['text']}`" if piece["style"] != "plain" else piece["text"] for piece in line["parts"])
    return f"#{line['n']}: {text}" if line["n"] is not None else text


def _events_to_open(tally: Tally, lines: list[Line]) -> list[int]:
    """The events the verdict points at, and the exception with its stack, the cause first."""
    columns = tally.columns
    shown = [line["n"] for line in lines if line["n"] is not None]
    with_stack = next((error.number for error in reversed(tally.errors) if error.failure.stack), None)
    if with_stack is not None and with_stack not in shown:
        shown.append(with_stack)
    # What a guardrail says of itself stands in the verdict already.
    guards = {error.number for error in tally.errors if error.guardrail}
    kinds = (LLM, TOOL, SPAN, EXCEPTION, LOOP, CALL_START)
    return [number for number in shown if columns.kind[number - 1] in kinds and number not in guards][:3]


def _event_section(tally: Tally, number: int) -> str:
    columns = tally.columns
    event, kind = columns.event(number), columns.kind[number - 1]
    payload = payload_of(event)
    title = f"## #{number} {event['event_type']} `{one_line(str(event.get('name')), 120)}`"
    facts: list[str] = []
    if kind == TOOL:
        facts += [_block("arguments", payload.get("args"), 900)]
        if columns.status[number - 1] != ERROR:
            facts.append(_block("result", payload.get("result"), 700))
    elif kind == LLM:
        facts += [_block("end of the prompt", payload.get("prompt"), 600, tail=True)]
        if columns.status[number - 1] != ERROR:
            facts.append(_block("response", payload.get("response"), 700))
    elif kind == CALL_START:
        facts += [_block("input", payload.get("input"), 900)]
    elif kind == LOOP:
        facts += _loop_facts(tally, event, SEVERITIES[columns.severity[number - 1]])
    if columns.status[number - 1] == ERROR:
        failure = failure_of(payload)
        facts.append(f"error: `{cut(failure.text, 400)}`")
        if failure.stack:
            facts.append(f"stack:\n```\n{_last_lines(failure.stack, 1_400)}\n```")
    source = payload.get("source")
    if isinstance(source, str) and source:
        facts.append(f"recorded at `{one_line(source, 200)}`")
    return "\n".join([title, *facts])


def _loop_facts(tally: Tally, event: Event, severity: str | None) -> list[str]:
    payload = payload_of(event)
    facts = [f"{severity}, {payload.get('kind') or 'loop'}: {one_line(str(payload.get('explanation') or ''), 300)}"]
    facts.append(f"pattern `{one_line(str(payload.get('pattern') or ''), 200)}`, {payload.get('repetitions')} times")
    ids = payload.get("evidence_event_ids")
    found = [tally.columns.number_of(one) for one in (ids if isinstance(ids, list) else ()) if isinstance(one, str)]
    numbers = [f"#{number}" for number in found if number is not None]
    if numbers:
        facts.append(f"evidence: {', '.join(numbers[:30])}")
    return facts


def _steps_before(builder: RowBuilder, tally: Tally, number: int, *, running: bool) -> str:
    """The last few steps that led to the cause, one line each."""
    kinds = tally.columns.kind
    before = [at for at in range(max(number - 60, 1), number) if kinds[at - 1] in (LLM, TOOL)][-_STEPS_BEFORE:]
    rows = builder.rows([*before, number], running=running)
    return "\n".join(["## Steps up to it", *(f"- #{cut(row_sentence(row), 220)}" for row in rows)])


def _block(title: str, value: Any, limit: int, *, tail: bool = False) -> str:
    value = in_words(value)
    text = value if isinstance(value, str) else as_json(value)
    text = text.replace("```", "'''")
    if len(text) > limit:
        left_out = f"… {len(text) - limit:,} characters left out …"
        text = f"{left_out}{text[-limit:]}" if tail else f"{text[:limit]}{left_out}"
    return f"{title}:\n```\n{text}\n```"


def _last_lines(stack: str, limit: int) -> str:
    stack = stack.strip().replace("```", "'''")
    if len(stack) <= limit:
        return stack
    return "…\n" + stack[-limit:].partition("\n")[2]


def _fit(sections: list[str]) -> str:
    """All sections, or as many as fit with the last one, which says what this is."""
    *body, footer = [section for section in sections if section]
    report = ""
    for section in body:
        room = _LARGEST - len((report + footer).encode()) - 40
        if len(section.encode()) > room:
            break
        report += section + "\n\n"
    return f"{report}{footer}\n"


_DAMAGED_LISTED = 20


class Summary(TypedDict):
    """What the server answers for a run's summary."""

    spec_version: str
    run: RunMeta
    progress: float
    complete: bool
    total_events: int
    type_counts: dict[str, int]
    errors: int
    loops: dict[str, int]
    figures: Figures
    verdict: Verdict
    outcome: dict[str, Any] | None
    beside: dict[str, Any] | None
    suspects: list[dict[str, Any]]
    damaged_lines: list[int]
    damaged_total: int
    notes: list[str]


def summarise(
    tally: Tally,
    run: RunMeta,
    *,
    now_ms: int | None = None,
    progress: float | None = None,
    damaged_lines: Sequence[int] = (),
    damaged_total: int | None = None,
) -> Summary:
    """The summary of a run as far as its tally has counted; keep the tally and a live run costs only what is new."""
    tally.catch_up()
    complete = tally.columns.complete
    counted = figures(tally, run, now_ms)
    damaged = len(damaged_lines) if damaged_total is None else damaged_total
    return {
        "spec_version": SPEC_VERSION,
        "run": run,
        "progress": 1.0 if complete else min(progress or 0.0, 1.0),
        "complete": complete,
        "total_events": tally.counted,
        "type_counts": tally.type_counts,
        "errors": counted["errors"],
        "loops": dict(tally.loops),
        "figures": counted,
        "verdict": judge(tally, run, now_ms),
        "outcome": None,
        "beside": None,
        "suspects": [],
        "damaged_lines": list(damaged_lines[:_DAMAGED_LISTED]),
        "damaged_total": damaged,
        "notes": notes(run, damaged_lines, damaged),
    }


def notes(run: RunMeta, damaged_lines: Sequence[int] = (), damaged_total: int = 0) -> list[str]:
    """What a reader should know about how this run was recorded, one sentence each."""
    said = _replay_notes(run)
    redaction = run.get("redaction")
    if redaction == "off":
        said.append("Recorded with redaction off. This run may hold secrets in clear.")
    elif redaction not in (None, "on", "", True):
        said.append(f"Recorded with weakened redaction ({redaction}). This run may hold secrets in clear.")
    dropped = run.get("dropped_events")
    if isinstance(dropped, int) and dropped > 0:
        were = "was" if dropped == 1 else "were"
        said.append(f"{count_noun(dropped, 'event')} {were} not written, so something is missing here.")
    if damaged_total:
        said.append(_damage(damaged_lines, damaged_total))
    return said


def _replay_notes(run: RunMeta) -> list[str]:
    """`Replay of 3f2a19c4: diverged at call 12 of 52, search (agent.py:88): args.query differs.`"""
    replay = run.get("replay")
    if not isinstance(replay, dict) or replay.get("mode") not in ("replay", "fork"):
        return []
    if replay["mode"] == "fork":
        served, live = replay.get("served"), replay.get("live")
        counts = f": {count_noun(served, 'call')} served, {live} live" if isinstance(served, int) else ""
        return [f"Fork of {str(replay.get('parent_run_id'))[:8]}{relation(run).removeprefix('fork')}{counts}."]
    head = f"Replay of {str(replay.get('parent_run_id'))[:8]}"
    found = replay.get("divergence")
    if isinstance(found, dict):
        told = _divergence(found)
        if replay.get("equal"):
            return [f"{head}: equal; {told}."]
        verb = " at" if found.get("name") else ": it would" if found.get("class") == "effect" else ":"
        return [f"{head}: diverged{verb} {told}."]
    if replay.get("until"):
        return [f"{head}, as far as call {replay['until']}: equal."]
    return [f"{head}: equal." if replay.get("equal") else f"{head}."]


def _divergence(found: dict[str, Any]) -> str:
    number, name, what = (found.get(key) for key in ("n", "name", "what"))
    if found.get("class") == "ended":
        return f"the recording stops here: {what}"
    places = [f"call {number} of {found['of']}" if found.get("of") else f"call {number}"] if number else []
    told = ", ".join([*places, *([name] if name else [what] if what else [])])
    if found.get("source"):
        told += f" ({found['source']})"
    if found.get("path"):
        return f"{told}: {found['path']} differs"
    return f"{told}: {_CLASSES.get(str(found.get('class')), what)}" if name else told


_CLASSES = {
    "extra": "the recording has no such call here",
    "moved": "it was made later than a call it came before",
    "missing": "it was recorded, and not made",
    "changed": "its input differs",
    "ambiguous": "two recorded calls fit it",
    "unservable": "its result was not recorded",
}


def _damage(lines: Sequence[int], total: int) -> str:
    were = "line was" if total == 1 else "lines were"
    if not lines:
        return f"{total:,} damaged {were} skipped."
    listed = [f"{number:,}" for number in lines[:_DAMAGED_LISTED]]
    if total > len(listed):
        return f"{total:,} damaged {were} skipped, the first: {', '.join(listed)}."
    joined = f"{', '.join(listed[:-1])} and {listed[-1]}" if len(listed) > 1 else listed[0]
    return f"{total:,} damaged {were} skipped: {joined}."
