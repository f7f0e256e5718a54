"""`agentdbg diff`: what changed between two runs."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from agentdbg.analysis.diff import compare
from agentdbg.analysis.diff.read_side import segments_of
from agentdbg.analysis.diff.summary import Log, tell
from agentdbg.commands.diff_lines import print_diff
from agentdbg.commands.diff_markdown import markdown
from agentdbg.commands.find_runs import find
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.run_files import count_damaged_lines, is_path, read_run_file
from agentdbg.commands.streams import heard_or_not
from agentdbg.commands.terminal import Progress, Terminal
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import UsageError
from agentdbg.index.run_index import load_run_meta
from agentdbg.policy_file import effect_rules_of, find_policy
from agentdbg.storage.reader import default_data_dir, load_events, run_folder
from agentdbg.tape.tape_reader import find_tape
from agentdbg.tape.whole_events import WholeEvents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentdbg.analysis.diff import Diff
    from agentdbg.analysis.diff.summary import Part, Told
    from agentdbg.events import Event

EXAMPLES = """
agentdbg diff a41f                        # a run against the latest
agentdbg diff a41f 9b2d --stat
agentdbg diff good.json latest --only effects
agentdbg diff a41f 9b2d --ignore args.date --ignore 'result.items[*].price'
agentdbg diff a41f 9b2d --markdown
"""

_PARTS = ("effects", "tools", "prompts")
_NARROWEST = 40
_TOLD_EVERY = 500
_LARGEST_COMPARED, _MOST_COMPARED = 1_000_000, 32_000_000
"""Bytes of one field, and of all fields of a run, that are fetched from its tape."""
_PATH = re.compile(r"[^\[\]]+(?:\[[^\[\]]+\][^\[\]]*)*")


@dataclass(frozen=True)
class ComparedRun:
    """One of the two runs: what it is called, its events, and where those of a stored run are."""

    run_id: str
    name: str
    events: Iterable[Event]
    count: int
    """About how many events there are."""
    log: Log
    folder: Path | None = None

    def to_json(self) -> dict[str, Any]:
        return {"run_id": self.run_id, "run_name": self.name}


def command(
    a: Annotated[str, Argument("A", "A run: its id, a unique prefix, `latest`, or a file or folder.", "runs")],
    b: Annotated[str, Argument("[B]", "The run to compare it with, given in the same ways.", "runs")] = "latest",
    stat: Annotated[bool, Option("--stat", help="Only the verdict and the figures, no steps.")] = False,
    only: Annotated[
        str | None, Option("--only", metavar="PART", help="Compare only effects, tools or prompts.")
    ] = None,
    ignore: Annotated[
        list[str] | None, Option("--ignore", metavar="PATH", help="Leave out a part, like args.date; may be repeated.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print everything that was found as JSON.")] = False,
    as_markdown: Annotated[bool, Option("--markdown", "-m", help="Print Markdown, to paste into a review.")] = False,
) -> None:
    """
    Say what changed between two runs: whether they had the same side effects, where they part, and what differs in
    each step. Where both have tapes, what their logs cut is compared too. Ids, times, tokens and costs are no
    differences. Exits with 0 when nothing that was compared differs, with 1 otherwise; runs that differ only in their
    steps differ, unless only effects are compared.
    """
    if as_json and as_markdown:
        raise UsageError("--json and --markdown at once make no sense; choose one")
    if only is not None and only not in _PARTS:
        raise UsageError(f"there is no part {only!r}; --only takes one of {', '.join(_PARTS)}")
    paths = [_path(path) for path in ignore or ()]
    runs = _open(a), _open(b)
    rules = effect_rules_of(find_policy())
    with ExitStack() as open_tapes, Progress("Comparing") as progress:
        whole = _whole(runs, open_tapes)
        found = compare(*_watched(runs, progress, whole), rules, paths)
    for run, side in zip(runs, (found.side_a, found.side_b), strict=True):
        if not side.count:
            raise UsageError(f"run {run.run_id[:8]} holds no events, so there is nothing to compare")
    if only is not None:
        found = found.only(cast("Part", only))
    told = tell(found, _log(runs[0], found.side_a.count), _log(runs[1], found.side_b.count), cast("Part | None", only))
    if paths:
        told = replace(told, notes=[*told.notes, f"Left out of the comparison: {', '.join(paths)}."])
    if any(kept.fetched or kept.left_out for kept in whole):
        left_out = sum(kept.left_out for kept in whole)
        said = f", except {left_out:,} that are too large" if left_out else ""
        told = replace(told, notes=[*told.notes, f"Compared with the whole values on the tapes of both runs{said}."])
    with heard_or_not():
        _print(found, told, runs, only, as_json=as_json, as_markdown=as_markdown, stat=stat)
    if _differs(found, only):
        raise SystemExit(1)


def _differs(found: Diff, only: str | None) -> bool:
    if only == "effects":
        return not found.effects.are_same
    rows_differ = found.first_difference is not None
    return rows_differ or (only is None and not found.effects.are_same)


def _path(given: str) -> str:
    """A path to leave out; one that is empty, or breaks off, might leave out more than its author meant."""
    if not segments_of(given) or not _PATH.fullmatch(given):
        raise UsageError(f"--ignore {given!r} is no path; it is written like args.date or 'result.items[*].price'")
    return given


def _open(wanted: str) -> ComparedRun:
    """A stored run, or a file that `agentdbg export` or a recorder wrote."""
    if is_path(wanted):
        file = read_run_file(Path(wanted))
        log = Log(file.run_id, damaged_lines=file.damaged_lines)
        return ComparedRun(file.run_id, file.name, file.events, len(file.events), log)
    data_dir = default_data_dir()
    run_id = find(wanted, data_dir)
    meta = load_run_meta(run_id, data_dir)
    log = Log(run_id, is_running=meta["status"] == "running", unwritten_events=meta.get("dropped_events") or 0)
    folder = run_folder(run_id, data_dir)
    count = sum((meta.get("event_counts") or {}).values())
    return ComparedRun(run_id, meta["run_name"] or "unnamed", load_events(run_id, data_dir), count, log, folder)


def _whole(runs: tuple[ComparedRun, ComparedRun], open_tapes: ExitStack) -> tuple[WholeEvents, ...]:
    """What puts back what was cut in the logs, where both runs have tapes; else a difference could be the log's."""
    if any(run.folder is None or find_tape(run.folder) is None for run in runs):
        return ()
    return tuple(
        open_tapes.enter_context(WholeEvents(run.folder, _LARGEST_COMPARED, _MOST_COMPARED))
        for run in runs
        if run.folder is not None
    )


def _watched(
    runs: tuple[ComparedRun, ComparedRun], progress: Progress, whole: tuple[WholeEvents, ...]
) -> tuple[Iterable[Event], Iterable[Event]]:
    """The events of both runs, telling how many have been read: that is what a long comparison waits for."""
    total, read = runs[0].count + runs[1].count, 0

    def watch(events: Iterable[Event]) -> Iterator[Event]:
        nonlocal read
        for event in events:
            read += 1
            if not read % _TOLD_EVERY:
                progress.at(read / max(total, read))
            yield event

    events = [run.events for run in runs]
    if whole:
        events = [kept.all_of(of_run) for kept, of_run in zip(whole, events, strict=True)]
    return watch(events[0]), watch(events[1])


def _log(run: ComparedRun, events: int) -> Log:
    """What is known of a run's log once its events were read."""
    if run.folder is None or run.log.is_running:  # the last line of one that goes on may be half written
        return run.log
    return replace(run.log, damaged_lines=count_damaged_lines(run.folder, events))


def _print(
    found: Diff,
    told: Told,
    runs: tuple[ComparedRun, ComparedRun],
    only: str | None,
    *,
    as_json: bool,
    as_markdown: bool,
    stat: bool,
) -> None:
    out = Terminal()
    asked_width = os.environ.get("COLUMNS", "")
    if out.width is None and asked_width.isdecimal():  # which a shell sets for itself alone, unless it is exported
        out.width = max(int(asked_width), _NARROWEST)
    if as_json:
        content = {**found.to_json(), "sentences": told.sentences, "notes": told.notes}
        if only == "prompts":  # what the runs did is not asked
            content["verdict"] = told.verdict.lower().replace(" ", "_")
        if stat:
            del content["rows"]
        sides = {"a": runs[0].to_json(), "b": runs[1].to_json()}
        out.json({"spec_version": SPEC_VERSION, **sides, "only": only, **content})
    elif as_markdown:
        names = (f"{runs[0].name} ({runs[0].run_id[:8]})", f"{runs[1].name} ({runs[1].run_id[:8]})")
        out.bytes(markdown(found, told, names, with_rows=not stat).encode())
    else:
        print_diff(out, found, told, (runs[0].name, runs[1].name), (runs[0].run_id[:8], runs[1].run_id[:8]), stat=stat)
