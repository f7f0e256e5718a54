"""`agentdbg import`: other tools' traces, and earlier runs of ours, as runs here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.analysis.wording import count_noun
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.terminal import Progress, Styled, Terminal, problem
from agentdbg.config import load_config
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.config import Config
    from agentdbg.interop.imports import Importing, Outcome
    from agentdbg.interop.importing import StoredRun
    from agentdbg.interop.sources import Source

EXAMPLES = """
agentdbg import gpt-4o-airline.json              # a file of many chat transcripts
agentdbg import django__django-11099.traj        # SWE-agent
agentdbg import spans.json --format otel         # OpenTelemetry, OpenInference
agentdbg import logs/*.eval                      # Inspect AI
agentdbg import run.json                         # made by `agentdbg export`
agentdbg import /backup/.agentdbg                # an earlier data folder
"""

_PROBLEMS_SHOWN = 10


@dataclass
class _Report:
    """What came of all files."""

    imported: list[tuple[str, StoredRun]] = field(default_factory=list)
    known: list[tuple[str, StoredRun]] = field(default_factory=list)
    problems: list[tuple[str, str, str]] = field(default_factory=list)


def command(
    files: Annotated[list[str], Argument("FILE...", "Files to import, or folders of them.")],
    format_name: Annotated[
        str,
        Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="auto, agentdbg, folder, inspect, swe_agent, openhands, otel or chat.",
        ),
    ] = "auto",
    as_json: Annotated[bool, Option("--json", help="Print what was imported as JSON.")] = False,
) -> None:
    """
    Make runs of other tools' traces: chat transcripts with tool calls, SWE-agent trajectories, OpenTelemetry and
    OpenInference spans, Inspect AI logs, OpenHands events, exports of agentdbg and earlier data folders. Secrets are
    removed like anywhere else. A run that is here already is skipped, so importing twice does no harm. The exit code
    is 0 when everything was imported, 2 when something could not be.
    """
    from agentdbg.interop.imports import Importing  # noqa: PLC0415 -- it can record, and help does not
    from agentdbg.interop.sources import find_sources  # noqa: PLC0415

    config = load_config()
    for notice in (*config.problems, *config.notices):
        problem(notice)
    sources = find_sources(files)
    out, report = Terminal(), _Report()
    importing = Importing(config)
    with Progress("Importing") as progress:
        for number, source in enumerate(sources):
            _import(importing, source, format_name, report, progress, number / len(sources), 1 / len(sources), out, as_json)
    _say_problems(report.problems)
    if as_json:
        out.json(_as_json(report))
    else:
        _print_end(out, report, config)
    if report.problems:
        raise SystemExit(2)


def _import(
    importing: Importing,
    source: Source,
    format_name: str,
    report: _Report,
    progress: Progress,
    begun: float,
    share: float,
    out: Terminal,
    as_json: bool,
) -> None:
    before = len(report.imported), len(report.known), len(report.problems)
    try:
        title, outcomes = importing.take(source, format_name)
        for outcome in outcomes:
            _note(report, source, outcome)
            progress.at(begun)
    except UsageError as error:
        if not str(error).startswith(source.shown):
            raise
        report.problems.append((source.shown, "", str(error).removeprefix(source.shown).strip()))
        return
    if not as_json:
        _print_file(out, source, title, report, before)
