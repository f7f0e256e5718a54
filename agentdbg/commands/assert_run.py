"""
`agentdbg assert`: a gate that passes or fails a run, and says why.

A gate's report as a person, a pull request, a program or a CI server reads it.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shlex
from html import escape
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.analysis.checks import judge
from agentdbg.analysis.checks.policy import make_policy, read_rules
from agentdbg.analysis.wording import count_noun, one_line
from agentdbg.commands.markdown_words import as_text, with_code
from agentdbg.commands.options import Argument, Option, chosen_format
from agentdbg.commands.run_files import facts_of_named, file_of, is_path, read_baseline
from agentdbg.commands.streams import heard_or_not
from agentdbg.commands.terminal import Styled, Terminal, clean
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import AgentDbgError, UsageError
from agentdbg.policy_file import effect_rules, find_policy, read_policy
from agentdbg.storage.reader import default_data_dir, find_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agentdbg.analysis.checks import Report
    from agentdbg.analysis.checks.run_facts import CheckResult

__all__ = ["FORMATS", "fenced", "junit", "junit_cases", "markdown", "xml"]

EXAMPLES = """
agentdbg assert latest --baseline tests/refund.json
agentdbg assert latest --max-tokens 20000 --must-call search --must-not-call 'delete_*'
agentdbg assert a41f -b refund.json --format markdown
agentdbg assert a41f -b refund.json --json | jq .passed
agentdbg assert a41f --effects none --loops none      # a dry run that changes nothing
agentdbg assert 'agent-runs/*.json' -b refund.json    # several runs at once
"""
_AMOUNT = "N"
_NO_RULES = ("runs", "baseline_file", "policy_file", "output", "as_json")


def command(
    runs: Annotated[
        list[str] | None,
        Argument("[RUN...]", "Runs: ids, unique prefixes, `latest`, files or folders, also with `*`.", "runs"),
    ] = None,
    baseline_file: Annotated[
        str | None, Option("--baseline", "-b", metavar="FILE", help="What `agentdbg baseline` made of good runs.")
    ] = None,
    policy_file: Annotated[
        str | None, Option("--policy", metavar="FILE", help="The policy; .agentdbg/policy.yaml by default.")
    ] = None,
    output: Annotated[
        str, Option("--format", "-f", metavar="FORMAT", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    ] = "text",
    as_json: Annotated[bool, Option("--json", help="The same as --format json.")] = False,
    status: Annotated[str | None, Option("--status", metavar="STATUS", help="ok, error or baseline.")] = None,
    max_errors: Annotated[str | None, Option("--max-errors", metavar=_AMOUNT, help="At most so many errors.")] = None,
    loops: Annotated[str | None, Option("--loops", metavar="WHICH", help="none, baseline or off.")] = None,
    findings: Annotated[str | None, Option("--findings", metavar="WHICH", help="none, baseline or off.")] = None,
    must_not_find: Annotated[
        list[str] | None, Option("--must-not-find", metavar="A,B,...", help="Kinds of findings that must not be there.")
    ] = None,
    must_call: Annotated[
        list[str] | None, Option("--must-call", metavar="A,B,...", help="Tools that have to be called.")
    ] = None,
    must_not_call: Annotated[
        list[str] | None, Option("--must-not-call", metavar="A,B,...", help="Tools that must not be called.")
    ] = None,
    order: Annotated[
        str | None, Option("--order", metavar="A,B,...", help="No tool before those that stand before it.")
    ] = None,
    effects: Annotated[str | None, Option("--effects", metavar="WHICH", help="baseline, none or off.")] = None,
    answer: Annotated[
        str | None, Option("--answer", metavar="WHICH", help="facts: no other figures than the baseline's answer.")
    ] = None,
    tools: Annotated[
        str | None, Option("--tools", metavar="A,B,...", help="No tools but these, or `baseline`.")
    ] = None,
    max_steps: Annotated[
        str | None, Option("--max-steps", metavar=_AMOUNT, help="Model and tool calls: a number or `baseline`.")
    ] = None,
    max_llm_calls: Annotated[str | None, Option("--max-llm-calls", metavar=_AMOUNT, help="Model calls.")] = None,
    max_tool_calls: Annotated[str | None, Option("--max-tool-calls", metavar=_AMOUNT, help="Tool calls.")] = None,
    max_tokens: Annotated[str | None, Option("--max-tokens", metavar=_AMOUNT, help="Tokens.")] = None,
    max_cost_usd: Annotated[str | None, Option("--max-cost-usd", metavar=_AMOUNT, help="US dollars.")] = None,
    max_duration_s: Annotated[str | None, Option("--max-duration-s", metavar=_AMOUNT, help="Seconds.")] = None,
    tolerance: Annotated[
        str | None, Option("--tolerance", metavar="SHARE", help="How much over the baseline's largest: 0.75.")
    ] = None,
    write_tools: Annotated[
        list[str] | None, Option("--write-tools", metavar="A,B,...", help="Tools with side effects; `*` allowed.")
    ] = None,
    read_tools: Annotated[
        list[str] | None, Option("--read-tools", metavar="A,B,...", help="Tools without side effects.")
    ] = None,
    ignore_args: Annotated[
        list[str] | None, Option("--ignore-args", metavar="A,B,...", help="Arguments that are not compared.")
    ] = None,
) -> None:
    """
    Check runs against a baseline, a policy and limits, and fail for the right reason: how it ended, errors, loops,
    calls that have to be made and calls that must not, the same side effects, no other tools, budgets. Options beat the
    policy file, and `off` takes a check away. The exit code is 0 when every check holds, 1 when one does not, and 2
    when there is nothing to check.
    """
    # Exactly what was given: the names of the parameters are the names of the rules.
    given: dict[str, Any] = {
        key: value for key, value in locals().items() if key not in _NO_RULES and value is not None
    }
    output = chosen_format(output, "text", as_json=as_json)
    if output not in FORMATS:
        raise UsageError(f"--format {output} is not known; it may be {', '.join(FORMATS)}")
    if not _all_pass(runs or ["latest"], baseline_file, policy_file, output, given):
        raise SystemExit(1)


def _all_pass(
    runs: list[str], baseline_file: str | None, policy_file: str | None, output: str, given: dict[str, Any]
) -> bool:
    """Judge the runs by what was given, and say how each of them did."""
    policy_path = find_policy() if policy_file is None else file_of("--policy", policy_file)
    from_file = {} if policy_path is None else read_policy(policy_path)
    baseline = None if baseline_file is None else read_baseline(file_of("--baseline", baseline_file))
    policy = make_policy(from_file, read_rules(given, "the options"), with_baseline=baseline is not None)
    data_dir = default_data_dir()
    named = _named_runs(runs)
    reports = [judge(facts_of_named(run, data_dir, effect_rules(policy)), policy, baseline) for run in named]
    hints = [_what_to_look_at(run, report, data_dir) for run, report in zip(named, reports, strict=True)]
    with heard_or_not():
        write_reports(Terminal(), reports, output, hints)
    return all(report.passed for report in reports)


def _named_runs(given: list[str]) -> list[str]:
    """The runs that were named, a pattern with `*` as the files and folders it matches."""
    found: dict[str, None] = {}
    for run in given:
        matches = sorted(glob.glob(run)) if glob.has_magic(run) and not os.path.lexists(run) else [run]
        if not matches:
            raise UsageError(f"nothing matches {run!r}; name runs, or files that are there")
        found.update(dict.fromkeys(matches))
    # A folder of this folder needs its dot, or it would be looked up as the id of a run.
    return [os.path.join(".", run) if run not in given and not is_path(run) else run for run in found]


def _what_to_look_at(run: str, report: Report, data_dir: Path) -> list[str]:
    """Commands that show why a run did not pass: the first event at fault, and a run of the baseline beside it."""
    said, run_id = [], report.facts.run_id[:8]
    at_fault = next((event for result in report.failures for event in result.events if event.number), None)
    if at_fault is not None and not is_path(run):
        said.append(f"agentdbg show {run_id} --event {at_fault.number} shows #{at_fault.number} in full.")
    for good in () if report.passed or report.baseline is None else report.baseline.runs:
        with contextlib.suppress(AgentDbgError):
            stored = find_run(good.run_id, data_dir)
            if stored != report.facts.run_id:
                named = shlex.quote(run) if is_path(run) else run_id
                return [*said, f"agentdbg diff {stored[:8]} {named} compares it with a run of the baseline."]
    return said


_INDENT = 4
_HANG = 6
_WHEN = re.compile(r" - \d{4}-\d\d-\d\d \d\d:\d\d$")
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_reports(out: Terminal, reports: Sequence[Report], output: str, hints: Sequence[Sequence[str]]) -> None:
    """Print the reports in one of the formats; `hints` are for a person, and stand below the text."""
    if output == "json":
        passed = all(report.passed for report in reports)
        several = {"spec_version": SPEC_VERSION, "passed": passed, "runs": [report.as_json() for report in reports]}
        out.json(reports[0].as_json() if len(reports) == 1 else several)
    elif output != "text":
        out.bytes(_WRITERS[output](reports).encode("utf-8", "replace"))
    else:
        for report, said in zip(reports, hints, strict=True):
            for pieces in text_lines(report):
                out.sentence(*pieces, hang=_HANG)
            for hint in said:
                out.sentence(Styled(hint, "muted"), hang=_HANG)
        failed = sum(not report.passed for report in reports)
        if len(reports) > 1:
            out.sentence(f"{failed or 'None'} of {len(reports)} runs failed.")


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


def markdown(reports: Sequence[Report]) -> str:
    """The reports to paste or to post on a pull request."""
    return "\n".join(_markdown(report) for report in reports)


def _markdown(report: Report) -> str:
    facts = report.facts
    name = as_text(one_line(facts.run_name, 120))
    marks = {True: "✅", False: "❌"}
    rows = [f"| {marks[result.passed]} | `{result.name}` | {with_code(result.sentence)} |" for result in report.results]
    table = "\n".join(["| | check | |", "|---|---|---|", *rows])
    sections = [f"## {marks[report.passed]} {_counted(report)}: {name}", table]
    sections += [f"### {result.name}\n\n{fenced(result.diff)}" for result in report.failures if result.diff]
    sections.append(f"Run `{facts.run_id}`; `agentdbg show {facts.run_id[:8]} --event n` shows event `#n` in full.")
    return "\n\n".join(sections) + "\n"


def fenced(diff: str) -> str:
    """A difference as a block of code that nothing in it can close: its fence is longer than any there."""
    fence = "`" * max(3, *(len(found) + 1 for found in re.findall("`+", diff)), 3)
    return f"{fence}diff\n{clean(diff, keep_lines=True)}\n{fence}"


def junit(reports: Sequence[Report]) -> str:
    """The reports as JUnit XML: one test suite for each run, one test case for each check."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<testsuites {_junit_head(reports)}>"]
    for report in reports:
        facts = report.facts
        seconds = f"{(facts.totals.get('duration_ms') or 0) / 1000:.3f}"
        lines += [
            f'<testsuite {_junit_head([report])} skipped="0" time="{seconds}" timestamp="{xml(facts.started_at)}">',
            f'<properties><property name="run_id" value="{xml(facts.run_id)}"/></properties>',
            *junit_cases(report, _class_name(facts.run_name)),
            "</testsuite>",
        ]
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _junit_head(reports: Sequence[Report]) -> str:
    tests, failures = (sum(map(len, found)) for found in zip(*((r.results, r.failures) for r in reports), strict=True))
    return f'name="agentdbg assert" tests="{tests}" failures="{failures}" errors="0"'


def junit_cases(report: Report, class_name: str, *, failed_as: str = "failure") -> list[str]:
    """The checks of one run as test cases; `failed_as` names the element of those that failed."""
    cases = []
    for result in report.results:
        case = f'<testcase classname="{xml(class_name)}" name="{result.name}" time="0.000"'
        if result.passed:
            cases.append(f"{case}/>")
        else:
            told = xml("\n".join([result.sentence, *_diff_lines(result)]))
            failed = f'<{failed_as} message="{xml(result.sentence)}" type="check">{told}</{failed_as}>'
            cases.append(f"{case}>{failed}</testcase>")
    return cases


def _class_name(run_name: str) -> str:
    """What a server knows a check by from one build to the next: the run's name without the time in it."""
    return clean(_WHEN.sub("", run_name))


def xml(text: str) -> str:
    """A text as it may stand in XML."""
    return escape(_NOT_IN_XML.sub("\ufffd", text))


_WRITERS: dict[str, Callable[[Sequence[Report]], str]] = {"markdown": markdown, "junit": junit}
FORMATS = ("text", "json", *_WRITERS)
