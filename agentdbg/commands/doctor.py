"""`agentdbg doctor`: why is my run empty?"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import stat
import sys
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from agentdbg.analysis.wording import count_noun
from agentdbg.autorun.installed import offered_integrations
from agentdbg.autorun.known_packages import KNOWN_PACKAGES
from agentdbg.commands.find_runs import newest_runs
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.script_imports import packages_imported_by
from agentdbg.commands.space_words import space_sentences
from agentdbg.commands.terminal import Styled, Terminal
from agentdbg.config import GUARDRAILS, load_config
from agentdbg.exceptions import UsageError
from agentdbg.integrations import INTEGRATIONS
from agentdbg.server.lifecycle import find_viewer
from agentdbg.storage.layout import check_data_dir
from agentdbg.storage.space import measure
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.config import Config
    from agentdbg.events import RunMeta

EXAMPLES = """
agentdbg doctor
agentdbg doctor agent.py
agentdbg doctor --json
"""

_LOOKED_AT = 200
_LITTLE_SPACE = 200 << 20


class Finding(NamedTuple):
    """One thing that was looked at: fine, worth knowing, or the likely reason for a missing run."""

    tone: Literal["ok", "note", "problem"]
    text: str
    advice: str = ""


def command(
    script: Annotated[
        str | None,
        Argument("[SCRIPT]", "A program: list the model and agent packages it imports, and what records each."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find out why a run is empty or missing: what is switched off, where runs go, what was lost, what is recorded."""
    config = load_config()
    runs = newest_runs(_LOOKED_AT, config.data_dir)
    findings = [
        *_imported(script),
        *_recording(config),
        *_settings(config),
        *_folder(config.data_dir),
        *_stored(runs),
        *(_space(config.data_dir) if runs else ()),
        *_frameworks(),
        *_viewer(config.data_dir),
    ]
    out = Terminal()
    if as_json:
        out.json({"version": __version__, "findings": [finding._asdict() for finding in findings]})
        check_data_dir(config.data_dir)
        return
    out.sentence(Styled(f"agentdbg {__version__}, Python {sys.version.split()[0]}, {sys.executable}", "muted"))
    signs = {"ok": ("✓", "ok"), "note": ("·", "muted"), "problem": ("✕", "error")}
    for finding in findings:
        sign, style = signs[finding.tone]
        out.sentence(Styled(f"{sign} ", style), finding.text, hang=2)
        if finding.advice:
            out.sentence(Styled(finding.advice, "muted"), indent=2)
    check_data_dir(config.data_dir)


def _recording(config: Config) -> Iterator[Finding]:
    if config.enabled:
        yield Finding("ok", "Recording is on.")
    else:
        source = config.sources.get("enabled", "a setting")
        yield Finding("problem", f"Recording is off: {source} says so.", "Nothing is recorded until that is gone.")
    if not config.implicit_run:
        yield Finding(
            "note",
            "Only what happens inside a run is recorded.",
            "Wrap your agent in @trace or `with traced_run(...)`, or set AGENTDBG_IMPLICIT_RUN=1.",
        )
    if config.redaction != "on":
        yield Finding("note", f"Redaction is {config.redaction}.", "New runs may hold secrets in clear.")
    limits = [f"{name} {getattr(config, name)}" for name in GUARDRAILS if getattr(config, name) is not None]
    if limits:
        yield Finding(
            "note", f"Runs are stopped by {', '.join(limits)}.", "`agentdbg config` says where that comes from."
        )


def _settings(config: Config) -> Iterator[Finding]:
    for sentence in config.problems:
        yield Finding("problem", f"A setting was ignored: {sentence}.")
    for sentence in config.notices:
        yield Finding("note", f"{sentence[0].upper()}{sentence[1:]}.")


def _folder(data_dir: Path) -> Iterator[Finding]:
    if not data_dir.exists():
        yield Finding("note", f"Runs go to {data_dir}, which the first run will make.")
        return
    if not data_dir.is_dir():
        yield Finding(
            "problem",
            f"{data_dir} is not a folder, so no run can be stored.",
            "Set AGENTDBG_DATA_DIR to another place.",
        )
        return
    source = " (AGENTDBG_DATA_DIR)" if os.environ.get("AGENTDBG_DATA_DIR") else ""
    if not os.access(data_dir, os.W_OK | os.X_OK):
        yield Finding(
            "problem", f"{data_dir} cannot be written.", "Give yourself write permission, or set AGENTDBG_DATA_DIR."
        )
        return
    yield Finding("ok", f"Runs go to {data_dir}{source}.")
    mode = stat.S_IMODE(data_dir.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        yield Finding(
            "note", f"Others on this machine may look into {data_dir} (mode {mode:o}).", f"chmod 700 {data_dir}"
        )
    free = shutil.disk_usage(data_dir).free
    if free < _LITTLE_SPACE:
        yield Finding(
            "problem", f"Only {free / 1e6:,.0f} MB are free there.", "`agentdbg prune --older-than 30d` makes room."
        )


def _stored(runs: list[RunMeta]) -> Iterator[Finding]:
    if not runs:
        yield Finding(
            "problem", "No run is stored there.", "`agentdbg demo` records a few; then compare with your own code."
        )
        return
    count = f"{count_noun(len(runs), 'run')}{' or more' if len(runs) == _LOOKED_AT else ''}"
    yield Finding("ok", f"{count}; the latest is {runs[0]['run_name'] or 'unnamed'} ({runs[0]['run_id'][:8]}).")
    empty = [
        run
        for run in runs[:20]
        if run["status"] != "running" and not run["counts"]["llm_calls"] and not run["counts"]["tool_calls"]
    ]
    if empty:
        names = ", ".join(run["run_id"][:8] for run in empty[:5])
        yield Finding(
            "problem",
            f"{count_noun(len(empty), 'of the last runs holds', 'of the last runs hold')} no call at all: {names}.",
            "Calls made before the run began, after it ended, or by a client nobody records are not in it; "
            "use @tool, @llm, record_llm_call or an integration.",
        )
    dropped = [run for run in runs if run.get("dropped_events")]
    if dropped:
        lost = sum(run.get("dropped_events") or 0 for run in dropped)
        yield Finding(
            "problem",
            f"{count_noun(lost, 'event')} could not be written, in {count_noun(len(dropped), 'run')}.",
            "A full disk is the usual reason; events after the end of a run count too.",
        )
    damaged = [run for run in runs if run.get("damaged_lines")]
    if damaged:
        yield Finding(
            "note", f"{count_noun(len(damaged), 'run')} with damaged lines; the rest of them is read as usual."
        )
    died = [run for run in runs if run.get("status_reason")]
    if died:
        yield Finding(
            "note", f"{count_noun(len(died), 'run')} ended without being closed.", "`agentdbg show` says where."
        )


def _space(data_dir: Path) -> Iterator[Finding]:
    taken, *freed = space_sentences(measure(data_dir), data_dir)
    yield Finding("ok", taken, " ".join(freed))


def _imported(script: str | None) -> Iterator[Finding]:
    """What a program imports of models and agents; it is read, not run."""
    if script is None:
        return
    if not os.path.isfile(script):
        raise UsageError(f"there is no file {script!r} here to look into")
    found = packages_imported_by(script)
    if not found:
        yield Finding(
            "note",
            f"{script} imports no model or agent package that is known here.",
            "Requests to a model's API are recorded all the same, whoever sends them; else use @llm and @tool.",
        )
    for package in found:
        by = KNOWN_PACKAGES[package]
        version = f"{package} {_version(package)}".strip()
        if not _is_there(package):
            yield Finding("problem", f"{package} is imported and not installed in this Python ({sys.executable}).")
        elif by:
            yield Finding("ok", f"{version} is recorded: {by}.", "Under `agentdbg run`, without a change.")
        else:
            yield Finding(
                "problem", f"{version} is not recorded.", "Put @llm and @tool around its calls; see docs/sdk.md."
            )


def _frameworks() -> Iterator[Finding]:
    seen = []
    for package, module in sorted([*INTEGRATIONS.items(), *offered_integrations()]):
        if _is_there(package) and _is_there(module.partition(":")[0]):
            version = f"{package} {_version(package)}".strip()
            seen.append(f"{version} ({module})")
    if seen:
        yield Finding(
            "ok", f"Frameworks we can record: {', '.join(seen)}.", "Each needs its `enable()`, or `agentdbg run`."
        )
    else:
        yield Finding(
            "note",
            "No framework that we record by itself is installed in this Python.",
            "If yours is, run the doctor with the Python your agent uses: python -m agentdbg doctor",
        )


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # the package around it is missing
        return False


def _version(package: str) -> str:
    names = importlib.metadata.packages_distributions().get(package, [])
    return importlib.metadata.version(names[0]) if names else ""


def _viewer(data_dir: Path) -> Iterator[Finding]:
    if (data_dir / "viewer.lock").exists():
        viewer = find_viewer(data_dir)
        if viewer is not None:
            yield Finding("note", f"A viewer is open at port {viewer.port}.")
