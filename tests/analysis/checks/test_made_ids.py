"""Ids that a run's own writes were given are others in each run; those of somebody else are not."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.analysis.checks.run_baseline import parse_baseline
from tests.analysis.checks.runs import baseline, only_failure, report
from tests.analysis.story import BEGAN_MS, Story


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


def _stamped(at_ms: int, value: Any) -> Story:
    story = Story()
    story.now_ms = at_ms
    story.tool("send_sms", {"to": "+49 30 5550123", "sent": {"at": value}}, {"ok": True})
    story.end(result="Done.")
    return story


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2023-11-14T22:13:20Z", "2023-11-15T22:13:21.5+00:00"),
        ("2023-11-14 22:13:20.123456", "2023-11-16 00:13:20.654321"),  # without a zone, by a clock two hours on
        (1_700_000_000, 1_700_086_401),
        (1_700_000_000_123, 1_700_086_400_999),
        (1_700_000_000.25, 1_700_086_400.75),
    ],
    ids=str,
)
def test_the_time_of_the_call_itself_may_be_another(first: Any, second: Any) -> None:
    """`sent_at=now()` is another in every run, and nobody has to say so."""
    kept = parse_baseline(baseline(_stamped(BEGAN_MS, first)).as_json(), "b.json")

    assert report(_stamped(BEGAN_MS + 86_400_000, second), kept).passed


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2023-12-24T18:00:00Z", "2023-12-25T18:00:00Z"),
        ("2023-11-14T22:13", "2023-11-15T22:13"),
        (40, 400),
        (1_700_000_000, 1_700_000_001),  # the second run asks for yesterday
    ],
    ids=str,
)
def test_another_time_than_that_of_the_call_is_stopped(first: Any, second: Any) -> None:
    """An appointment on another day is another appointment."""
    kept = baseline(_stamped(BEGAN_MS, first))

    assert only_failure(report(_stamped(BEGAN_MS + 86_400_000, second), kept)).name == "effects"
