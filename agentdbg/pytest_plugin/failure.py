"""What a failed test's report says of its run: where it is, what it did, what was found in it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from agentdbg.analysis.wording import count_noun, money, tokens
from agentdbg.commands.terminal import clean

if TYPE_CHECKING:
    from agentdbg.pytest_plugin.tested_run import RecordedRun

__all__ = ["failure_section"]

_FINDINGS_SHOWN = 5


def failure_section(run: RecordedRun) -> str:
    """A few lines for the report of a test that failed."""
    facts = run.facts()
    totals = facts.totals
    said = [
        count_noun(int(totals.get(name) or 0), noun)
        for name, noun in (("llm_calls", "model call"), ("tool_calls", "tool call"), ("errors", "error"))
    ]
    if totals.get("total_tokens"):
        said.append(f"{tokens(totals['total_tokens'] or 0)} tokens")
    if totals.get("cost_usd"):
        said.append(money(totals["cost_usd"] or 0))
    lines = [f"run {facts.run_id[:8]}: {', '.join(said)}", f"folder: {run.path}"]
    worse = [finding for finding in facts.findings if finding.severity != "info"]
    for finding in worse[:_FINDINGS_SHOWN]:
        where = "" if finding.number is None else f"#{finding.number} "
        lines.append(f"{finding.severity}: {where}{clean(finding.sentence)}")
    lines.append(f"look at it: AGENTDBG_DATA_DIR={shlex.quote(str(run.data_dir))} agentdbg view")
    return "\n".join(lines)
