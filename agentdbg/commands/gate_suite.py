"""`agentdbg gate`: a folder of scenarios, each tried several times, as one verdict for CI."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.analysis.checks import NothingToCheck, judge
from agentdbg.analysis.checks.policy import make_policy, read_rules
from agentdbg.analysis.checks.suite import Scenario, Suite, Trial
from agentdbg.analysis.diff import compare
from agentdbg.analysis.diff.summary import Log, tell
from agentdbg.analysis.wording import count_noun
from agentdbg.commands.diff_lines import print_diff
from agentdbg.commands.options import Argument, Option, chosen_format
from agentdbg.commands.run_files import facts_of_named, is_path, read_baseline, read_run_file
from agentdbg.commands.streams import heard_or_not
from agentdbg.commands.suite_report import suite_html, suite_junit, suite_lines, suite_markdown
from agentdbg.commands.terminal import Progress, Styled, Terminal
from agentdbg.encoding import encode_json
from agentdbg.exceptions import AgentDbgError, UsageError
from agentdbg.policy_file import effect_rules, find_policy, read_policy
from agentdbg.storage.reader import default_data_dir, find_run, list_runs, load_events
from agentdbg.strict_yaml import read_strictly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.analysis.checks import Report
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_baseline import Baseline

__all__ = ["FORMATS"]

EXAMPLES = """
agentdbg gate tests/gates                             # every scenario in the folder
agentdbg gate tests/gates --trials 5 --min-pass 0.8   # agents are not steady: 4 of 5 are enough
agentdbg gate tests/gates --out agent-report          # junit.xml, summary.md, report.html, gate.json
agentdbg gate tests/gates --format markdown >> "$GITHUB_STEP_SUMMARY"
"""
_SCENARIO = "scenario.yaml"
_BASELINE = "baseline.json"
_POLICY = "policy.yaml"
_RUNS = "runs"
_KEYS = ("command", "trials", "min_pass", "runs", "timeout_s")
_TIMEOUT_S = 600.0


def command(
    folder: Annotated[str, Argument("DIR", "A folder with a folder for each scenario.")],
    trials: Annotated[
        int | None, Option("--trials", metavar="N", help="How often each command is run; 1 by default.", at_least=1)
    ] = None,
    min_pass: Annotated[
        str | None, Option("--min-pass", metavar="SHARE", help="The share of trials that has to pass; 1 by default.")
    ] = None,
    out: Annotated[
        str | None, Option("--out", "-o", metavar="FOLDER", help="Write all formats into this folder too.")
    ] = None,
    output: Annotated[
        str, Option("--format", "-f", metavar="FORMAT", help="text, json, markdown, junit or html.")
    ] = "text",
    as_json: Annotated[bool, Option("--json", help="The same as --format json.")] = False,
) -> None:
    """
    Judge a folder of scenarios as one: each has a baseline.json, and a policy.yaml if it needs rules of its own. Its
    trials are the runs in its folder runs/, or those that the command in its scenario.yaml records, tried as often as
    you say. The exit code is 0 when every scenario passes, 1 when one does not, and 2 when there is nothing to check.
    """
    output = chosen_format(output, "text", as_json=as_json)
    if output not in FORMATS:
        raise UsageError(f"--format {output} is not known; it may be {', '.join(FORMATS)}")
    options = {"trials": trials, "min_pass": min_pass}
    plans = _plans(Path(folder), {key: value for key, value in options.items() if value is not None})
    with tempfile.TemporaryDirectory(prefix="agentdbg-gate-") as scratch, Progress("Trying") as progress:
        scenarios = []
        for at, plan in enumerate(plans):
            progress.at(at / len(plans))
            scenarios.append(Scenario(plan.name, tuple(_trials(plan, Path(scratch) / str(at))), plan.min_pass))
    suite = Suite(Path(folder).resolve().name, tuple(scenarios))
    written = [] if out is None else _write_all(Path(out), suite)
    with heard_or_not():
        _print(Terminal(), suite, output, written)
    if not suite.passed:
        raise SystemExit(1)


@dataclass(frozen=True)
class _Plan:
    """One scenario as its folder describes it."""

    name: str
    folder: Path
    policy: Policy
    baseline: Baseline | None
    command: str = ""
    trials: int = 1
    min_pass: float = 1.0
    runs: tuple[str, ...] = ()
    timeout_s: float = _TIMEOUT_S


def _plans(folder: Path, options: dict[str, Any]) -> list[_Plan]:
    """The scenarios of a folder, read before the first is tried, so that a mistake in the last costs nothing."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; name one that holds a folder for each scenario")
    marks = (_SCENARIO, _BASELINE, _POLICY)
    places = [folder] if any((folder / mark).exists() for mark in marks) else sorted(folder.iterdir())
    folders = [place for place in places if place.is_dir()]
    scenarios = [place for place in folders if any((place / mark).exists() for mark in marks)]
    for place in folders:
        if place not in scenarios:
            _refuse_unjudged(place)
    found = [_plan(place, options) for place in scenarios]
    if not found:
        raise UsageError(
            f"{folder} holds no scenarios, and no checks is not a pass; "
            f"`agentdbg baseline RUN --out {folder / 'refund' / _BASELINE}` makes the first"
        )
    return found


def _refuse_unjudged(place: Path) -> None:
    """A folder that is meant as a scenario, or holds some, must not pass because nobody looks at it."""
    if (place / _RUNS).is_dir():
        raise UsageError(
            f"{place} has runs and nothing to judge them by; "
            f"`agentdbg baseline RUN --out {place / _BASELINE}` writes it"
        )
    if any(place.glob(f"*/{_BASELINE}")) or any(place.glob(f"*/{_SCENARIO}")):
        raise UsageError(f"{place} holds scenarios of its own, one level too deep; `agentdbg gate {place}` tries them")


def _plan(place: Path, options: dict[str, Any]) -> _Plan:
    written = _read_scenario(place / _SCENARIO)
    given = {**written, **options}
    baseline = read_baseline(place / _BASELINE) if (place / _BASELINE).exists() else None
    project, own = find_policy(place), place / _POLICY
    layers = [read_policy(path) for path in (project, own if own.exists() else None) if path is not None]
    policy = make_policy(*layers, read_rules({}, "the options"), with_baseline=baseline is not None)
    runs = _stored(place, given.get("runs"))
    told = str(given.get("command") or "")
    if not told and not runs:
        raise UsageError(
            f"{place} has nothing to try: put runs into {place / _RUNS} (`agentdbg export RUN --out …`), "
            f"or `command: python agent.py` into {place / _SCENARIO}"
        )
    return _Plan(
        place.name,
        place,
        policy,
        baseline,
        command=told,
        trials=int(_number(given, "trials", place, default=1, most=1000)),
        min_pass=_number(given, "min_pass", place, default=1.0, most=1.0),
        runs=tuple(runs),
        timeout_s=_number(given, "timeout_s", place, default=_TIMEOUT_S, most=86_400),
    )


def _read_scenario(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        content = read_strictly(path) or {}
    except (OSError, ValueError) as error:
        raise UsageError(f"the scenario {path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(f"the scenario {path} is not a table like `command: python agent.py`")
    unknown = next((key for key in content if key not in _KEYS), None)
    if unknown is not None:
        raise UsageError(f"the scenario {path} has {unknown!r}, which is not known; it may have {', '.join(_KEYS)}")
    return content


def _number(given: dict[str, Any], key: str, place: Path, *, default: float, most: float) -> float:
    value = given.get(key, default)
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number <= most:
        raise UsageError(f"{key} of {place} is {value!r:.40}, which is not a number over 0 and up to {most:g}")
    return number


def _stored(place: Path, named: Any) -> list[str]:
    """The runs of a scenario that are there already: files and folders, by name order."""
    patterns = [named] if isinstance(named, str) else named or [f"{_RUNS}/*"]
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise UsageError(f"runs of {place / _SCENARIO} is not a list of files like `runs/*.json`")
    return [str(path) for pattern in patterns for path in sorted(place.glob(pattern)) if not path.name.startswith(".")]


def _trials(plan: _Plan, scratch: Path) -> Iterator[Trial]:
    for run in plan.runs:
        yield _judged(plan, Path(run).name, run, default_data_dir())
    for number in range(plan.trials if plan.command else 0):
        data_dir = scratch / str(number)
        problem = _run_command(plan, data_dir)
        found = list_runs(None, data_dir) if data_dir.exists() else []
        # What a program started of its own belongs to the run that started it.
        recorded = [run["run_id"] for run in found if not (run.get("metadata") or {}).get("parent_run_id")]
        judged = [_judged(plan, plan.command, run_id, data_dir) for run_id in recorded]
        if not judged or (problem and all(trial.passed for trial in judged)):
            judged = [Trial(plan.command, problem=problem or f"`{plan.command}` recorded no run")]
        yield from judged


def _judged(plan: _Plan, name: str, run: str, data_dir: Path) -> Trial:
    try:
        report = judge(facts_of_named(run, data_dir, effect_rules(plan.policy)), plan.policy, plan.baseline)
        return Trial(name, report, against="" if report.passed else _against(plan, report, run, data_dir))
    except NothingToCheck:
        raise
    except AgentDbgError as error:
        return Trial(name, problem=str(error))


def _against(plan: _Plan, report: Report, run: str, data_dir: Path) -> str:
    """How a run that failed differs from one of the baseline, if that one is still stored."""
    stored = default_data_dir()
    for good in () if plan.baseline is None else plan.baseline.runs:
        try:
            good_id = find_run(good.run_id, stored)
        except AgentDbgError:
            continue
        events = read_run_file(Path(run)).events if is_path(run) else load_events(run, data_dir)
        found = compare(load_events(good_id, stored), events, effect_rules(plan.policy))
        facts = report.facts
        out = Terminal(written := StringIO())
        out.has_colour = False
        told = tell(found, Log(good_id), Log(facts.run_id))
        names, ids = (good.run_name, facts.run_name), (good_id[:8], facts.run_id[:8])
        print_diff(out, found, told, names, ids, stat=False)
        return written.getvalue()
    return ""


def _run_command(plan: _Plan, data_dir: Path) -> str:
    """Run a scenario's command once, recording into `data_dir`; gives why it could not be, if it could not."""
    environment = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), "AGENTDBG_GATE_SCENARIO": plan.name}
    try:
        done = subprocess.run(  # noqa: S603 -- the project's own command, as its scenario says
            shlex.split(plan.command),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=plan.timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"`{plan.command}` did not end within {plan.timeout_s:g} seconds"
    except (OSError, ValueError) as error:
        return f"`{plan.command}` could not be started: {error}"
    if not done.returncode:
        return ""
    last = next((line for line in reversed(done.stdout.decode("utf-8", "replace").splitlines()) if line.strip()), "")
    return f"`{plan.command}` exited with {done.returncode}{f': {last[:200]}' if last else ''}"


def _write_all(folder: Path, suite: Suite) -> list[Path]:
    """Write every format into a folder, which is made."""
    files = {"junit.xml": suite_junit, "summary.md": suite_markdown, "report.html": suite_html, "gate.json": _json}
    written = []
    try:
        os.makedirs(folder, exist_ok=True)
        for name, write in files.items():
            (folder / name).write_bytes(write(suite).encode("utf-8", "replace"))
            written.append(folder / name)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from None
    return written


def _json(suite: Suite) -> str:
    return encode_json(suite.as_json()).decode() + "\n"


def _print(out: Terminal, suite: Suite, output: str, written: list[Path]) -> None:
    if output == "json":
        out.json(suite.as_json())
    elif output != "text":
        out.bytes(_WRITERS[output](suite).encode("utf-8", "replace"))
    else:
        for pieces in suite_lines(suite):
            out.sentence(*pieces, hang=6)
        if written:
            names = ", ".join(path.name for path in written)
            out.sentence(
                Styled(f"Wrote {count_noun(len(written), 'file')} into {written[0].parent}: {names}.", "muted")
            )


_WRITERS: dict[str, Callable[[Suite], str]] = {"markdown": suite_markdown, "junit": suite_junit, "html": suite_html}
FORMATS = ("text", "json", *_WRITERS)
