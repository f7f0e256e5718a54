"""
The policy file of a project: where it is, which rules stand in it, and which tools it says have side effects.

A gate reads all of it. Whoever only compares runs, on the command line, in the page or for a program, asks for the
side effects alone, so that one tool is not a write in one place and a read in another.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks.policy import make_policy, read_rules
from agentdbg.analysis.effects import EffectRules
from agentdbg.config import load_config
from agentdbg.effect_contracts import find_contracts, read_contracts
from agentdbg.exceptions import UsageError
from agentdbg.strict_yaml import read_strictly

if TYPE_CHECKING:
    from agentdbg.analysis.checks.policy import Policy

__all__ = ["POLICY_FILE", "effect_rules", "effect_rules_of", "find_policy", "read_policy", "tools_policy"]

POLICY_FILE = Path(".agentdbg") / "policy.yaml"


def find_policy(start: Path | None = None) -> Path | None:
    """The policy of the project: the first `.agentdbg/policy.yaml` from a folder upwards."""
    try:
        folder = Path.cwd() if start is None else start
        # One that cannot be read, a link to nowhere, is found too: whoever reads it says so, rather than judge without.
        return next((path for one in (folder, *folder.parents) if os.path.lexists(path := one / POLICY_FILE)), None)
    except OSError:  # the current folder was deleted, or may not be read
        return None


def read_policy(path: Path) -> dict[str, Any]:
    """The rules of a policy file, checked; UsageError for a file that is none."""
    try:
        content = read_strictly(path)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"the policy {path} cannot be read: {reason}; `agentdbg init` writes one") from None
    except ValueError as error:
        raise UsageError(f"the policy {path} is not YAML that can be used: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UsageError(f"the policy {path} is not a table of rules like `max_errors: 0`")
    # A value that was forgotten, or commented out, would take the check away without a word.
    without_value = next((key for key, value in content.items() if value is None), None)
    rules = read_rules(content, str(path))
    if without_value is not None:
        raise UsageError(f"{without_value} in {path} has no value; give it one, write `off`, or take the line out")
    return rules


def effect_rules(policy: Policy, path: Path | None = None, *, with_contracts: bool = True) -> EffectRules:
    """Which tools have side effects: the policy (at `path`), then the settings, then the project's contracts."""
    config = load_config()
    rules = policy.effect_rules(EffectRules(config.write_tools, config.read_tools))
    found = find_contracts(path) if with_contracts else None
    if found is None:
        return rules
    effects, forms = read_contracts(found)
    said = {name: kind for name, kind in effects.items() if rules.kind_of(name) is None}
    writes, reads = ([glob.escape(name) for name, kind in said.items() if kind == one] for one in ("write", "read"))
    return EffectRules((*rules.write_tools, *writes), (*rules.read_tools, *reads), forms)


def effect_rules_of(path: Path | None, *, with_contracts: bool = True) -> EffectRules:
    """The same for the policy at `path`, of which nothing else is asked; the settings alone where there is none."""
    return effect_rules(tools_policy(path), path, with_contracts=with_contracts)


def tools_policy(path: Path | None) -> Policy:
    """Of the policy at `path` what it says of tools alone: other rules may need a baseline, which is not there."""
    rules = {} if path is None else read_policy(path)
    named = {key: rule for key, rule in rules.items() if key in ("write_tools", "read_tools")}
    return make_policy(named, with_baseline=False)
