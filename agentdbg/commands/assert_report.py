"""
A gate's report as a person, a pull request, a program or a CI server reads it.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from agentdbg.analysis.wording import count_noun, one_line
from agentdbg.commands.markdown_text import as_text, with_code
from agentdbg.commands.terminal import Styled, Terminal, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentdbg.analysis.checks import Report
    from agentdbg.analysis.checks.run_facts import CheckResult

__all__ = ["FORMATS", "junit", "markdown", "text_lines", "write_report"]

_INDENT = 4
_HANG = 6
_WHEN = re.compile(r" - \d{4}-\d\d-\d\d \d\d:\d\d$")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_report(out: Terminal, report: Report, output: str, hints: Sequence[str] = ()) -> None:
    """Print the report in one of the formats; `hints` are for a person, and stand below the text."""
    if output == "json":
        out.json(report.as_json())
    elif output == "text":
        for pieces in text_lines(report):
            out.sentence(*pieces, hang=_HANG)
        for hint in hints:
            out.sentence(Styled(hint, "muted"), hang=_HANG)
    else:
        out.bytes(_WRITERS[output](report).encode("utf-8", "replace"))


def text_lines(report: Report) -> list[list[str | Styled]]:
    """The report line by line: the verdict, every check, and under a failed one what caused it."""
    facts, failures = report.facts, report.failures
    verdict = Styled("FAIL", "error") if failures else Styled("PASS", "ok")
    lines: list[list[str | Styled]] = [
        [verdict, f"  {_counted(report)}  ", Styled(f"{facts.run_name}  {facts.run_id[:8]}", "muted")]
    ]
    width = max(len(result.name) for result in report.results)
    for result in report.results:
        mark = Styled(" ✓ ", "ok") if result.passed else Styled(" ✕ ", "error")
        style = "muted" if result.passed else ""
        lines.append([mark, Styled(result.name.ljust(width), "strong"), "  ", Styled(result.sentence, style)])
        lines += [[" " * _INDENT, Styled(line, _diff_style(line))] for line in _diff_lines(result)]
    return lines


def _counted(report: Report) -> str:
    """`1 of 6 checks failed`, `6 checks passed`."""
    checks, failed = len(report.results), len(report.failures)
    if not failed:
        return f"{count_noun(checks, 'check')} passed"
    return f"{failed} of {count_noun(checks, 'check')} failed"


def _diff_lines(result: CheckResult) -> list[str]:
    return result.diff.split("\n") if result.diff and not result.passed else []


def _diff_style(line: str) -> str:
    return {"-": "error", "+": "ok"}.get(line[:1], "muted")


def markdown(report: Report) -> str:
    """The report to paste or to post on a pull request."""
    facts = report.facts
    name = as_text(one_line(facts.run_name, 120))
    marks = {True: "✅", False: "❌"}
    rows = [f"| {marks[result.passed]} | `{result.name}` | {with_code(result.sentence)} |" for result in report.results]
    table = "\n".join(["| | check | |", "|---|---|---|", *rows])
    sections = [f"## {marks[report.passed]} {_counted(report)}: {name}", table]
    for result in report.failures:
        if result.diff:
            # A fence longer than any in the text cannot be closed by it.
            fence = "`" * max(3, *(len(found) + 1 for found in re.findall("`+", result.diff)), 3)
            body = clean(result.diff, keep_lines=True)
            sections.append(f"### {result.name}\n\n{fence}diff\n{body}\n{fence}")
    sections.append(f"Run `{facts.run_id}`; `agentdbg show {facts.run_id[:8]} --event n` shows event `#n` in full.")
    return "\n\n".join(sections) + "\n"


def junit(report: Report) -> str:
    """The report as JUnit XML: one test case for each check."""
    facts = report.facts
    seconds = f"{(facts.totals.get('duration_ms') or 0) / 1000:.3f}"
    head = f'name="agentdbg assert" tests="{len(report.results)}" failures="{len(report.failures)}" errors="0"'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f"<testsuites {head}>",
        f'<testsuite {head} skipped="0" time="{seconds}" timestamp="{_xml(facts.started_at)}">',
        f'<properties><property name="run_id" value="{_xml(facts.run_id)}"/></properties>',
    ]
    for result in report.results:
        case = f'<testcase classname="{_xml(_class_name(facts.run_name))}" name="{result.name}" time="0.000"'
        if result.passed:
            lines.append(f"{case}/>")
        else:
            told = _xml("\n".join([result.sentence, *_diff_lines(result)]))
            lines.append(f'{case}><failure message="{_xml(result.sentence)}" type="check">{told}</failure></testcase>')
    return "\n".join([*lines, "</testsuite>", "</testsuites>"]) + "\n"


def _class_name(run_name: str) -> str:
    """What a server knows a check by from one build to the next: the run's name without the time in it."""
    return clean(_WHEN.sub("", run_name))


def _xml(text: str) -> str:
    return escape(_NOT_IN_XML.sub("\ufffd", text))


_WRITERS: dict[str, Callable[[Report], str]] = {"markdown": markdown, "junit": junit}
FORMATS = ("text", "json", *_WRITERS)
