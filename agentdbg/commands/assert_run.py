"""`agentdbg assert`: a gate that passes or fails a run, and says why."""

from __future__ import annotations

import contextlib
import shlex
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.analysis.checks import judge
from agentdbg.analysis.checks.policy import make_policy, read_rules
from agentdbg.commands.assert_files import facts_of_named, file_of, read_baseline
from agentdbg.commands.assert_report import FORMATS, write_report
from agentdbg.commands.options import Argument, Option, chosen_format
from agentdbg.commands.run_files import is_path
from agentdbg.commands.streams import heard_or_not
from agentdbg.commands.terminal import Terminal
from agentdbg.exceptions import AgentDbgError, UsageError
from agentdbg.policy_file import effect_rules, find_policy, read_policy
from agentdbg.storage.reader import default_data_dir, find_run

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.analysis.checks import Report

EXAMPLES = """
agentdbg assert latest --baseline tests/refund.json
agentdbg assert latest --max-tokens 20000 --must-call search --must-not-call 'delete_*'
agentdbg assert a41f -b refund.json --format markdown
agentdbg assert a41f -b refund.json --json | jq .passed
agentdbg assert a41f --effects none --loops none      # a dry run that changes nothing
"""
_AMOUNT = "N"
_NO_RULES = ("run", "baseline_file", "policy_file", "output", "as_json")


def command(
    run: Annotated[
        str, Argument("[RUN]", "A run: its id, a unique prefix, `latest`, or a file or folder.", "runs")
    ] = "latest",
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
    Check a run against a baseline, a policy and limits, and fail for the right reason: how it ended, errors, loops,
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
    policy_path = find_policy() if policy_file is None else file_of("--policy", policy_file)
    from_file = {} if policy_path is None else read_policy(policy_path)
    baseline = None if baseline_file is None else read_baseline(file_of("--baseline", baseline_file))
    policy = make_policy(from_file, read_rules(given, "the options"), with_baseline=baseline is not None)
    data_dir = default_data_dir()
    facts = facts_of_named(run, data_dir, effect_rules(policy))
    report = judge(facts, policy, baseline)
    hints = _what_to_look_at(run, report, data_dir)
    with heard_or_not():
        write_report(Terminal(), report, output, hints)
    if not report.passed:
        raise SystemExit(1)


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
