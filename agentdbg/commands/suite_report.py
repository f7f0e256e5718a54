"""A suite's results as a person, a pull request, a CI server or a browser reads them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from agentdbg.analysis.wording import count_noun, one_line
from agentdbg.commands.assert_run import fenced, junit_cases, xml
from agentdbg.commands.markdown_words import as_text, with_code
from agentdbg.commands.terminal import Styled, clean

if TYPE_CHECKING:
    from agentdbg.analysis.checks.suite import Suite, Trial

__all__ = ["suite_html", "suite_junit", "suite_lines", "suite_markdown"]

_MARKS = {True: "✅", False: "❌"}
_MOST_REASONS = 3


def suite_lines(suite: Suite) -> list[list[str | Styled]]:
    """The verdict, a line for each scenario, and under one that failed or is flaky the reasons."""
    verdict = Styled("PASS", "ok") if suite.passed else Styled("FAIL", "error")
    lines: list[list[str | Styled]] = [[verdict, f"  {_counted(suite)}"]]
    width = max((len(scenario.name) for scenario in suite.scenarios), default=0)
    for scenario in suite.scenarios:
        mark = Styled(" ✓ ", "ok") if scenario.passed else Styled(" ✕ ", "error")
        state = f"{scenario.state}: {scenario.odds()}" if scenario.is_flaky else scenario.odds()
        lines.append([mark, Styled(scenario.name.ljust(width), "strong"), f"  {state}"])
        for reason, times in scenario.reasons()[:_MOST_REASONS]:
            often = f" ({times} times)" if times > 1 else ""
            lines.append(["    ", Styled(f"{reason}{often}", "muted")])
    return lines


def _counted(suite: Suite) -> str:
    trials = sum(len(scenario.trials) for scenario in suite.scenarios)
    flaky = sum(scenario.is_flaky for scenario in suite.scenarios)
    failed = len(suite.failures)
    said = f"{failed} of {count_noun(len(suite.scenarios), 'scenario')} failed"
    if not failed:
        said = f"{count_noun(len(suite.scenarios), 'scenario')} passed"
    return f"{said}, {count_noun(trials, 'trial')}{f', {flaky} flaky' if flaky else ''}"


def suite_markdown(suite: Suite) -> str:
    """The summary for a pull request: one table, and the first failure of each scenario with its difference."""
    rows = [
        f"| {_MARKS[scenario.passed]} | {as_text(scenario.name)} | {scenario.state} | {as_text(scenario.odds())} "
        f"| {with_code(next((reason for reason, _ in scenario.reasons()), ''))} |"
        for scenario in suite.scenarios
    ]
    table = ["| | scenario | | trials | first reason |", "|---|---|---|---|---|", *rows]
    sections = [f"## {_MARKS[suite.passed]} {_counted(suite)}: {as_text(suite.name)}", "\n".join(table)]
    for scenario in suite.scenarios:
        failed = next((trial for trial in scenario.trials if not trial.passed and trial.report is not None), None)
        results = [] if failed is None or failed.report is None else failed.report.failures
        title = as_text(scenario.name)
        sections += [f"### {title}: {result.name}\n\n{fenced(result.diff)}" for result in results if result.diff]
    return "\n\n".join(sections) + "\n"


def suite_junit(suite: Suite) -> str:
    """
    One file for the whole suite: a test suite for each scenario, a test case for each check of each trial.

    What failed in a scenario that passed is flaky, and is no failure: a server that counts failures would stop the
    merge that the exit code allows. Maven's names for it are those that servers know.
    """
    suites, tests, failures, errors = [], 0, 0, 0
    for scenario in suite.scenarios:
        cases, failed, broken = [], 0, 0
        failure, error = ("flakyFailure", "flakyError") if scenario.passed else ("failure", "error")
        for number, trial in enumerate(scenario.trials, 1):
            place = f"{scenario.name}.trial {number}"
            if trial.report is None:
                broken += not scenario.passed
                told = xml(trial.problem)
                said = f'<{error} message="{told}" type="run">{told}</{error}>'
                cases.append(f'<testcase classname="{xml(place)}" name="run" time="0.000">{said}</testcase>')
            else:
                failed += 0 if scenario.passed else len(trial.report.failures)
                cases += junit_cases(trial.report, place, failed_as=failure)
        head = f'name="{xml(scenario.name)}" tests="{len(cases)}" failures="{failed}" errors="{broken}"'
        suites += [f'<testsuite {head} skipped="0">', *cases, "</testsuite>"]
        tests, failures, errors = tests + len(cases), failures + failed, errors + broken
    head = f'name="agentdbg gate" tests="{tests}" failures="{failures}" errors="{errors}"'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', f"<testsuites {head}>", *suites, "</testsuites>\n"])


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem }
:root { color-scheme: light dark }
table { border-collapse: collapse } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top }
pre { overflow-x: auto; padding: .5rem .8rem; border: 1px solid #8886; border-radius: 4px; white-space: pre-wrap }
details { margin: .4rem 0 .4rem 1rem } summary { cursor: pointer }
.ok { color: light-dark(#156a2c, #6fcf8a) } .no { color: light-dark(#b3261e, #ff8a80) }
"""


def suite_html(suite: Suite) -> str:
    """One page that needs nothing else: every scenario, every trial, every check and comparison."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{_text(suite.name)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_mark(suite.passed)} {_text(_counted(suite))}: {_text(suite.name)}</h1><table>",
        *(
            f"<tr><td>{_mark(one.passed)}</td><td><a href='#s{at}'>{_text(one.name)}</a></td>"
            f"<td>{_text(one.state)}</td><td>{_text(one.odds())}</td></tr>"
            for at, one in enumerate(suite.scenarios)
        ),
        "</table>",
    ]
    for at, scenario in enumerate(suite.scenarios):
        parts.append(
            f"<h2 id='s{at}'>{_mark(scenario.passed)} {_text(scenario.name)}</h2><p>{_text(scenario.odds())}</p>"
        )
        parts += [_trial(number, trial) for number, trial in enumerate(scenario.trials, 1)]
    return "\n".join([*parts, "</body></html>\n"])


def _trial(number: int, trial: Trial) -> str:
    report = trial.report
    rows = []
    for result in () if report is None else report.results:
        diff = f"<pre>{_text(result.diff, keep_lines=True)}</pre>" if result.diff and not result.passed else ""
        said = f"<td>{_mark(result.passed)}</td><td>{_text(result.name)}</td><td>{_text(result.sentence)}{diff}</td>"
        rows.append(f"<tr>{said}</tr>")
    body = f"<table>{''.join(rows)}</table>" if rows else f"<p class='no'>{_text(trial.problem)}</p>"
    if trial.against:
        compared = f"<pre>{_text(trial.against, keep_lines=True)}</pre>"
        body += f"<details><summary>Compared with a run of the baseline</summary>{compared}</details>"
    run = "" if report is None else f", run {report.facts.run_id[:8]}"
    title = f"{_mark(trial.passed)} Trial {number}: {_text(one_line(trial.name, 120))}{_text(run)}"
    return f"<details{'' if trial.passed else ' open'}><summary>{title}</summary>{body}</details>"


def _mark(passed: bool) -> str:
    return "<span class='ok'>✓</span>" if passed else "<span class='no'>✕</span>"


def _text(text: str, *, keep_lines: bool = False) -> str:
    return escape(clean(text, keep_lines=keep_lines))
