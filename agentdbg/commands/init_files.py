"""What `agentdbg init` writes: a policy with every rule explained, a first test that passes, a CI workflow."""

from __future__ import annotations

__all__ = ["FIRST_TEST", "POLICY", "WORKFLOW"]

POLICY = """\
# What every run of this project's agent has to hold.
# `agentdbg assert RUN` and tests marked with @pytest.mark.agentdbg read this file.
# Options of the command and arguments of the marker beat it, rule by rule; `off` takes a rule away.
# A word that is no rule is refused, so a typing mistake does not switch a check off.

# How the run has to end: ok, error, or as in the baseline.
status: ok

# No loop of warning or worse; with `baseline` none that the baseline does not have.
loops: none

# At most so many failed calls and recorded errors. Good agents recover from some.
# max_errors: 0

# Findings of `agentdbg explain` that must not be there.
# must_not_find: [swallowed_error, unknown_tool]

# Tools that have to be called, tools that must not be, and which may not come before which. `*` is allowed.
# must_call: [search]
# must_not_call: [delete_*]
# order: [check_identity, refund]

# The same calls with side effects, with the same arguments, as a run of the baseline; `none` for no side effects.
# With a baseline this is asked anyway, and so are status, loops, max_tokens and max_cost_usd.
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
      # What the agent did in a test that failed: AGENTDBG_DATA_DIR=agent-runs/TEST agentdbg view
      # Secrets are taken out before anything is stored; prompts and answers are there.
      - uses: actions/upload-artifact@v4
        if: failure()
        with:
          name: agent-runs
          path: agent-runs
"""
