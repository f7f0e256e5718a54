"""Contracts of tools: proposed from runs, reviewed by a person, and what gates go by from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.effect_contracts import CONTRACTS_FILE, read_contracts
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Cli = Callable[..., Ran]


def _run(data_dir: Path, at: str = "2026-11-01T08:00:00Z", **other: Any) -> str:
    story = Story()
    story.tool("get_order", {"id": "A-17"}, {"paid": 40})
    args = {
        "order": "A-17",
        "tags": ["lost", "vip"],
        "route": ["a", "b"],
        "body": "Dear Ama, you get 40 USD back for your order.",
        "sent_at": at,
    }
    story.tool("send_refund", {**args, **other}, {"ok": True})
    story.tool("frobnicate", {"x": 1}, "ok")
    story.end(result="Done.")
    return store(data_dir, story)


def _learn(cli: Cli, data_dir: Path) -> Ran:
    runs = [_run(data_dir), _run(data_dir, at="2026-11-02T09:30:00Z")]
    return cli("effects", "learn", *runs, "-o", str(CONTRACTS_FILE))


def test_contracts_are_proposed_from_runs(cli: Cli, data_dir: Path) -> None:
    """Nobody writes down forty tools by hand; reviewing them is another matter."""
    ran = _learn(cli, data_dir)

    assert ran.code == 0, ran.err
    assert ran.out == (
        "Wrote .agentdbg/effects.yaml: 3 tools. Side effects unknown: `frobnicate`; say in it what they do.\n"
    )
    effects, forms = read_contracts(CONTRACTS_FILE)
    assert effects == {"frobnicate": "unknown", "get_order": "read", "send_refund": "write"}
    assert forms["send_refund"] == {
        "order": "exact",
        "tags": "set",
        "route": "exact",
        "body": "facts",
        "sent_at": "ignored",
    }
    assert cli("effects", "learn", "latest", "-o", str(CONTRACTS_FILE)).code == 2


def test_gates_go_by_the_contracts(cli: Cli, data_dir: Path) -> None:
    """What was reviewed once is not asked again, argument by argument."""
    cli("baseline", _run(data_dir), "--out", "b.json")
    later = _run(data_dir, at="2026-11-03T10:00:00Z")
    before = cli("assert", later, "-b", "b.json")
    _learn(cli, data_dir)
    same_list = _run(data_dir, at="2026-11-03T10:00:00Z", tags=["vip", "lost"], body="Hi Ama, 40 USD for your order!")

    assert before.code == 1
    assert cli("assert", later, "-b", "b.json").code == 0
    assert cli("assert", same_list, "-b", "b.json").code == 0
    for wrong in ({"order": "A-71"}, {"tags": ["lost"]}, {"route": ["b", "a"]}, {"body": "Dear Ama, you get 400 USD."}):
        ran = cli("assert", _run(data_dir, **wrong), "-b", "b.json")
        assert ran.code == 1, wrong
        assert "sent_at" not in ran.out


def test_a_contract_settles_what_a_tool_does_and_the_policy_stands_over_it(cli: Cli, data_dir: Path) -> None:
    """One line for one tool, in the one place where a team looks."""
    cli("baseline", _run(data_dir), "--out", "b.json")
    story = Story()
    story.tool("frobnicate", {"x": 2}, "ok")
    run = store(data_dir, story)
    CONTRACTS_FILE.parent.mkdir()
    CONTRACTS_FILE.write_text("frobnicate:\n  effect: read\nsend_refund:\n  effect: read\n")

    assert "frobnicate" not in cli("assert", run, "--effects", "none").out
    (CONTRACTS_FILE.parent / "policy.yaml").write_text("write_tools: [frobnicate]\n")
    assert "`frobnicate` changed something" in cli("assert", run, "--effects", "none").out


@pytest.mark.parametrize(
    "text",
    ["- a\n", "pay: write\n", "pay:\n  effect: writes\n", "pay:\n  effect: write\n  args: {a: near}\n", "pay: {\n"],
)
def test_a_file_that_cannot_be_meant_is_refused(cli: Cli, data_dir: Path, text: str) -> None:
    """A contract that is read half would let a payment pass."""
    run = _run(data_dir)
    CONTRACTS_FILE.parent.mkdir()
    CONTRACTS_FILE.write_text(text)
    ran = cli("assert", run, "--max-errors", "0")

    assert ran.code == 2
    assert "effects.yaml" in ran.err
