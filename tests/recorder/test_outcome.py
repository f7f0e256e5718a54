"""A program that checks its own work says whether the run did its task."""

from __future__ import annotations

from agentdbg import record_llm_call, record_outcome, traced_run
from agentdbg.analysis.findings import examine
from agentdbg.storage import load_events, load_run_meta


def test_the_last_recorded_outcome_counts_and_the_status_stays() -> None:
    """`status` says how the program ended; a wrong answer is no exception."""
    with traced_run("checked") as run:
        record_llm_call("m", "2 + 2?", "5")
        record_outcome(True)
        record_outcome(False, score=0.2, why="5 is not 4")
    meta = load_run_meta(run.run_id)
    examined = examine(load_events(run.run_id), meta)
    assert meta["status"] == "ok"
    assert examined.state == "problems"
    assert examined.outcome is not None
    assert examined.outcome.sentence == "Recorded as failed: 5 is not 4."


def test_a_score_is_held_against_the_pass_mark_beside_it() -> None:
    """A judge gives figures, and nothing that is said with them raises."""
    with traced_run("judged") as run:
        record_llm_call("m", "2 + 2?", "5")
        record_outcome(score=0.4, pass_mark=0.5, judge="m2")
    examined = examine(load_events(run.run_id), load_run_meta(run.run_id))
    assert examined.outcome is not None
    assert not examined.outcome.passed


def test_a_figure_in_the_place_of_the_truth_is_a_score() -> None:
    """Nobody reads a signature twice."""
    with traced_run("judged") as run:
        record_outcome(0.0)  # type: ignore[arg-type]
    examined = examine(load_events(run.run_id), load_run_meta(run.run_id))
    assert examined.outcome is not None
    assert examined.outcome.why == "score 0.0"


def test_outside_a_run_nothing_is_recorded() -> None:
    """As every other verb."""
    assert record_outcome(True) is None
