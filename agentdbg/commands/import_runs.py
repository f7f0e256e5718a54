"""`agentdbg import`: other tools' traces, and earlier runs of ours, as runs here."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.analysis.wording import count_noun
from agentdbg.commands.import_sessions import follow_session, wanted_sessions
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.streams import heard_or_not
from agentdbg.commands.terminal import Progress, Styled, Terminal, problem
from agentdbg.config import load_config
from agentdbg.events import SPEC_VERSION
from agentdbg.interop.agent_homes import AGENTS
from agentdbg.interop.import_ledger import Ledger
from agentdbg.interop.importers import IMPORTERS
from agentdbg.interop.imports import Importing, Outcome, import_files
from agentdbg.interop.sources import NotReadable, find_sources
from agentdbg.storage.layout import check_data_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.config import Config
    from agentdbg.interop.sources import Source

EXAMPLES = """
agentdbg import --from claude                    # pick from the sessions on this machine
agentdbg import --from codex --latest            # the newest one
agentdbg import --from claude --since 7d         # all of the last week
agentdbg import --from claude --latest --follow  # keep it open in the page while it goes on
agentdbg import gpt-4o-airline.json              # a file of many chat transcripts
agentdbg import django__django-11099.traj        # SWE-agent
agentdbg import spans.json --format otel         # OpenTelemetry, OpenInference
agentdbg import logs/*.eval                      # Inspect AI
agentdbg import run.json                         # made by `agentdbg export`
agentdbg import /backup/.agentdbg                # an earlier data folder
"""

_PROBLEMS_SHOWN = 10
_FILES_SHOWN = 40


def command(
    files: Annotated[list[str] | None, Argument("[FILE...]", "Files to import, or folders of them.")] = None,
    agent: Annotated[
        str | None,
        Option("--from", metavar="AGENT", help=f"Find the sessions of {', '.join(AGENTS[:-1])} or {AGENTS[-1]}."),
    ] = None,
    latest: Annotated[bool, Option("--latest", help="With --from: the newest session.")] = False,
    everything: Annotated[bool, Option("--all", help="With --from: every session.")] = False,
    since_when: Annotated[
        str | None, Option("--since", metavar="WHEN", help="With --from: sessions changed since 7d, 12h, 2026-11-01 …")
    ] = None,
    follow: Annotated[
        bool, Option("--follow", help="Keep one live session open in the page and add what comes, until Ctrl-C.")
    ] = False,
    format_name: Annotated[
        str, Option("--format", "-f", metavar="FORMAT", help=f"auto, {', '.join(IMPORTERS[:-1])} or {IMPORTERS[-1]}.")
    ] = "auto",
    as_json: Annotated[bool, Option("--json", help="Print what was imported as JSON.")] = False,
    any_size: Annotated[
        bool, Option("--any-size", help="Read files of any size; they are held in memory while they are imported.")
    ] = False,
) -> None:
    """
    Import sessions of coding agents and traces of other tools: Claude Code, Codex, Gemini CLI, Qwen Code, Copilot
    CLI, opencode, Amp, OpenHands, SWE-agent, aider; LangSmith, Langfuse, OpenAI Agents, MLflow, Phoenix, OpenTelemetry,
    Inspect AI, chat transcripts; exports of agentdbg and earlier data folders. `--from` finds the sessions of a
    coding agent on this machine. Secrets are removed like anywhere else. A run that is here already is skipped, so
    importing twice does no harm. The exit code is 0 when everything was imported and 2 when something could not
    be.
    """
    config = load_config()
    check_data_dir(config.data_dir)
    for notice in (*config.problems, *config.notices):
        problem(notice)
    out = Terminal()
    paths = [str(path) for path in wanted_sessions(out, agent, latest or follow, everything, since_when, bool(files))]
    sources = find_sources([*(files or ()), *paths], any_size=any_size)
    if follow:
        follow_session(out, config, sources, format_name)
        return
    told = _import_all(config, sources, format_name)
    with heard_or_not():
        if as_json:
            out.json(_as_json(told))
        else:
            _print(out, told)
    if _say_problems(told):
        raise SystemExit(2)


def _import_all(config: Config, sources: list[Source], format_name: str) -> list[tuple[Source, str, list[Outcome]]]:
    """Import each file, or recognise it as imported."""
    ledger = Ledger(config.data_dir)
    told: dict[int, tuple[Source, str, list[Outcome]]] = {}
    waiting: list[int] = []
    for number, source in enumerate(sources):
        known = ledger.runs_of(source.path, format_name)
        if known is None:
            waiting.append(number)
        else:
            told[number] = (source, known[0], [Outcome("", run=run) for run in known[1]])
    if len(waiting) == 1:  # how far one file is can be told, too
        (number,) = waiting
        mark = ledger.mark_of(sources[number].path)
        told[number] = (sources[number], *_take(Importing(config), sources[number], format_name))
        _note(ledger, format_name, mark, told[number])
    else:
        marks = [ledger.mark_of(sources[number].path) for number in waiting]
        found = import_files([sources[number] for number in waiting], format_name)
        with Progress("Importing") as progress, contextlib.closing(ledger):
            for done, (number, mark, outcome) in enumerate(zip(waiting, marks, found, strict=True), 1):
                told[number] = (sources[number], *outcome)
                _note(ledger, format_name, mark, told[number])
                progress.at(done / len(waiting))
    ledger.close()
    return [told[number] for number in range(len(sources))]


def _note(ledger: Ledger, format_name: str, mark: list[int], told: tuple[Source, str, list[Outcome]]) -> None:
    """Remember a file of which nothing was left out."""
    source, title, outcomes = told
    runs = [outcome.run for outcome in outcomes if outcome.run is not None]
    if runs and not any(outcome.problem for outcome in outcomes):
        ledger.note(source.path, format_name, mark, title, runs)


def _take(importing: Importing, source: Source, format_name: str) -> tuple[str, list[Outcome]]:
    """Import one file: its format, and the outcome of each of its runs."""
    outcomes: list[Outcome] = []
    title = ""
    with Progress("Importing") as progress:
        try:
            title, found = importing.take(source, format_name)
            for outcome in found:
                outcomes.append(outcome)
                progress.at(min(len(outcomes) / max(source.expected, 1), 1))
        except NotReadable as error:
            outcomes.append(Outcome("", problem=str(error).removeprefix(source.shown).strip()))
    return title, outcomes


def _print(out: Terminal, told: Sequence[tuple[Source, str, list[Outcome]]]) -> None:
    """One line for each file, and what to do next."""
    new = 0
    left_out = 0
    for number, (source, title, outcomes) in enumerate(told):
        stored = [outcome.run for outcome in outcomes if outcome.run is not None]
        added = [run for run in stored if run.is_new]
        new += len(added)
        if not stored:
            continue
        if number >= _FILES_SHOWN:
            left_out += 1
            continue
        known = len(stored) - len(added)
        said = f"{count_noun(len(added), 'run')}, {count_noun(sum(run.events for run in added), 'event')}"
        if not added:
            said = "already here" if known == 1 else f"all {known:,} already here"
        elif known:
            said = f"{said}, {known:,} already here"
        out.sentence(Styled(source.path.name, "strong"), Styled(f"  {title}", "muted"), f"  {said}")
        if len(stored) == 1:
            out.line(f"  {stored[0].run_id[:8]}  {stored[0].run_name}")
    if left_out:
        out.sentence(f"… and {count_noun(left_out, 'file')} more; `--json` lists all of them.")
    if new:
        out.sentence(f"Imported {count_noun(new, 'run')}; `agentdbg list` and `agentdbg view` show what is there.")
    else:
        out.sentence("Nothing new was imported.")


def _say_problems(told: Sequence[tuple[Source, str, list[Outcome]]]) -> int:
    """Say what could not be imported, and where it stands; gives how much that is."""
    count = 0
    for source, _, outcomes in told:
        wrong = [outcome for outcome in outcomes if outcome.problem]
        count += len(wrong)
        for outcome in wrong[:_PROBLEMS_SHOWN]:
            where = f", {outcome.entry}" if outcome.entry else ""
            problem(f"not imported: {source.shown}{where}: {outcome.problem}")
        if len(wrong) > _PROBLEMS_SHOWN:
            problem(f"not imported: {source.shown}: {len(wrong) - _PROBLEMS_SHOWN:,} more; `--json` lists all of them")
    return count


def _as_json(told: Sequence[tuple[Source, str, list[Outcome]]]) -> dict[str, Any]:
    imported, known, problems = [], [], []
    for source, title, outcomes in told:
        for outcome in outcomes:
            if outcome.run is None:
                problems.append({"file": source.shown, "entry": outcome.entry, "message": outcome.problem})
                continue
            run = outcome.run
            told_run = {"run_id": run.run_id, "run_name": run.run_name, "file": source.shown, "entry": outcome.entry}
            if run.is_new:
                imported.append({**told_run, "format": title, "events": run.events})
            else:
                known.append(told_run)
    return {"spec_version": SPEC_VERSION, "imported": imported, "already_here": known, "problems": problems}
