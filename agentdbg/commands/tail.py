"""`agentdbg tail`: a run's events as they are recorded."""

from __future__ import annotations

import contextlib
import time
from typing import Annotated

from agentdbg.analysis.run_columns import CALL_START
from agentdbg.analysis.verdict import judge
from agentdbg.commands.find_runs import newest_runs
from agentdbg.commands.opened_run import OpenedRun, open_run
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.row_lines import print_row, print_verdict
from agentdbg.commands.terminal import Styled, Terminal

EXAMPLES = """
agentdbg tail                 # the run that is being recorded
agentdbg tail a41f -n 50      # its last 50 events, then what comes
agentdbg tail --json | jq .name
"""

_POLL_SECONDS = 0.05
_LOOK_AT_STATUS = 20
"""Polls between two looks at whether the process still lives."""


def command(
    run: Annotated[
        str | None, Argument("[RUN]", "A run; the one being recorded, else the latest, when left out.", "runs")
    ] = None,
    lines: Annotated[int, Option("--lines", "-n", metavar="N", help="Begin with the last N events.", at_least=0)] = 20,
    as_json: Annotated[bool, Option("--json", help="Print each event as one line of JSON.")] = False,
) -> None:
    """Follow a run while it is recorded; ends when the run ends. Ctrl-C stops watching, not the run."""
    opened = open_run(run or _newest_live() or "latest")
    out = Terminal()
    seen = _first_to_print(opened, lines)
    if not as_json:
        out.line(Styled(f"{opened.meta['run_name'] or 'unnamed'}  {opened.run_id[:8]}", "muted"))
    with contextlib.suppress(KeyboardInterrupt):
        _follow(out, opened, seen, as_json=as_json)
    if not as_json and not opened.is_live:
        verdict = judge(opened.tally, opened.meta, opened.now_ms)
        print_verdict(out, verdict, opened.meta["run_name"] or "unnamed", opened.run_id[:8])


def _newest_live() -> str | None:
    return next((run["run_id"] for run in newest_runs(1, status="running")), None)


def _first_to_print(opened: OpenedRun, lines: int) -> int:
    """The number before the first event to print, so that `lines` rows come out."""
    number = opened.index.total
    while number > 0 and lines > 0:
        lines -= opened.index.kind[number - 1] != CALL_START
        number -= 1
    return number


def _follow(out: Terminal, opened: OpenedRun, seen: int, *, as_json: bool) -> None:
    polls = 0
    while True:
        for number in range(seen + 1, opened.index.total + 1):
            _print(out, opened, number, as_json=as_json)
        seen = opened.index.total
        out.flush()
        if not opened.is_live:
            break
        time.sleep(_POLL_SECONDS)
        polls += 1
        if opened.index.extend() or polls % _LOOK_AT_STATUS == 0:
            opened.refresh()
    if not as_json:
        for number in opened.tally.open_calls:
            _print(out, opened, number, as_json=False, even_starts=True)


def _print(out: Terminal, opened: OpenedRun, number: int, *, as_json: bool, even_starts: bool = False) -> None:
    if as_json:
        out.json(opened.index.event(number))
    elif even_starts or opened.index.kind[number - 1] != CALL_START:
        digits = max(4, len(str(opened.index.total)))
        print_row(out, opened.builder.row(number, running=opened.is_live), digits=digits)
