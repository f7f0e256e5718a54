"""
`agentdbg show`: a run as a readable tree, or one event in full.

One event in full, the way a person reads it: a conversation, a call, an error, a state, or plain JSON.
"""

from __future__ import annotations

import json
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.families import linked_with
from agentdbg.analysis.findings import add_to_summary
from agentdbg.analysis.report import Summary, figure_line, summarise
from agentdbg.analysis.run_answer import final_answer, first_request
from agentdbg.analysis.run_columns import CALL_START, END, ENDED, ERROR, EXCEPTION, LLM, LOOP, START, TOOL, payload_of
from agentdbg.analysis.tree import tree_order
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_text, duration, grouped
from agentdbg.commands.opened_run import OpenedRun, examined, open_run
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.row_lines import print_row, print_verdict
from agentdbg.commands.terminal import Styled, Terminal, problem
from agentdbg.commands.times import local_time
from agentdbg.encoding import encode_json
from agentdbg.events.markers import in_words, text_in_words
from agentdbg.storage.reader import list_runs, load_events, run_folder
from agentdbg.tape.whole_events import WholeEvents, is_cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.analysis.rows import Row

__all__ = []

EXAMPLES = """
agentdbg show                      # the latest run
agentdbg show a41f                 # a run by a prefix of its id
agentdbg show a41f --event 49      # one event
agentdbg show a41f -e 49 --full    # and what was cut of it in the log, from the tape
agentdbg show latest --full | less
agentdbg show latest --linked      # with the runs of the services that it asked
agentdbg show latest --json
"""

_LARGEST_PRINTED = 1 << 40
_ROWS_AT_ONCE = 400
_FIRST = 100


def command(
    run: Annotated[str, Argument("[RUN]", "A run: its id, a unique prefix, or `latest`.", "runs")] = "latest",
    event: Annotated[
        str | None, Option("--event", "-e", metavar="N", help="Only this event: its number or id.")
    ] = None,
    full: Annotated[bool, Option("--full", help="Every row and line; of one event, every value whole.")] = False,
    linked: Annotated[
        bool, Option("--linked", help="All runs that it is a part of: callers, services, child processes.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print a run as a readable tree: what was asked, what was answered, errors and loops marked."""
    opened = open_run(run)
    out = Terminal()
    if linked:
        _show_linked(out, opened, full=full, as_json=as_json)
        return
    if event is not None:
        _show_event(out, opened, opened.number_of(event), full=full, as_json=as_json)
        return
    summary = _summary(opened)
    if as_json:
        _print_json(out, opened, summary)
        return
    _print_head(out, opened, summary)
    _print_tree(out, opened, full=full)


def _show_linked(out: Terminal, opened: OpenedRun, *, full: bool, as_json: bool) -> None:
    """A run's callers and all that was done for them, each run below the one that asked for it."""

    def event_ids(run_id: str) -> Iterator[str]:
        return (str(event.get("event_id")) for event in load_events(run_id, opened.data_dir))

    runs = linked_with(opened.run_id, list_runs(data_dir=opened.data_dir), event_ids)
    if as_json:
        out.json([{"run_id": one["run_id"], "run_name": one["run_name"], "depth": depth} for one, depth in runs])
        return
    for place, (one, depth) in enumerate(runs):
        if place:
            out.line()
            out.line(Styled(f"{'  ' * depth}↳ for {runs[_above(runs, place)][0]['run_id'][:8]}", "muted"))
        part = open_run(one["run_id"])
        _print_head(out, part, _summary(part))
        _print_tree(out, part, full=full)


def _above(runs: list[tuple[Any, int]], place: int) -> int:
    """Where the run stands that asked for the one at a place."""
    return next(at for at in range(place - 1, -1, -1) if runs[at][1] < runs[place][1])


def _show_event(out: Terminal, opened: OpenedRun, number: int, *, full: bool, as_json: bool) -> None:
    found: Any = opened.index.event(number)
    with WholeEvents(run_folder(opened.run_id, opened.data_dir), _LARGEST_PRINTED) as kept:
        if full:
            found, _ = kept.whole(found)
        on_tape = kept.has(str(found.get("event_id")))
        if full and not on_tape and is_cut(payload_of(found)):
            why = kept.problem or "this call is not on the tape"
            problem(f"what was cut of this event cannot be fetched: {why}")
    if as_json:
        out.json(found)
    else:
        print_event(out, opened, number, found, on_tape=on_tape)


def _summary(opened: OpenedRun) -> Summary:
    summary = summarise(
        opened.tally,
        opened.meta,
        now_ms=opened.now_ms,
        damaged_lines=opened.index.damaged_lines,
        damaged_total=opened.index.damaged_total,
    )
    if not opened.is_live:
        add_to_summary(summary, examined(opened))
    return summary


def _print_head(out: Terminal, opened: OpenedRun, summary: Summary) -> None:
    meta = opened.meta
    facts = f"{meta['run_id'][:8]}  {local_time(meta['started_at'])}"
    print_verdict(out, summary["verdict"], meta["run_name"] or "unnamed", facts)
    out.sentence(Styled(figure_line(summary["figures"]), "muted"), indent=3)
    for note in summary["notes"]:
        out.sentence(Styled(note, "warn"), indent=3)
    out.line()
    asked = first_request(opened.tally, 400)
    if asked:
        out.line(Styled("   asked     ", "muted"), asked)
    answered = final_answer(opened.tally, 400)
    if answered:
        out.line(Styled("   answered  ", "muted"), answered)
    if asked or answered:
        out.line()


def _print_tree(out: Terminal, opened: OpenedRun, *, full: bool) -> None:
    index = opened.index
    order = (
        (number, depth)
        for number, depth in tree_order(index.parent_n, index.start_ms, index.kind)
        if full or index.kind[number - 1] not in (START, END)
        if not (index.kind[number - 1] == CALL_START and index.status[number - 1] == ENDED)
    )
    digits = len(str(index.total))
    for number, depth, left_out in _chosen(opened, order, full=full):
        if left_out:
            out.line(Styled(f"{'':>{digits}} … {left_out:,} rows left out; --full shows all", "muted"))
        else:
            row = opened.builder.row(number, running=opened.is_live)
            print_row(out, row, digits=digits, depth=min(depth, 12), whole=full, in_tree=True)


def _chosen(opened: OpenedRun, order: Iterator[tuple[int, int]], *, full: bool) -> Iterator[tuple[int, int, int]]:
    """The rows to print as (number, depth, 0); (0, 0, count) where some are left out."""
    if full:
        yield from ((number, depth, 0) for number, depth in order)
        return
    # Of a long run the beginning, the end, and between them what went wrong.
    yield from ((number, depth, 0) for number, depth in islice(order, _FIRST))
    index = opened.index
    shown = left_out = 0
    end: deque[tuple[int, int]] = deque(islice(order, _ROWS_AT_ONCE - _FIRST))
    for row in order:
        end.append(row)
        number, depth = end.popleft()
        is_wrong = (
            index.kind[number - 1] == EXCEPTION
            or (index.kind[number - 1] != LOOP and index.status[number - 1] == ERROR)
            or index.severity[number - 1] >= 2
        )
        if not is_wrong or shown >= _FIRST:
            left_out += 1
            continue
        if left_out:
            yield 0, 0, left_out
        yield number, depth, 0
        shown, left_out = shown + 1, 0
    if left_out:
        yield 0, 0, left_out
    yield from ((number, depth, 0) for number, depth in end)


def _print_json(out: Terminal, opened: OpenedRun, summary: Summary) -> None:
    """The summary and all rows as one document, a row at a time so that memory stays flat."""
    out.bytes(encode_json(summary)[:-1] + b',"rows":[')
    for number in range(1, opened.index.total + 1):
        row = encode_json(opened.builder.row(number, running=opened.is_live))
        out.bytes(row if number == 1 else b"," + row)
    out.bytes(b"]}\n")


def print_event(out: Terminal, opened: OpenedRun, number: int, event: Any, *, on_tape: bool = False) -> None:
    """Print everything an event holds; `on_tape` says that the tape has what was cut of it."""
    row = opened.builder.row(number, running=opened.is_live)
    payload, kind = payload_of(event), opened.index.kind[number - 1]
    print_row(out, row)
    out.sentence(Styled(_facts(row), "muted"), indent=5)
    out.line(Styled(f"     {row['event_type']} {row['event_id']}", "muted"), cut=False)
    if kind == LLM:
        _print_conversation(out, payload, on_tape=on_tape)
    elif kind == TOOL:
        _print_value(out, "arguments", payload.get("args"), on_tape=on_tape)
        if payload.get("error") is None:
            _print_value(out, "result", payload.get("result"), on_tape=on_tape)
    if opened.index.status[number - 1] == ERROR:
        _print_failure(out, payload)
    if kind not in (LLM, TOOL, EXCEPTION):
        _print_value(out, "payload", payload)
    if event.get("meta"):
        _print_value(out, "meta", event["meta"])
    if on_tape and is_cut(payload):
        out.line()
        out.sentence(Styled("--full fetches what is not in the log from the tape.", "muted"), indent=3)


def _facts(row: Row) -> str:
    said = [local_time(row["ts"])]
    if row["duration_ms"] is not None:
        said.append(duration(row["duration_ms"]))
    if row["tokens_in"] is not None or row["tokens_out"] is not None:
        said.append(f"{grouped(row['tokens_in'] or 0)} tokens in, {grouped(row['tokens_out'] or 0)} out")
    if row["cost_usd"] is not None:
        said.append(f"${row['cost_usd']:.6g}")
    if row["source"]:
        said.append(row["source"])
    if row["parent_n"]:
        said.append(f"inside #{row['parent_n']}")
    return " · ".join(said)


def _print_conversation(out: Terminal, payload: dict[str, Any], *, on_tape: bool) -> None:
    for turn in conversation.turns(payload.get("prompt"), on_tape=on_tape):
        if turn.missing:
            out.line()
            out.line(Styled(f"… {turn.missing} …", "muted"), indent=3)
        else:
            style = "accent" if turn.role == "user" else "muted"
            _print_turn(out, turn, turn.role or "message", style, on_tape=on_tape)
    if payload.get("response") is not None:
        said = conversation.answer(payload["response"])
        if said.text or said.calls:
            _print_turn(out, said, "answer", "llm", on_tape=on_tape)
        else:
            _print_value(out, "answer", payload["response"], on_tape=on_tape)


def _print_turn(out: Terminal, turn: conversation.Turn, title: str, style: str, *, on_tape: bool) -> None:
    _title(out, title, style)
    if turn.text:
        out.block(text_in_words(turn.text.strip(), on_tape=on_tape), indent=5)
    for call in turn.calls:
        out.line(Styled(f"calls {call.name}", "tool"), indent=5, cut=False)
        if call.args:
            out.block(_pretty(in_words(call.args, on_tape=on_tape)), indent=7)


def _print_failure(out: Terminal, payload: dict[str, Any]) -> None:
    failure = failure_of(payload)
    _title(out, "error", "error")
    out.block(failure.text, indent=5, style="error")
    if failure.stack:
        out.block(failure.stack.rstrip(), indent=5)
    details = payload.get("details")
    if details:
        _print_value(out, "details", details)


def _print_value(out: Terminal, title: str, value: Any, *, on_tape: bool = False) -> None:
    _title(out, title, "muted")
    value = in_words(parse_embedded(value), on_tape=on_tape)
    out.block(value if isinstance(value, str) else _pretty(value), indent=5)


def _title(out: Terminal, text: str, style: str) -> None:
    out.line()
    out.line(Styled(text, style), indent=3)


def _pretty(value: Any) -> str:
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except ValueError:
        return as_text(value) if not isinstance(value, (dict, list)) else "a value too large to print"
