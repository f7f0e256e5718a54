"""`agentdbg validate`: whether a run's files are what the trace format says."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

from agentdbg.commands.find_runs import find
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.streams import heard_or_not
from agentdbg.commands.terminal import Styled, Terminal
from agentdbg.events import SPEC_VERSION
from agentdbg.index.run_index import load_run_meta
from agentdbg.index.validation import Problem, RunCheck
from agentdbg.storage.reader import default_data_dir, run_folder

EXAMPLES = """
agentdbg validate                 # the latest run
agentdbg validate a41f --json
"""

_SHOWN = 50
_LISTED = 10_000
_NOTES_SHOWN = 10


def command(
    run: Annotated[str, Argument("[RUN]", "A run: its id, a unique prefix, or `latest`.", "runs")] = "latest",
    as_json: Annotated[bool, Option("--json", help="Print the problems as JSON, at most 10,000 of them.")] = False,
) -> None:
    """
    Check every line of a run against the JSON Schemas, and the whole for what must agree: ids given once, parents that
    exist, one start and one end, counters equal to the events; of a tape, that its references lead somewhere and that
    nothing on it was changed. An older form that readers understand is a note, not a
    problem. Exits with 1 when something is wrong.
    """
    data_dir = default_data_dir()
    run_id = find(run, data_dir)
    is_running = load_run_meta(run_id, data_dir)["status"] == "running"
    check = RunCheck(run_folder(run_id, data_dir), run_id, is_running=is_running)
    out = Terminal()
    if as_json:
        found_problems = check.problems()
        problems = [problem.as_json() for problem in islice(found_problems, _LISTED)]
        more = sum(1 for _ in found_problems)
        notes = [note.as_json() for note in check.notes]
        told = {"run_id": run_id, "valid": not problems, "lines": check.lines, "events": check.events}
        with heard_or_not():
            out.json(
                {"spec_version": SPEC_VERSION, **told, "problems": problems, "more_problems": more, "notes": notes}
            )
        found = len(problems)
    else:
        found = _print(out, check, run_id)
    if found:
        raise SystemExit(1)


def _print(out: Terminal, check: RunCheck, run_id: str) -> int:
    problems = check.problems()
    shown = list(islice(problems, _SHOWN))
    more = sum(1 for _ in problems)
    with heard_or_not():
        for problem in shown:
            _print_line(out, problem, "error")
        if more:
            out.line(Styled(f"{more:,} more; --json lists up to {_LISTED:,}", "muted"))
        for note in check.notes[:_NOTES_SHOWN]:
            _print_line(out, note, "muted")
        if len(check.notes) > _NOTES_SHOWN:
            out.line(Styled(f"{len(check.notes) - _NOTES_SHOWN:,} more notes; --json lists them", "muted"))
        if not shown:
            noted = ", with older forms that readers understand" if check.notes else ""
            out.sentence(Styled("✓ ", "ok"), f"{run_id[:8]}: {check.events:,} events, valid{noted}", hang=2)
    return len(shown) + more


def _print_line(out: Terminal, problem: Problem, style: str) -> None:
    place = "run" if problem.line is None else f"line {problem.line:,}"
    sentence = f"note: {problem.sentence}" if problem.kind == "note" else problem.sentence
    out.sentence(Styled(f"{place:>12}  ", "muted"), Styled(sentence, style), hang=14)
