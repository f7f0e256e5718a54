"""
The files a gate is made of, the policy and the baseline, and the run it judges.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.baseline_reading import parse_baseline
from agentdbg.analysis.checks.facts import RunFacts, gather
from agentdbg.analysis.checks.policy import read_rules
from agentdbg.analysis.effects import EffectRules
from agentdbg.exceptions import UsageError
from agentdbg.storage.layout import replace_file
from agentdbg.storage.lines import iter_lines, open_events
from agentdbg.storage.reader import load_events, load_run_meta, run_folder

if TYPE_CHECKING:
    from agentdbg.analysis.baseline import Baseline
    from agentdbg.analysis.checks.policy import Policy

__all__ = [
    "POLICY_FILE",
    "effect_rules",
    "facts_of",
    "find_policy",
    "read_baseline",
    "read_policy",
    "write_baseline",
]

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
    from agentdbg.commands.strict_yaml import load_strictly  # noqa: PLC0415 -- only when there is a file

    try:
        content = load_strictly(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the policy {path} cannot be read: {error.strerror}; `agentdbg init` writes one") from None
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


def read_baseline(path: Path) -> Baseline:
    """A stored baseline; UsageError for a file that is missing or none."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"the baseline {path} cannot be read: {error.strerror}; `agentdbg baseline RUN --out {path}` makes one"
        ) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the baseline {path} is not JSON: {error}") from None
    return parse_baseline(content, str(path))


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Store a baseline, its folder too if need be; whole or not at all. Through a link, what it names is written."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it, like {path / 'baseline.json'}")
    target = path.resolve()
    try:
        os.makedirs(target.parent, exist_ok=True)
        replace_file(target, baseline_bytes(baseline))
    except OSError as error:
        raise UsageError(f"the baseline {path} cannot be written: {error.strerror}") from None


def baseline_bytes(baseline: Baseline) -> bytes:
    """The baseline as its file holds it: a few lines that a review can read."""
    return (_layout(baseline.as_json()) + "\n").encode()


def _layout(content: dict[str, Any]) -> str:
    """JSON with one line for each list of numbers, so that twenty runs make no twenty lines of each."""
    parts = []
    for key, value in content.items():
        if key in ("tools", "totals"):
            rows = [f"    {_json(name)}: {_json(numbers)}" for name, numbers in value.items()]
            text = "{\n" + ",\n".join(rows) + "\n  }" if rows else "{}"
        else:
            text = _json(value, indent=2).replace("\n", "\n  ")
        parts.append(f"  {_json(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}"


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def effect_rules(policy: Policy) -> EffectRules:
    """Which tools have side effects: the policy before the settings."""
    from agentdbg.config import load_config  # noqa: PLC0415

    config = load_config()
    return policy.effect_rules(EffectRules(config.write_tools, config.read_tools))


def facts_of(run_id: str, data_dir: Path, rules: EffectRules) -> RunFacts:
    """The facts of a stored run."""
    facts = gather(lambda: load_events(run_id, data_dir), load_run_meta(run_id, data_dir), rules)
    if facts.status == "running":
        return facts  # its last line may be half written, which is no damage
    return replace(facts, damaged_lines=_damaged_lines(run_folder(run_id, data_dir), facts))


def _damaged_lines(folder: Path, facts: RunFacts) -> int:
    """How many lines of a log are no events."""
    file = open_events(folder)
    if file is None:
        return 0
    with file:
        lines = sum(line is None or bool(line.strip()) for _, line in iter_lines(file))
    return max(lines - (facts.last_event.number if facts.last_event else 0), 0)
