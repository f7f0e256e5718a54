"""`agentdbg baseline`: keep what good runs have in common, to compare later runs with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from agentdbg.analysis.checks.run_baseline import Baseline, baseline_of, combine
from agentdbg.analysis.checks.run_facts import joined
from agentdbg.analysis.checks.side_effects import policy_stub
from agentdbg.analysis.wording import count_noun
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.run_files import baseline_bytes, facts_of_named, file_of, write_baseline
from agentdbg.commands.terminal import Terminal, problem
from agentdbg.exceptions import UsageError
from agentdbg.policy_file import POLICY_FILE, effect_rules, find_policy, tools_policy
from agentdbg.storage.reader import default_data_dir

if TYPE_CHECKING:
    from agentdbg.analysis.checks.policy import Policy

EXAMPLES = """
agentdbg baseline latest                              # look at it
agentdbg baseline latest --out tests/refund.json      # keep it
agentdbg baseline a41f 77c0 19be --out refund.json    # several runs: it knows its own noise
"""


def command(
    runs: Annotated[list[str], Argument("RUN...", "Good runs: ids, unique prefixes, `latest`, or files.", "runs")],
    out: Annotated[str, Option("--out", "-o", metavar="FILE", help="Where to; `-` is standard output.")] = "-",
    policy_file: Annotated[
        str | None,
        Option("--policy", metavar="FILE", help="The policy that says which tools have side effects."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print the baseline, also when it is written to a file.")] = False,
) -> None:
    """
    Create a baseline from good runs: how they ended, which tools they called, what they changed outside with which
    arguments, and what they spent. The file is small and meant to be reviewed and committed; `agentdbg assert` compares
    later runs with it. Made from several runs it knows how much good runs differ.
    """
    policy = tools_policy(find_policy() if policy_file is None else file_of("--policy", policy_file))
    data_dir, rules = default_data_dir(), effect_rules(policy)
    facts = [facts_of_named(run, data_dir, rules) for run in runs]
    for one in facts:
        if one.status == "running":
            raise UsageError(f"run {one.run_id[:8]} is still being recorded; wait for its end")
        gaps = one.gaps()
        if gaps:
            raise UsageError(f"run {one.run_id[:8]} is not whole: {gaps[0]} Take another run")
        if one.status != "ok":
            problem(f"run {one.run_id[:8]} ended with an error, and the baseline will expect that")
    baseline = combine(baseline_of(one) for one in facts)
    if out != "-":
        write_baseline(file_of("--out", out), baseline)
    if out == "-" or as_json:
        Terminal().bytes(baseline_bytes(baseline))
    else:
        _say(Terminal(), out, baseline, policy)


def _say(out: Terminal, path: str, baseline: Baseline, policy: Policy) -> None:
    out.sentence(f"Wrote {path}: {count_noun(len(baseline.runs), 'run')}, {_effects_text(baseline)}.")
    if len(baseline.effects) > 1:
        out.sentence(f"These runs had {len(baseline.effects)} different sets of side effects; each will be accepted.")
    calls = [call for variant in baseline.effects for call in variant.calls]
    guessed = dict.fromkeys(call.name for call in calls if call.source == "guessed")
    if guessed:
        out.sentence(
            f"That {joined(guessed)} {'has' if len(guessed) == 1 else 'have'} side effects is a guess from the name; "
            "`@tool(effect=...)`, or `write_tools` and `read_tools` in the policy, settle it."
        )
    unknown = dict.fromkeys(call.name for call in baseline.unknown_calls)
    if unknown:
        _say_unknown(out, list(unknown), policy)
    out.sentence(f"Compare a run with it: agentdbg assert RUN --baseline {path}")


def _say_unknown(out: Terminal, tools: list[str], policy: Policy) -> None:
    it, does, each = ("it", "writes or reads", "it") if len(tools) == 1 else ("they", "write or read", "each")
    out.sentence(
        f"Side effects unknown: {joined(tools)}. A run with other calls of {'it' if it == 'it' else 'them'} will fail "
        f"until the policy ({POLICY_FILE}) says whether {it} {does}. Keep {each} in one of these lines:"
    )
    for line in policy_stub(tools, policy):
        out.line(line, indent=2, cut=False)


def _effects_text(baseline: Baseline) -> str:
    """`1 side effect`, `2 to 3 side effects`, `0 side effects, 4 calls with unknown ones`."""
    counts = [len(variant.calls) for variant in baseline.effects]
    most = count_noun(max(counts), "side effect")
    known = most if min(counts) == max(counts) else f"{min(counts)} to {most}"
    unknown = len(baseline.unknown_calls)
    return f"{known}, {count_noun(unknown, 'call')} with unknown ones" if unknown else known
