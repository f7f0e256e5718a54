"""
Calls of tools of which nobody knows whether they change anything, as a gate sees them: what is new, and the way out.

The way out is a line of the policy, complete, so that it can be copied: what stands under the same rule is in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.analysis.checks.result import joined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from agentdbg.analysis.baseline import Baseline
    from agentdbg.analysis.checks.policy import Policy
    from agentdbg.analysis.effects import SideEffect

__all__ = ["not_in_baseline", "policy_line", "policy_stub", "what_to_add", "without_retries"]

_MOST_ADDED = 12
_PLAIN = re.compile(r"(?!(?:true|false|null)$)[A-Za-z_][\w./*-]*", re.ASCII | re.IGNORECASE)
_NOT_IN_A_LIST = re.compile(r"^\s|\s$|[,`\x00-\x1f\x7f-\x9f]")
_MEANS_MORE = re.compile(r"[*?\[]")


def without_retries(calls: Sequence[SideEffect], accepted: Iterable[SideEffect]) -> list[SideEffect]:
    """The calls without those that failed and were made again, here or in the baseline's runs: a retry is no news."""
    made = {call.signature for call in (*accepted, *(call for call in calls if call.outcome == "done"))}
    return [call for call in calls if call.outcome == "done" or call.signature not in made]


def not_in_baseline(tools: Iterable[str], baseline: Baseline | None) -> str:
    """That the baseline cannot tell: it was made by an older version, or when the tool counted as a read."""
    if baseline is None:
        return ""
    kept = {call.name for call in baseline.unknown_calls}
    kept.update(call.name for variant in baseline.effects for call in variant.calls)
    lost = [name for name in tools if any(baseline.tools.get(name, ())) and name not in kept]
    return f" The baseline does not say with what its runs called {joined(lost)}: make it anew." if lost else ""


def what_to_add(tools: Collection[str], policy: Policy) -> str:
    """The line that settles it, for whoever knows what the tools do."""
    one = len(tools) == 1
    writes, reads = policy_stub(list(tools)[:_MOST_ADDED], policy)
    return (
        f"If {'it changes' if one else 'they change'} nothing, put `{reads}` into the policy "
        f"(.agentdbg/policy.yaml); if {'it does' if one else 'they do'}, `{writes}`."
    )


def policy_stub(tools: Iterable[str], policy: Policy) -> tuple[str, str]:
    """The two lines of the policy, for writes and for reads, each with all of the tools: one is too many in each."""
    names = list(tools)
    writes = policy_line("write_tools", policy.write_tools, names)
    return writes, policy_line("read_tools", policy.read_tools, names)


def policy_line(rule: str, patterns: Iterable[str], names: Iterable[str]) -> str:
    """A rule as it stands in the policy, with what it has and more tools: `read_tools: [get_*, 'odd name']`."""
    return f"{rule}: [{', '.join(_in_yaml(item) for item in (*patterns, *map(_as_pattern, names)))}]"


def _as_pattern(name: str) -> str:
    """The pattern that means this tool alone; what cannot stand in a list, such as a comma, is any character."""
    return _NOT_IN_A_LIST.sub("?", _MEANS_MORE.sub(r"[\g<0>]", name))


def _in_yaml(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else "'" + text.replace("'", "''") + "'"
