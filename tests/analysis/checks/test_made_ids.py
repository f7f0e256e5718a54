"""Ids that a run's own writes were given are others in each run; those of somebody else are not."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.analysis.checks.run_baseline import parse_baseline
from tests.analysis.checks.runs import baseline, only_failure, report
from tests.analysis.story import Story


def _run(made: Any, used: Any, *, before: Any = None, answer: str = "Done.") -> Story:
    story = Story()
    story.tool("get_user", {"name": "Ama"}, before)
    story.tool("create_ticket", {"about": "A-17"}, made)
    story.tool("close_ticket", {"ticket": used}, {"ok": True})
    story.end(result=answer)
    return story


@pytest.mark.parametrize(
    ("made", "used", "made_later", "used_later"),
    [
        ({"id": "T-811"}, "T-811", {"id": "T-4902"}, "T-4902"),
        ('{"ticket": {"id": 811}}', 811, '{"ticket": {"id": 4902}}', "4902"),
        ("T-811", "T-811", "T-4902", "T-4902"),
        ({"id": "T-811"}, "Please close T-811 now.", {"id": "T-9"}, "Please close T-9 now."),
    ],
)
def test_an_id_the_run_was_given_may_be_another(made: Any, used: Any, made_later: Any, used_later: Any) -> None:
    """The help desk counts its tickets up: the same work has another number every day."""
    kept = parse_baseline(baseline(_run(made, used)).as_json(), "b.json")

    assert report(_run(made_later, used_later), kept).passed


def test_another_ticket_than_the_one_that_was_opened_is_stopped() -> None:
    """Closing somebody else's ticket is what the gate is for."""
    failed = only_failure(report(_run({"id": "T-4902"}, "T-1"), baseline(_run({"id": "T-811"}, "T-811"))))

    assert failed.diff == '  #4 close_ticket\n- ticket: "[id of create_ticket]"\n+ ticket: "T-1"'


def test_an_id_that_was_known_before_is_compared_as_it_is() -> None:
    """What a write returns besides its own id belongs to others: the customer, the card."""
    kept = baseline(_run({"id": "T-1", "user_id": "U-7"}, "U-7", before={"id": "U-7"}))
    came = _run({"id": "T-2", "user_id": "U-8"}, "U-8", before={"id": "U-8"})

    assert only_failure(report(came, kept)).name == "effects"


def test_an_answer_may_name_the_new_id() -> None:
    """The ticket T-4902 of today is the T-811 of yesterday, so this is no other answer."""
    kept = baseline(_run({"id": "T-811"}, "T-811", answer="Your ticket is T-811."))

    assert report(_run({"id": "T-4"}, "T-4", answer="Your ticket is T-4."), kept, answer="facts").passed
    assert not report(_run({"id": "T-4"}, "T-4", answer="Your ticket is T-5."), kept, answer="facts").passed
