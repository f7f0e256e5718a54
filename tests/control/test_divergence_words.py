"""How a divergence is told in one line."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.analysis.report import notes
from agentdbg.control.differences import are_permuted
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


@pytest.mark.parametrize(
    ("recorded", "now", "is_order"),
    [
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, True),
        ({"prompt": "tags: alpha, gamma, eps."}, {"prompt": "tags: gamma, eps., alpha"}, True),
        ([{"content": "{'a', 'b'}"}], [{"content": "{'b', 'a'}"}], True),
        ({"prompt": "tags: alpha"}, {"prompt": "tags: gamma"}, False),
        ({"prompt": "the same"}, {"prompt": "the same"}, False),
        ({"tags": ["a", "b"]}, {"tags": ["a", "c"]}, False),
    ],
)
def test_another_order_is_seen_in_lists_and_in_texts(recorded: Any, now: Any, is_order: bool) -> None:
    """A set comes out in another order in each process; most of them are joined into a prompt."""
    assert are_permuted(recorded, now) is is_order
