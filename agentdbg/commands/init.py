"""
`agentdbg init`: the files a project needs to test its agent.

What `agentdbg init` writes: a policy with every rule explained, a first test that passes, a CI workflow.

The tools of a project's runs of which nobody knows whether they change anything, for the policy `init` writes.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agentdbg.analysis.checks.run_facts import joined
from agentdbg.analysis.checks.side_effects import policy_stub
from agentdbg.analysis.effects import read_effects
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.terminal import Styled, Terminal
from agentdbg.exceptions import UsageError
from agentdbg.policy_file import POLICY_FILE, effect_rules, tools_policy
from agentdbg.storage.reader import default_data_dir, list_runs, load_events

if TYPE_CHECKING:
    from agentdbg.analysis.checks.policy import Policy

__all__ = ["POLICY", "WORKFLOW", "unknown_tools"]

EXAMPLES = """
agentdbg init
agentdbg init ../shop-agent
agentdbg init --force        # write all of it anew
"""

_TEST = Path("tests") / "test_agent.py"


def command(
    folder: Annotated[str, Argument("[FOLDER]", "The project's folder.")] = ".",
    force: Annotated[bool, Option("--force", help="Replace files that are there already.")] = False,
) -> None:
    """
    Write what a project needs to test its agent: a policy with every rule explained, a first test that passes as it is,
    and a CI workflow. The policy has a stub for the tools of your latest runs whose side effects are unknown. A file
    that is there already is left as it is.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"there is no folder {root}; make it first, or name another one")
    out = Terminal()
    is_new = force or not os.path.lexists(root / POLICY_FILE)
    policy = tools_policy(None if is_new else root / POLICY_FILE)
    unknown = unknown_tools(policy)
    width = max(len(str(path)) for path, _, _ in _FILES)
    written: set[Path] = set()
    for path, content, what in _FILES:
        stub = stub_for(unknown, policy) if path == POLICY_FILE else ""
        if _write(root / path, content + stub, force=force):
            written.add(path)
            head, note = Styled("wrote  ", "ok"), what
        else:
            head, note = Styled("kept   ", "warn"), "it is there already; --force replaces it"
        out.sentence(head, str(path).ljust(width), Styled(f"  {note}", "muted"), hang=7)
    if unknown:
        _say_unknown(out, unknown, "" if POLICY_FILE in written else stub_for(unknown, policy))
    out.line()
    out.sentence("Next:" if folder == "." else f"Next, in {folder}:")
    steps = (
        (f"pytest {_TEST}", "it passes; put your agent into it" if _TEST in written else "your own test"),
        ("agentdbg assert latest", "the policy, on the latest run you recorded"),
    )
    for typed, what in steps:
        out.sentence(f"{typed.ljust(28)}", Styled(what, "muted"), indent=2, hang=2)


def _say_unknown(out: Terminal, tools: list[str], stub: str) -> None:
    """Name the tools that somebody has to settle, and what to add to a policy that was kept."""
    out.line()
    out.sentence(f"Side effects unknown: {joined(tools)}. Say in {POLICY_FILE} what they do{':' if stub else '.'}")
    for line in stub.splitlines()[3:]:
        out.line(line.removeprefix("# "), indent=2, cut=False)


def _write(path: Path, content: str, *, force: bool) -> bool:
    """Write a file of the project; False when one is there and may not be replaced."""
    try:
        os.makedirs(path.parent, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {path.parent} cannot be made: {error.strerror}") from None
    try:
        # Exclusive, so that a file made in between is not lost either.
        with open(path, "w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(content)
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    return True


POLICY = """\
# What every run of this project's agent has to hold.
# `agentdbg assert RUN` and tests marked with @pytest.mark.agentdbg read this file.
# Options of the command and arguments of the marker beat it, rule by rule; `off` takes a rule away.
# A word that is no rule is refused, so a typing mistake does not switch a check off.

# How the run has to end: ok, error, or as in the baseline.
status: ok

# No loop of warning or worse; with `baseline` none that the baseline does not have.
loops: none

# No other finding of warning or worse, such as an error that was swallowed; with `baseline` no new one.
# findings: none

# At most so many failed calls and recorded errors. Good agents recover from some.
# max_errors: 0

# Findings of `agentdbg explain` that must not be there.
# must_not_find: [swallowed_error, unknown_tool]

# Tools that have to be called, tools that must not be, and which may not come before which. `*` is allowed.
# must_call: [search]
# must_not_call: [delete_*]
# order: [check_identity, refund]

# The same calls with side effects, with the same arguments, as a run of the baseline; `none` for no side effects.
# With a baseline this is asked anyway, and so are status, loops, findings, max_tokens and max_cost_usd.
# effects: baseline

# The answer contradicts no figure or date of the baseline's, in whatever words.
# answer: facts

# Which tools have side effects. What is not named, here or by @tool(effect="write"), is guessed from its name.
# Where a name says nothing (`bash`), nobody knows: a call that the baseline does not have fails until it is named here.
# write_tools: [book_*, send_email]
# read_tools: [update_view]

# Arguments that differ every time and are not compared.
# ignore_args: [sent_at, pay.nonce]

# No other tools than these, or than those of the baseline. Strict: good runs often use different tools.
# tools: [search, refund]

# Budgets: a number, or `baseline` for what the baseline's largest run needed and the tolerance on top of it.
# max_steps: 40
# max_llm_calls: 20
# max_tool_calls: 30
# max_tokens: baseline
# max_cost_usd: 0.25
# max_duration_s: 120
# tolerance: 0.75
"""

FIRST_TEST = '''\
"""What the agent does, held by tests: `agentdbg_run` records what happens in a test and gives it back."""

import pytest

from agentdbg import record_llm_call, tool


# A stand-in, so that this file runs as it is. Put your own agent in its place: what it records, or what its framework
# records (`agentdbg.integrations`), is all the tests look at.
@tool
def find_order(order_id):
    return {"order_id": order_id, "paid": 40}


@tool(effect="write")
def refund(order_id, amount):
    return {"refunded": amount}


def run_agent(question):
    record_llm_call("a-model", prompt=question, response="I look the order up.")
    order = find_order("A-17")
    refund(order["order_id"], order["paid"])
    record_llm_call("a-model", prompt=question, response="You get 40 back.")


def test_a_refund_is_paid_once(agentdbg_run):
    run_agent("I want my money back for order A-17")

    assert agentdbg_run.tools == ["find_order", "refund"]
    assert agentdbg_run.answer == "You get 40 back."
    agentdbg_run.assert_effects([("refund", {"order_id": "A-17", "amount": 40})])
    agentdbg_run.assert_no_loops()


# The rules are those of .agentdbg/policy.yaml, and the ones given here. To compare with a run you have looked at, add
# baseline="refund.json" and accept that run with `pytest --agentdbg-update`.
@pytest.mark.agentdbg(must_call=["refund"], max_steps=10)
def test_a_refund_keeps_to_the_policy():
    run_agent("I want my money back for order A-17")
'''

WORKFLOW = """\
name: agent

on: [push, pull_request]

permissions:
  contents: read

jobs:
  agent:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      # Install your own package here too: pip install -e .
      # AgentDbg comes from where you keep it: a folder of your repository, a wheel, an index of your own. (The package
      # called agentdbg on the public index is another project.)
      - run: pip install ./tools/agentdbg pytest
      - run: pytest tests/test_agent.py --agentdbg-dir agent-runs
      # Scenarios with baselines, each tried several times: `agentdbg gate --help` says how. Skipped without any.
      - if: always() && hashFiles('tests/gates/**') != ''
        run: agentdbg gate tests/gates --out agent-report
      - if: always() && hashFiles('agent-report/summary.md') != ''
        run: cat agent-report/summary.md >> "$GITHUB_STEP_SUMMARY"
      # What the agent did in a test that failed: AGENTDBG_DATA_DIR=agent-runs/TEST agentdbg view
      # The report is one page with every comparison. Secrets are taken out before anything is stored; prompts and
      # answers are there.
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: agent-report
          path: |
            agent-report
            agent-runs
          if-no-files-found: ignore
"""

_FILES = (
    (POLICY_FILE, POLICY, "what every run has to hold"),
    (_TEST, FIRST_TEST, "a first test; put your agent into it"),
    (Path(".github") / "workflows" / "agent.yml", WORKFLOW, "the tests in CI, with the runs of those that fail"),
)


_MOST_RUNS = 20
_MOST_EVENTS = 10_000
_MOST_TOOLS = 40


def unknown_tools(policy: Policy) -> list[str]:
    """Tools of the latest runs whose side effects are unknown under a policy, by their names."""
    data_dir, rules = default_data_dir(), effect_rules(policy)
    found: set[str] = set()
    for run in list_runs(_MOST_RUNS, data_dir):
        events = islice(load_events(run["run_id"], data_dir), _MOST_EVENTS)
        found.update(call.name for call in read_effects(events, rules).found() if not call.is_known)
    return sorted(found - {""})[:_MOST_TOOLS]


def stub_for(tools: list[str], policy: Policy) -> str:
    """The lines of a policy in which somebody who knows the tools says what they do."""
    if not tools:
        return ""
    asked = (
        "Nobody knows whether these tools of your latest runs change anything, so a call that the baseline does not",
        "have fails. Keep each name in the line where it belongs, and take the # away.",
        *policy_stub(tools, policy),
    )
    return "\n" + "".join(f"# {line}\n" for line in asked)
