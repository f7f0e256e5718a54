"""`agentdbg diff` on runs that failed, died or are damaged, on files, and in a project with a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.stored import Ran, store
from tests.gates.runs import refund_story

if TYPE_CHECKING:
    from collections.abc import Callable

    Cli = Callable[..., Ran]


def test_the_policy_says_what_writes_for_a_comparison_too(cli: Cli, data_dir: Path) -> None:
    """A tool that is a side effect for the gate and none for the comparison would make one of them wrong."""
    a, b = (store(data_dir, refund_story(refunds=0, reads=(name,))) for name in ("frobnicate", "find_order"))
    before = cli("diff", a, b)
    Path(".agentdbg").mkdir()
    Path(".agentdbg/policy.yaml").write_text("max_steps: baseline\nwrite_tools: [frob*]\n")
    after = cli("diff", a, b)

    assert before.out.startswith("≈ Same effects")
    assert "Whether frobnicate changes anything is not known" in before.out
    assert after.out.startswith("≠ Different effects")
    assert "Only A called frobnicate" in after.out


def test_a_policy_that_cannot_be_read_is_said_by_a_comparison_too(cli: Cli, data_dir: Path) -> None:
    """What writes would otherwise be guessed although somebody has written it down."""
    run = store(data_dir, refund_story())
    Path(".agentdbg").mkdir()
    Path(".agentdbg/policy.yaml").write_text("writes_tools: [frob*]\n")
    ran = cli("diff", run, run)

    assert ran.code == 2
    assert "has no rule 'writes_tools'; did you mean write_tools?" in ran.err
