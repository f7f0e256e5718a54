"""What a person types over the list of runs: words and `key=value`."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from agentdbg.index.run_query import RunQuery, unknown_key_advice

RUN: dict[str, Any] = {
    "run_id": "3f2a19c4",
    "run_name": "support-agent",
    "status": "ok",
    "duration_ms": 18_900,
    "total_tokens": 14_000,
    "cost_usd": 0.07,
    "counts": {"llm_calls": 8, "tool_calls": 7, "errors": 0},
    "metadata": {"session_id": "s-41", "tags": ["nightly", "eu"], "user": {"plan": "pro"}, "scores": {"correct": 0.5}},
}
HELD = [
    "session_id=s-41",
    "session=S-41",
    "tags=nightly",
    "user.plan=pro",
    "correct<1 correct>=0.5",
    "duration>10",
    "cost<$0.10",
    "tokens=14000",
    "errors=0",
    "name~support",
    "session_id!=s-42",
    "missing!=anything",
    "is:ok",
    'run_name="support-agent"',
]
NOT_HELD = ["session_id=s-4", "correct<0.5", "is:failed", "is:problem", "missing=1", "missing<1", "tags=night", "a=b=c"]


@pytest.mark.parametrize("query", HELD)
def test_a_term_that_holds_finds_the_run(query: str) -> None:
    """Each of them is something a person knows of the run they look for."""
    assert RunQuery(query).fits(RUN)


@pytest.mark.parametrize("query", NOT_HELD)
def test_a_term_that_does_not_hold_finds_nothing(query: str) -> None:
    """A run that is shown although it does not fit is worse than none."""
    assert not RunQuery(query).fits(RUN)


def test_words_phrases_and_ages_are_told_apart() -> None:
    """Whatever is no term is a word, so nothing that was typed is ignored."""
    query = RunQuery('refund "exact words" since:2d is: http://x =x', datetime(2026, 11, 18, tzinfo=timezone.utc))

    assert query.words == ["refund", "exact words", "is:", "http://x", "=x"]
    assert query.since == "2026-11-16T00:00:00.000Z"
    assert query.terms == []


def test_a_key_that_no_run_has_is_answered_with_one_that_is_nearly_it() -> None:
    """`custmer=…` finds nothing, and the reader would look for the mistake in the data."""
    assert unknown_key_advice("sesion_id", [RUN]) == "No run has the key sesion_id. Did you mean session_id?"
    there = "correct, session_id, tags, user"
    assert unknown_key_advice("warehouse", [RUN]) == f"No run has the key warehouse. Keys that runs have: {there}."
    assert unknown_key_advice("session_id", [RUN]) is None
    assert unknown_key_advice("user.plan", [RUN]) is None
