"""
What a test expects of its run: rules and baselines, from its marker, the project's policy and its own assertions.

With `--agentdbg-update` a baseline is not compared but collected, and written when the session ends.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis.checks import judge
from agentdbg.analysis.checks.policy import make_policy, read_rules
from agentdbg.analysis.checks.run_baseline import Baseline, baseline_of, combine, parse_baseline
from agentdbg.commands.run_files import read_baseline, write_baseline
from agentdbg.commands.terminal import clean
from agentdbg.exceptions import UsageError
from agentdbg.policy_file import effect_rules_of, find_policy, read_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentdbg.analysis.checks import Report
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.checks.run_facts import RunFacts
    from agentdbg.analysis.effects import EffectRules
    from agentdbg.pytest_plugin.tested_run import RecordedRun

__all__ = ["Accepted", "Expectations", "write_collected"]

_MARKER = "@pytest.mark.agentdbg"


class Expectations:
    """The expectations of one test: `folder` has its baselines, and its policy is above there or above `root`."""

    def __init__(self, folder: Path, root: Path, *, update: bool) -> None:
        self._folder = folder
        self._root = root
        self._update = update
        self.collected: dict[Path, Baseline] = {}
        """The baselines this test would write, by file."""
        self._not_held: set[Path] = set()

    def check_marked(self, run: RecordedRun, given: Mapping[str, Any]) -> None:
        """Make the checks that a test's markers ask for, over the project's policy."""
        __tracebackhide__ = True
        rules = dict(given)
        baseline, policy_file = rules.pop("baseline", None), rules.pop("policy", None)
        path = self._policy() if policy_file is None else self._file("policy", policy_file)
        self._check(run, baseline, {} if path is None else read_policy(path), read_rules(rules, _MARKER))

    def check(self, run: RecordedRun, baseline: str | Path | Baseline | None, rules: Mapping[str, Any]) -> None:
        """Make the checks that a test asks for itself; the policy's names of tools hold there too."""
        __tracebackhide__ = True
        path = self._policy()
        from_file = {} if path is None else read_policy(path)
        names = {key: value for key, value in from_file.items() if key in ("write_tools", "read_tools", "ignore_args")}
        try:
            self._check(run, baseline, names, read_rules(rules, "this check"))
        except UsageError as error:
            reason = str(error)
        else:
            return
        # What is wrong with the check is no failure of the agent, and the stack below it helps nobody.
        raise AssertionError(reason)

    def effect_rules(self) -> EffectRules:
        """Which tools have side effects in this project."""
        return effect_rules_of(self._policy())

    def as_texts(self) -> list[tuple[str, str, bool]]:
        """The collected baselines as processes can send them to each other: path, JSON, whether the file holds yet."""
        return [
            (str(path), json.dumps(baseline.as_json()), path not in self._not_held)
            for path, baseline in self.collected.items()
        ]

    def _policy(self) -> Path | None:
        """The project's policy: the nearest above the test, for a repository may hold several projects."""
        return find_policy(self._folder) or find_policy(self._root)

    def _file(self, what: str, given: Any) -> Path:
        """A file that a test names, beside the test."""
        if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
            raise UsageError(f"{what} is {given!r:.60}; it is the name of a file beside the test")
        return (self._folder / given).absolute()

    def _check(self, run: RecordedRun, baseline: str | Path | Baseline | None, *layers: Mapping[str, Any]) -> None:
        __tracebackhide__ = True
        policy = make_policy(*layers, with_baseline=baseline is not None)
        facts = run.facts(policy)
        expected = baseline if isinstance(baseline, Baseline) else None
        if baseline is not None and expected is None:
            path = self._file("baseline", baseline)
            if self._update:
                if facts.status == "running":
                    raise UsageError(f"run {facts.run_id[:8]} is still being recorded, and cannot be a baseline yet")
                known, new = self.collected.get(path), baseline_of(facts)
                # Each example of hypothesis is a run of its own.
                is_another = known is not None and new.runs[0] not in known.runs
                self.collected[path] = combine([known, new]) if known is not None and is_another else new
                if not _holds(path, facts, policy):
                    self._not_held.add(path)
            expected = self.collected[path] if self._update else _stored(path)
        report = judge(facts, policy, expected)
        if not report.passed:
            raise AssertionError(_failure_text(report))


def _stored(path: Path) -> Baseline:
    if not path.exists():
        raise UsageError(f"there is no baseline {path} yet; `pytest --agentdbg-update` accepts this run as the first")
    return read_baseline(path)


def _holds(path: Path, facts: RunFacts, policy: Policy) -> bool:
    """Whether a run would pass against the baseline that is stored."""
    try:
        return judge(facts, policy, read_baseline(path)).passed
    except UsageError:
        return False


def _failure_text(report: Report) -> str:
    """The checks that do not hold, the first of them first, and the way out where a baseline is the reason."""
    lines: list[str] = []
    for result in report.failures:
        lines.append(f"{result.name}: {clean(result.sentence)}")
        lines += [f"  {clean(line)}" for line in result.diff.split("\n") if line]
    if not report.facts.steps:
        lines.append(
            "No call was recorded in this test. A fixture that runs the agent is recorded if it takes agentdbg_run."
        )
    if report.baseline is not None and report.baseline.runs[0].run_id:
        lines.append("If this is what the agent should do now: pytest --agentdbg-update")
    return "\n".join(lines)


class Accepted(NamedTuple):
    """A baseline of a session: its file, how many runs made it, and whether the file had to be written."""

    path: Path
    runs: int
    is_written: bool


def write_collected(collected: Iterable[tuple[str, str, bool]], accepted: list[Accepted]) -> str:
    """
    Write the baselines of a session, as `as_texts` gives them; `accepted` gets each of them. Gives what went wrong.

    A file that says the same already is left alone: new ids and times in it would be noise in a review.
    """
    try:
        _write_collected(collected, accepted)
    except UsageError as error:
        return str(error)
    return ""


def _write_collected(collected: Iterable[tuple[str, str, bool]], accepted: list[Accepted]) -> None:
    by_path: dict[str, list[Baseline]] = {}
    news: set[str] = set()
    for path, content, holds in collected:
        by_path.setdefault(path, []).append(parse_baseline(json.loads(content), path))
        if not holds:
            news.add(path)
    for path, baselines in by_path.items():
        # In one order whatever order the tests ran in, on however many workers.
        baseline = combine(sorted(baselines, key=lambda one: (one.runs[0].run_name, one.runs[0].started_at)))
        is_written = path in news or _content(read_baseline(Path(path))) != _content(baseline)
        if is_written:
            write_baseline(Path(path), baseline)
        accepted.append(Accepted(Path(path), len(baseline.runs), is_written))


def _content(baseline: Baseline) -> dict[str, Any]:
    """
    A baseline without what is different each time: ids, times, in which order its runs were made, and how many of them
    were the same. So one run may be the baseline of several tests, and stay as it is.
    """
    content = baseline.as_json()
    content["totals"].pop("duration_ms", None)
    content.pop("answers", None)  # which are in other words each time
    columns = [*content.pop("tools").items(), *content.pop("totals").items()]
    each = range(len(baseline.runs))
    content["runs"] = sorted({str([(name, numbers[at]) for name, numbers in columns]) for at in each})
    content["effects"] = sorted({str(variant["calls"]) for variant in content["effects"]})
    return content
