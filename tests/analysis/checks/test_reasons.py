"""Every check that fails names its reason: the event it speaks of, and the difference that caused it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.checks.runs import baseline, only_failure, refund_story, report
from tests.analysis.story import Story


def failing_story() -> Story:
    story = refund_story(reads=("find_order", "get_rates"), tokens=9000, ended=False)
    story.tool("get_rates", {}, error={"error_type": "Timeout", "message": "30 s"})
    story.loop("cycle", "critical", "TOOL_CALL:get_rates", [4], "get_rates repeated 3 times.")
    story.end("error", error={"error_type": "ValueError", "message": "no rates"})
    return story


OFF = dict.fromkeys(("status", "loops", "effects", "max_tokens", "max_cost_usd"), "off")


@pytest.mark.parametrize(
    ("rule", "event", "diff"),
    [
        ({"status": "ok"}, 9, "- status ok\n+ status error"),
        ({"max_errors": 0}, 7, "+ #7 get_rates: Timeout: 30 s"),
        ({"loops": "none"}, 8, "+ #8 critical cycle: TOOL_CALL:get_rates, 3 times"),
        ({"must_not_find": ["loop"]}, 8, "+ #8 critical cycle: TOOL_CALL:get_rates, 3 times"),
        ({"must_not_call": ["get_*"]}, 4, "+ #4 get_rates"),
        ({"order": ["refund", "find_order"]}, 3, "- refund -> find_order\n+ find_order -> refund"),
        ({"effects": "none"}, 5, '+ #5 refund({"amount": 40, "order_id": "A-17"})'),
        ({"tools": ["find_order", "refund"]}, 4, "+ #4 get_rates"),
        ({"max_steps": 5}, 7, "- steps 5\n+ steps 6\n"),
        ({"max_llm_calls": 1}, 6, "- llm_calls 1\n+ llm_calls 2"),
        ({"max_tool_calls": 1}, 4, "- tool_calls 1\n+ tool_calls 4\n"),
        ({"max_tokens": 5000}, 2, "- total_tokens 5,000\n+ total_tokens 18,000"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_a_failure_names_the_event_and_shows_the_difference(rule: dict[str, Any], event: int, diff: str) -> None:
    """A red line without a place to look at is a line that somebody reruns until it is green."""
    failed = only_failure(report(failing_story(), baseline(), "error", **{**OFF, **rule}))

    assert failed.events[0].number == event
    assert f"#{event}" in failed.sentence
    assert failed.diff.startswith(diff)


def test_a_name_with_backticks_stays_one_name() -> None:
    """Whatever a model invents as a tool must not tear the sentence, or the table it stands in, apart."""
    story = Story()
    story.tool("a`b", {}, "x")
    story.tool("", {}, "x")
    story.end()
    said = only_failure(report(story, tools=["search"])).sentence
    story.tool("x" * 20_000, {}, "x")

    assert len(report(story, tools=["search"]).failures[0].sentence) < 200
    assert said == '`a\'b` and `""` are not allowed (#2, #3).'
