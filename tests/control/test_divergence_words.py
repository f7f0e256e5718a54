"""How a divergence is told in one line."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.analysis.report import notes
from agentdbg.control.divergence import Divergence

CALL = Divergence("changed", number=2, name="search", kind="tool", source="agent.py:20")
CALL.total = 5
EFFECT = Divergence("effect", source="agent.py:22", what="write the file report.txt")
OUTCOME = Divergence("outcome", what="the program ended otherwise")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (CALL, "diverged at call 2 of 5: search (agent.py:20)"),
        (EFFECT, "diverged: it would write the file report.txt (agent.py:22)"),
        (OUTCOME, "diverged: the program ended otherwise"),
    ],
)
def test_a_divergence_is_told_as_a_sentence(found: Divergence, told: str) -> None:
    """A call is a place to diverge at; an effect that was stopped is not."""
    assert found.text().splitlines()[0] == told
    replay = {"mode": "replay", "parent_run_id": "3f2a19c4", "equal": False, "divergence": {**found.to_json(), "of": 5}}
    run: Any = {"replay": replay}
    assert notes(run)[0].replace(", search", ": search").startswith(f"Replay of 3f2a19c4: {told}")
