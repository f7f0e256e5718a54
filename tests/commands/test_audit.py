"""`agentdbg audit`: what today's rules would hide in runs that are already stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = "sk-proj-" + "Qm7Zt2Lw9Xb4" * 4
RANDOM = "9aTz4PqLmV0bXc2RkWn7Ys1D3eFg"


def leaky(data_dir: Path) -> str:
    """A run that was recorded with redaction off."""
    story = Story()
    story.tool("connect", {"password": "hunter2-and-more", "port": 5432}, "ok")
    story.llm(f"use {KEY} for it", {"content": f"the id is {RANDOM}"})
    story.end()
    return store(data_dir, story, name="leaky")


def stored(data_dir: Path, run_id: str) -> str:
    return (data_dir / "runs" / run_id / "events.jsonl").read_text()


def test_a_secret_in_a_stored_run_is_found_and_not_shown(cli: Callable[..., Ran], data_dir: Path) -> None:
    """The report may be pasted into a ticket."""
    leaky(data_dir)
    ran = cli("audit")

    assert ran.code == 1
    assert "2 texts would be hidden today" in ran.out
    assert "hunter2-and-more" not in ran.out
    assert KEY not in ran.out
    assert "audit --scrub" in ran.out


def test_what_looks_random_is_reported_when_asked(cli: Callable[..., Ran], data_dir: Path) -> None:
    """Without a name beside it nobody can tell a key from an id, so it is a question and not an answer."""
    leaky(data_dir)
    found = json.loads(cli("audit", "--strict", "--json").out)["found"]

    assert {one["begins_with"] for one in found} >= {RANDOM[:4], KEY[:4]}


def test_scrub_replaces_what_was_found_and_nothing_else(cli: Callable[..., Ran], data_dir: Path) -> None:
    """After that an audit finds nothing."""
    run_id = leaky(data_dir)
    ran = cli("audit", "--scrub", "--yes")
    text = stored(data_dir, run_id)

    assert ran.code == 0
    assert KEY not in text
    assert "hunter2-and-more" not in text
    assert RANDOM in text
    assert "5432" in text
    assert cli("audit").code == 0


def test_runs_that_were_redacted_pass(cli: Callable[..., Ran], data_dir: Path) -> None:
    """The marker itself is no secret."""
    story = Story()
    story.tool("connect", {"password": "__REDACTED__"}, "token=__REDACTED__")
    story.end()
    store(data_dir, story, name="clean")
    ran = cli("audit")

    assert ran.code == 0
    assert "nothing that the rules of today would hide" in ran.out


def test_the_names_in_a_tape_are_no_secrets(cli: Callable[..., Ran], data_dir: Path) -> None:
    """They are hashes, and replacing one of them would cut the tape; what stands beside them is looked at."""
    run_id = leaky(data_dir)
    assert cli("audit", "--scrub", "--yes").code == 0
    # The first ends like an option for a password, and the second stands where its value would.
    names = ["_HAERyzx9--iPumaRiKTpw", "M8rdgcG748O-tBNJj4yn_A"]
    lines = [{"l": names[1], "b": names[0], "a": [f"@{name}" for name in names]}]
    tape = data_dir / "runs" / run_id / "tape.jsonl"
    tape.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert cli("audit").code == 0
    tape.write_text(tape.read_text() + json.dumps({"v": names[0], "d": {"password": "hunter2-and-more"}}) + "\n")
    assert "1 text would be hidden today" in cli("audit").out
