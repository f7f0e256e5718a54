"""`agentdbg show`: a run as a readable tree, or one event in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from agentdbg.analysis.report import Summary, figure_line, summarise
from agentdbg.analysis.run_answer import final_answer, first_request
from agentdbg.analysis.run_columns import CALL_START, END, ENDED, ERROR, EXCEPTION, LOOP, START
from agentdbg.analysis.tree import tree_order
from agentdbg.commands.opened import OpenedRun, open_run
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.row_lines import print_row, print_verdict
from agentdbg.commands.terminal import Styled, Terminal
from agentdbg.commands.times import local_time

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = """
agentdbg show                      # the latest run
agentdbg show a41f                 # a run by a prefix of its id
agentdbg show a41f --event 49      # one event in full
agentdbg show latest --full | less
agentdbg show latest --json
"""

_ROWS_AT_ONCE = 400
_FIRST = 100


def command(
    run: Annotated[str, Argument("[RUN]", "A run: its id, a unique prefix, or `latest`.", "runs")] = "latest",
    event: Annotated[
        str | None, Option("--event", "-e", metavar="N", help="Only this event: its number or id.")
    ] = None,
    full: Annotated[bool, Option("--full", help="Every row, and every line whole.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print a run as a readable tree: what was asked, what was answered, errors and loops marked."""
    opened = open_run(run)
    out = Terminal()
    if event is not None:
        from agentdbg.commands.show_event import print_event  # noqa: PLC0415 -- only where one event is asked for

        number = opened.number_of(event)
        if as_json:
            out.json(opened.index.event(number))
        else:
            print_event(out, opened, number)
        return
    summary = _summary(opened)
    if as_json:
        _print_json(out, opened, summary)
        return
    _print_head(out, opened, summary)
    _print_tree(out, opened, full=full)


def _summary(opened: OpenedRun) -> Summary:
    return summarise(
        opened.tally,
        opened.meta,
        now_ms=opened.now_ms,
        damaged_lines=opened.index.damaged_lines,
        damaged_total=opened.index.damaged_total,
    )


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
    order = [
        (number, depth)
        for number, depth in tree_order(index.parent_n, index.start_ms, index.kind)
        if full or index.kind[number - 1] not in (START, END)
        if not (index.kind[number - 1] == CALL_START and index.status[number - 1] == ENDED)
    ]
    digits = len(str(index.total))
    for number, depth, left_out in _chosen(opened, order, full=full):
        if left_out:
            out.line(Styled(f"{'':>{digits}} … {left_out:,} rows left out; --full shows all", "muted"))
        else:
            row = opened.builder.row(number, running=opened.is_live)
            print_row(out, row, digits=digits, depth=min(depth, 12), whole=full, in_tree=True)


def _chosen(opened: OpenedRun, order: list[tuple[int, int]], *, full: bool) -> Iterator[tuple[int, int, int]]:
    """The rows to print as (number, depth, 0); (0, 0, count) where some are left out."""
    if full or len(order) <= _ROWS_AT_ONCE:
        yield from ((number, depth, 0) for number, depth in order)
        return
    # Of a long run the beginning, the end, and between them what went wrong.
    middle = order[_FIRST : _FIRST - _ROWS_AT_ONCE]
    index = opened.index
    wrong = [
        at
        for at, (number, _) in enumerate(middle)
        if index.kind[number - 1] == EXCEPTION
        or (index.kind[number - 1] != LOOP and index.status[number - 1] == ERROR)
        or index.severity[number - 1] >= 2
    ][:_FIRST]
    yield from ((number, depth, 0) for number, depth in order[:_FIRST])
    next_at = 0
    for at in wrong:
        if at > next_at:
            yield 0, 0, at - next_at
        yield (*middle[at], 0)
        next_at = at + 1
    if next_at < len(middle):
        yield 0, 0, len(middle) - next_at
    yield from ((number, depth, 0) for number, depth in order[_FIRST - _ROWS_AT_ONCE :])


def _print_json(out: Terminal, opened: OpenedRun, summary: Summary) -> None:
    """The summary and all rows as one document, a row at a time so that memory stays flat."""
    from agentdbg.encoding import encode_json  # noqa: PLC0415 -- only where JSON is asked for

    out.bytes(encode_json(summary)[:-1] + b',"rows":[')
    for number in range(1, opened.index.total + 1):
        row = encode_json(opened.builder.row(number, running=opened.is_live))
        out.bytes(row if number == 1 else b"," + row)
    out.bytes(b"]}\n")
