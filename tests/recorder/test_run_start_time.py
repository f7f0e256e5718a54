"""What RUN_START says of the run itself, when there was no time for what it says of the program."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agentdbg import traced_run
from agentdbg.redaction import plain

if TYPE_CHECKING:
    import pytest

    from tests.conftest import Recorded


def test_limits_are_said_also_when_the_time_for_arguments_ran_out(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the first look for secrets took all of it, and a run's limits became the mark of a cut."""
    monkeypatch.setattr(plain, "_TIME_BUDGET_S", -1.0)
    monkeypatch.setattr(sys, "argv", ["agent.py", "--password", "hunter22", "PASSWORD=hunter22x"])

    with traced_run("late", meta={"team": "a"}, max_llm_calls=5):
        pass

    started = json.loads((recorded.only().path / "events.jsonl").read_bytes().splitlines()[0])["payload"]
    assert started["guardrails"]["max_llm_calls"] == 5
    assert isinstance(started["agentdbg_version"], str)
