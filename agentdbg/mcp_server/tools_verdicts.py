"""
Tools that judge: what went wrong in a run, how two runs differ, whether a run's files are sound.

The tool that compares two runs: what changed between the good one and the bad one.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.diff import compare_rows
from agentdbg.analysis.findings import add_to_summary
from agentdbg.analysis.report import figure_line, summarise
from agentdbg.analysis.run_answer import final_answer, first_request
from agentdbg.analysis.run_columns import payload_of
from agentdbg.analysis.stats import Tally
from agentdbg.analysis.suspects import RunStory
from agentdbg.analysis.suspects.origins import provenance, unrecorded, where_from
from agentdbg.analysis.wording import cut, text_of
from agentdbg.exceptions import UsageError
from agentdbg.index import kept_findings
from agentdbg.index.passing_runs import beside_passing
from agentdbg.index.validation import RunCheck
from agentdbg.mcp_server.run_access import run_brief
from agentdbg.mcp_server.tool import OFFSET, RUN, Parameter, Tool, limit
from agentdbg.mcp_server.tool_answers import fit, paged
from agentdbg.policy_file import effect_rules_of, find_policy
from agentdbg.storage.reader import load_events, run_folder
from agentdbg.tape.whole_events import WholeEvents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.findings import Finding
    from agentdbg.mcp_server.run_access import Reader
    from agentdbg.server.run_view import RunView

__all__ = ["COMPARE_RUNS", "EXPLAIN_RUN", "VALIDATE_RUN", "WHERE_FROM"]

_LONGEST_TEXT = 600
_LONGEST_PLACE = 300
_MOST_NOTES = 20
_MOST_FROM_TAPE = 64_000_000
"""Bytes of values that are read from the tape to look for one in them."""


def _explain_run(reader: Reader, *, run: str, limit: int, offset: int, max_bytes: int) -> dict[str, Any]:
    meta, view = reader.open(run)
    index = view.index
    tally = Tally(index).catch_up()
    summary = summarise(
        tally,
        meta,
        now_ms=time.time_ns() // 1_000_000,
        damaged_lines=index.damaged_lines,
        damaged_total=index.damaged_total,
    )
    examined = beside_passing(reader.runs(), meta, kept_findings.examined(reader.data_dir, meta, keep=False))
    add_to_summary(summary, examined)
    head: dict[str, Any] = {
        "run": run_brief(meta),
        "state": examined.state,
        "outcome": summary["outcome"],
        "beside": summary["beside"] and _without_parts(summary["beside"]),
        "suspects": [_without_ids(suspect, view) for suspect in summary["suspects"]],
        "verdict": summary["verdict"]["word"],
        "because": [{"event": line["n"], "sentence": text_of(line)} for line in summary["verdict"]["lines"]],
        "figures": figure_line(summary["figures"]),
        "asked": first_request(tally, _LONGEST_TEXT),
        "answered": final_answer(tally, _LONGEST_TEXT),
        "notes": summary["notes"],
    }
    found = examined.findings
    head = {key: value for key, value in head.items() if value} | {"total": len(found)}
    findings = (_told(finding, view) for finding in found[offset:])
    return paged(head, "findings", findings, offset=offset, limit=limit, max_bytes=max_bytes)


def _without_parts(beside: dict[str, Any]) -> dict[str, Any]:
    told = [{key: item for key, item in one.items() if key != "parts"} for one in beside["differences"]]
    return {**beside, "differences": told}


def _without_ids(suspect: dict[str, Any], view: RunView) -> dict[str, Any]:
    """A suspect with the numbers of its events alone, and the place in the code."""
    kept = {key: suspect[key] for key in ("rank", "kind", "event", "sentence", "hit_rate")}
    return {**kept, **_where(suspect["event"], view), "evidence": [place["n"] for place in suspect["evidence"]]}


def _where(number: int | None, view: RunView) -> dict[str, str]:
    """The file and the line of an event: where its error was raised, else where the call was made."""
    if number is None or not 1 <= number <= view.index.total:
        return {}
    payload = payload_of(view.index.event(number))
    frame = failure_of(payload).frame if payload.get("error") or payload.get("stack") else None
    source = payload.get("source")
    raised = "" if frame is None else f"{frame.path}:{frame.line}"
    called = cut(source, _LONGEST_PLACE) if isinstance(source, str) else ""
    return {
        **({"where": cut(raised or called, _LONGEST_PLACE)} if raised or called else {}),
        **({"called_from": called} if raised and called and called != raised else {}),
    }


def _told(finding: Finding, view: RunView) -> dict[str, Any]:
    """A finding with the numbers of its events, which say in two digits what their ids say in thirty-six."""
    told = finding.as_json()
    ids = told["evidence"].pop("event_ids")
    numbers = {*told["evidence"]["numbers"], *(view.index.number_of(event_id) for event_id in ids)}
    told["evidence"]["numbers"] = sorted(number for number in numbers if number is not None)
    return {**told, **_where(finding.number, view)}


EXPLAIN_RUN = Tool(
    "explain_run",
    "Explain what went wrong in a run",
    "How a run ended and why (`state`: ok, problems, failed or running), the steps to look at first (`suspects`: the "
    "decision, then the call it asked for), how it differs from a run of the same task that "
    "passed (`beside`), what it was asked and answered, and everything found, the worst first: the "
    "first failure and what it led to, errors that were swallowed, tool results that were no answers, calls that do "
    "not fit their tool, loops, a prompt that outgrew its model, where the time went. Each finding names the numbers "
    "of the events that prove it, for read_event, and `where` in the code it happened (file:line). "
    "All of it is read from the log; no model is asked.",
    (RUN, limit(20, 200, "findings"), OFFSET),
    _explain_run,
    "run state outcome beside suspects verdict because figures asked answered total findings",
)


def _where_from(reader: Reader, *, run: str, value: str, event: str, max_bytes: int) -> dict[str, Any]:
    if bool(value) == bool(event):
        raise UsageError("give either value, to find where that came from, or event, for all that it says")
    meta, view = reader.open(run)
    with WholeEvents(run_folder(meta["run_id"], reader.data_dir), most_in_all=_MOST_FROM_TAPE) as kept:
        story = RunStory.of_values(kept.sources_of(load_events(meta["run_id"], reader.data_dir)))
    if event:
        number = reader.event_number(view, event)
        told: dict[str, Any] = {"event": number, "values": [one.as_json() for one in provenance(story, number)]}
    else:
        found = [origin.as_json() for origin in where_from(story, value)]
        told = {"value": value, "found": found, "not_recorded": unrecorded(story)}
    answer: dict[str, Any] = fit(told, max_bytes)[0]
    return answer


WHERE_FROM = Tool(
    "where_from",
    "Find where a value came from",
    "Which steps of a run hold a `value` (a number in any form, a date, an id, a name), the first first; or, for an "
    "`event`, where each argument, number, date, id and name in it came from: `from` names the event and the path, and "
    "is null for a value from nowhere, which a model made up or computed. Parts of the events `not_recorded` are "
    "missing, and may hold any value.",
    (
        RUN,
        Parameter("value", "string", "The value to look for.", ""),
        Parameter("event", "string", "The event to explain instead: its number or its id.", ""),
    ),
    _where_from,
    "event values value found not_recorded",
)


def _validate_run(reader: Reader, *, run: str, limit: int, offset: int, max_bytes: int) -> dict[str, Any]:
    run_id = reader.run_id(run)
    is_running = reader.runs().get(run_id)["status"] == "running"
    check = RunCheck(run_folder(run_id, reader.data_dir), run_id, is_running=is_running)
    problems = check.problems()
    total = sum(1 for _ in islice(problems, offset))
    shown = list(islice(problems, limit + 1))
    total += len(shown) + sum(1 for _ in problems)
    head = {
        "run_id": run_id,
        "valid": total == 0,
        "lines": check.lines,
        "events": check.events,
        "notes": [note.as_json() for note in check.notes[:_MOST_NOTES]],
        "total": total,
    }
    items = (problem.as_json() for problem in shown)
    return paged(head, "problems", items, offset=offset, limit=limit, max_bytes=max_bytes)


VALIDATE_RUN = Tool(
    "validate_run",
    "Check a run's files",
    "Whether a stored run is what the trace format says: every line of events.jsonl against its JSON Schema, and the "
    "whole for what must agree (ids given once, parents that exist, one start and one end, run.json's counters equal "
    "to the events). Each problem names its line; `notes` are older forms that readers understand.",
    (RUN, limit(50, 500, "problems"), OFFSET),
    _validate_run,
    "run_id valid lines events notes total problems",
)


_MOST_EVENTS = 200_000


def _compare_runs(
    reader: Reader,
    *,
    a: str,
    b: str,
    ignore: Sequence[str],
    all_rows: bool,
    limit: int,
    offset: int,
    max_bytes: int,
) -> dict[str, Any]:
    sides = [reader.open(wanted) for wanted in (a, b)]
    for meta, view in sides:
        if view.index.total > _MOST_EVENTS:
            raise UsageError(f"run {meta['run_id']} has {view.index.total:,} events, too many to compare here")
    events_a, events_b = (load_events(meta["run_id"], reader.data_dir) for meta, _ in sides)
    found = compare_rows(events_a, events_b, effect_rules_of(find_policy()), ignore)
    rows, divergence = found["rows"], found["first_divergence"]
    head = {
        "a": _fitted(run_brief(sides[0][0]), max_bytes // 10),
        "b": _fitted(run_brief(sides[1][0]), max_bytes // 10),
        "verdict": found["verdict"],
        "first_divergence": None if divergence is None else _fitted(rows[divergence], max_bytes // 10),
        "counts": found["counts"],
        "totals": found["totals"],
        "effects": _fitted(found["effects"], max_bytes // 5),
        "notes": _fitted(found["notes"], max_bytes // 10),
        "context": _fitted(found["context"], max_bytes // 5),
    }
    shown = rows if all_rows else [row for row in rows if row["op"] != "same"]
    return paged(head, "rows", shown[offset:], offset=offset, limit=limit, max_bytes=max_bytes)


def _fitted(value: Any, max_bytes: int) -> Any:
    return fit(value, max_bytes)[0]


COMPARE_RUNS = Tool(
    "compare_runs",
    "Compare two runs",
    "What differs between two runs, aligned step by step: the verdict (`same`, `same_effects`, `different_effects`, or "
    "`unknown_effects` where only calls differ whose side effects nobody knows), the first step where they do "
    "different things, the side effects only one of them had, changed instructions, tools and parameters, tokens, "
    "cost and time of both, and the steps that changed, were added, left out or moved. Ids, times and durations are "
    "no differences. Good for a run that worked against one that did not, before a change against after it.",
    (
        Parameter("a", "string", "The run to compare with: its id, the unique beginning of one, or `latest`."),
        Parameter("b", "string", "The other run.", "latest"),
        Parameter("ignore", "strings", "Parts that may differ, such as args.date or result.items[*].price.", ()),
        Parameter("all_rows", "boolean", "Also the steps that are the same.", False),
        limit(30, 300, "steps"),
        OFFSET,
    ),
    _compare_runs,
    "a b verdict first_divergence counts totals effects notes context rows",
)
