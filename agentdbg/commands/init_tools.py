"""The tools of a project's runs of which nobody knows whether they change anything, for the policy `init` writes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from agentdbg.analysis.checks.side_effects import policy_stub
from agentdbg.analysis.effects import read_effects
from agentdbg.policy_file import effect_rules
from agentdbg.storage.reader import default_data_dir, list_runs, load_events

if TYPE_CHECKING:
    from agentdbg.analysis.checks.policy import Policy

__all__ = ["stub_for", "unknown_tools"]

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
