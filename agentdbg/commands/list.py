"""`agentdbg list`: the recorded runs, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from agentdbg.analysis.families import in_trees, parent_of, relation
from agentdbg.analysis.run_columns import lacks_times
from agentdbg.analysis.wording import duration, money
from agentdbg.commands.options import Option
from agentdbg.commands.space_words import print_sizes
from agentdbg.commands.terminal import Column, Progress, Styled, Terminal
from agentdbg.commands.times import local_time, since
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import UsageError
from agentdbg.index.run_index import RunFilter, RunIndex, RunPage
from agentdbg.storage.reader import default_data_dir

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentdbg.events import RunMeta

__all__ = ["command", "print_runs"]

EXAMPLES = """
agentdbg list
agentdbg list --status error --since 2d
agentdbg list --name airline --meta session_id=s-12
agentdbg list -n 1 --json
agentdbg list --tree                           # forks and replays under the run they came from
agentdbg list --size                           # what takes the space, the largest run first
"""

_STATUSES = ("ok", "problems", "error", "running")
_WIDE = 110
_STYLES = {"ok": "ok", "problems": "warn", "error": "error", "running": "accent", "paused": "accent"}


def command(
    limit: Annotated[int, Option("--limit", "-n", metavar="N", help="How many runs at most.", at_least=0)] = 20,
    status: Annotated[
        str | None, Option("--status", metavar="STATUS", help="Only ok, problems, error or running ones.")
    ] = None,
    name: Annotated[str | None, Option("--name", metavar="TEXT", help="Only those with this in their name.")] = None,
    since: Annotated[str | None, Option("--since", metavar="WHEN", help="2h, 7d, today or 2026-11-01.")] = None,
    meta: Annotated[list[str] | None, Option("--meta", metavar="KEY=VALUE", help="Only with this metadata.")] = None,
    size: Annotated[bool, Option("--size", help="What they take on disk, the largest first.")] = False,
    tree: Annotated[bool, Option("--tree", help="Forks and replays under the run they came from.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the recorded runs, newest first."""
    if status is not None and status not in _STATUSES:
        raise UsageError(f"there is no status {status!r}; it is one of {', '.join(_STATUSES)}")
    data_dir = default_data_dir()
    index = RunIndex(data_dir)
    with Progress("Reading runs") as progress:
        index.refresh(thorough=False, progress=progress.at)
    if status == "problems":  # a verdict, so every run has to be looked into once
        index.headlines([run["run_id"] for run in index.page(RunFilter(status="ok"), None).runs])
    wanted = RunFilter(status=status, name=name, since=_moment(since), meta=_pairs(meta or []))
    out = Terminal()
    if size:
        print_sizes(out, index, wanted, limit, as_json=as_json)
        return
    page = _trees(index.page(wanted, None), limit) if tree else index.page(wanted, limit)
    if as_json:
        ids = [run["run_id"] for run in page.runs]
        index.headlines(ids)
        states = index.states(ids)
        runs = [{**run, "state": states.get(run["run_id"])} for run in page.runs]
        out.json({"spec_version": SPEC_VERSION, "runs": runs})
        return
    if not page.runs:
        _say_none(out, data_dir, is_filtered=any((status, name, since, meta)) or limit == 0)
        return
    print_runs(out, index, page.runs, is_tree=tree)
    left_out = page.total - len(page.runs)
    if left_out and out.is_terminal:
        out.sentence(Styled(f"{left_out:,} more; `agentdbg list -n {page.total}` shows all", "muted"))


def _trees(page: RunPage, limit: int) -> RunPage:
    """The newest families, each whole: `limit` counts those who have no parent here."""
    kept: list[RunMeta] = []
    for run, depth in in_trees(page.runs):
        limit -= depth == 0
        if limit < 0:
            break
        kept.append(run)
    return RunPage(kept, page.total, page.counts_by_status)


def _moment(text: str | None) -> str | None:
    if text is None:
        return None
    return since(text)


def _pairs(given: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"{text!r} is not key=value; write --meta session_id=s-12")
        pairs[key] = value
    return pairs


def _say_none(out: Terminal, data_dir: Path, *, is_filtered: bool) -> None:
    if is_filtered:
        out.sentence("No run matches. `agentdbg list` without options shows what is there.")
    else:
        out.sentence(f"No runs in {data_dir} yet.")
        out.sentence("`agentdbg demo` records a few small agents; `agentdbg doctor` says why your own are missing.")


def print_runs(out: Terminal, index: RunIndex, runs: Sequence[RunMeta], *, is_tree: bool = False) -> None:
    """Print a table of runs, with a sentence on how each ended where there is room for it."""
    depths = [depth for _, depth in in_trees(runs)] if is_tree else [0] * len(runs)
    headlines = index.headlines([run["run_id"] for run in runs])
    states = index.states(headlines)
    if out.width is None or out.width < _WIDE:
        headlines = {}
    columns = [
        Column("run_id"),
        Column("run_name", least=16),
        Column("started_at", optional=2),
        Column("duration" if out.is_terminal else "duration_ms", right=True, optional=1),
        Column("llm_calls", right=True, optional=3),
        Column("tool_calls", right=True, optional=3),
        *([Column("cost", right=True, optional=4)] if _shows_cost(out, runs) else []),
        Column("status"),
    ]
    if headlines:
        columns.append(Column("outcome", least=24, optional=5))
    length = _telling_length([run["run_id"] for run in runs])
    has_cost = _shows_cost(out, runs)
    rows = [_row(out, run, length, headlines, states, has_cost=has_cost) for run in runs]
    if is_tree:
        for row, run, depth in zip(rows, runs, depths, strict=True):
            row[1] = _branch(run, depth)
    out.table(columns, rows)


def _branch(run: RunMeta, depth: int) -> str:
    """What a run in a tree is called: a child by what it is to its parent."""
    if depth > 0:
        return f"{'  ' * (depth - 1)}└ {relation(run)}"
    parent = parent_of(run)
    name = run["run_name"] or "–"
    return name if parent is None else f"{name} ({relation(run)} of {parent[:8]}, which is not here)"


def _shows_cost(out: Terminal, runs: Sequence[RunMeta]) -> bool:
    """For a person, where some run's cost is known. A program counts the columns, and finds the cost in the JSON."""
    return out.is_terminal and any(run.get("cost_usd") is not None for run in runs)


def _row(
    out: Terminal,
    run: RunMeta,
    length: int,
    headlines: dict[str, str | None],
    states: dict[str, str | None],
    *,
    has_cost: bool,
) -> list[str | Styled]:
    state = states.get(run["run_id"])
    status: str = state if state in ("problems", "paused") else run["status"]
    row: list[str | Styled] = [
        Styled(run["run_id"][:length], "accent"),
        run["run_name"] or "–",
        *_times(out, run),
        str(run["counts"]["llm_calls"]),
        str(run["counts"]["tool_calls"]),
        *([_cost(run)] if has_cost else []),
        Styled(status, _STYLES.get(status, "")),
    ]
    if headlines:
        row.append(Styled(headlines.get(run["run_id"]) or "", "" if status == "error" else "muted"))
    return row


def _cost(run: RunMeta) -> str:
    """An unknown cost is unknown, never nothing."""
    cost = run.get("cost_usd")
    if cost is None:
        return "–"
    in_loops = run.get("loop_cost_usd")
    return f"{money(cost)}, {money(in_loops)} in loops" if in_loops else money(cost)


def _times(out: Terminal, run: RunMeta) -> tuple[str, str]:
    """For a person in local time and words, for a program as stored."""
    length = run["duration_ms"]
    if not out.is_terminal:
        return run["started_at"], "" if length is None else str(length)
    return local_time(run["started_at"]), "–" if lacks_times(run.get("metadata")) else duration(length)


def _telling_length(ids: Sequence[str]) -> int:
    """How many characters tell the listed runs apart, at least eight."""
    length = 8
    while len({run_id[:length] for run_id in ids}) < len(set(ids)):
        length += 1
    return length
