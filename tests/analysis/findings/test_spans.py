"""A nested part that fails is seen like a call that fails, unless it only passes on what failed inside it."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import record_llm_call, record_tool_call, trace, traced_run
from agentdbg.analysis.findings import find
from agentdbg.analysis.stats import Tally, figures
from agentdbg.analysis.verdict import judge
from agentdbg.analysis.wording import text_of
from agentdbg.index.events import EventIndex
from agentdbg.storage import load_events, load_run_meta
from tests.analysis.story import Story

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.analysis.findings import Finding
    from tests.conftest import Recorded

BOOM = {"error_type": "ValueError", "message": "no page 7", "stack": None}


def span(story: Story, name: str, error: Any, *, event_id: str | None = None, parent: str | int = 1) -> int:
    payload = {"state": None, "diff": None, "error": error}
    place: dict[str, Any] = {"duration_ms": 5, "meta": {"span": name}, "event_id": event_id, "parent": parent}
    return story.write("STATE_UPDATE", name, payload, **place)


def said(story: Story, status: str = "ok") -> tuple[str, list[str], dict[str, list[Finding]]]:
    verdict = judge(story.tally(), story.meta(status))
    found: dict[str, list[Finding]] = {}
    for finding in find(story.events, story.meta(status)):
        found.setdefault(finding.kind, []).append(finding)
    return verdict["tone"], [text_of(line) for line in verdict["lines"]], found


def test_a_nested_trace_that_fails_and_is_swallowed_is_found(recorded: Recorded, data_dir: Path) -> None:
    """Five exceptions behind `except: pass` are no healthy run, though no call failed."""

    @trace
    def read_page(number: int) -> None:
        raise ValueError(f"no page {number}")

    with traced_run("r"):
        for _ in range(5):
            with suppress(ValueError):
                read_page(7)
        record_llm_call("m", response="There is nothing more to read in the document, as far as I see.")

    run_id = recorded.only().path.name
    meta = load_run_meta(run_id, data_dir)
    index = EventIndex(recorded.only().path, run_id)
    index.extend(None)
    tally = Tally(index).catch_up()
    verdict = judge(tally, meta)
    found = find(load_events(run_id, data_dir), meta)
    index.close()
    assert verdict["tone"] == "warn"
    assert "read_page failed 5 times" in text_of(verdict["lines"][0])
    assert {finding.kind for finding in found} >= {"swallowed_error", "first_failure"}
    # The contract's counter speaks of calls and ERROR events.
    assert figures(tally, meta)["errors"] == meta["counts"]["errors"] == 0


def test_a_span_that_passes_on_what_failed_inside_it_is_no_second_failure() -> None:
    """The exception of a call leaves every span around it, in its own words or in a framework's."""
    story = Story()
    for wrapped in (BOOM, {"error_type": "AgentError", "message": "step 3: ValueError: no page 7 (gave up)"}):
        inner, outer = str(uuid.uuid4()), str(uuid.uuid4())
        model = story.llm(parent=inner)
        story.tool("read", {}, error=BOOM, parent=model)
        span(story, "step", wrapped, event_id=inner, parent=outer)
        span(story, "agent", wrapped, event_id=outer)
    story.llm(response="Done.")
    story.end()

    tone, lines, found = said(story)

    assert tone == "warn"
    assert len(lines) == 1
    assert "read failed twice" in lines[0]
    assert found["first_failure"][0].figures["failures_after"] == 1
    assert "swallowed_error" not in found


def test_a_failure_of_another_kind_inside_a_span_does_not_hide_its_own() -> None:
    """A retry that worked is not why the span failed afterwards."""
    story = Story()
    inner = str(uuid.uuid4())
    story.tool("read", {}, error={"error_type": "TimeoutError", "message": "timed out"}, parent=inner)
    failed = span(story, "parse", BOOM, event_id=inner)
    story.end()

    _, lines, _ = said(story)

    assert "2 other" not in " ".join(lines)
    assert any("parse failed" in line for line in lines)
    assert [group.numbers for group in story.tally().groups() if group.name == "parse"] == [[failed]]


def test_the_exception_that_ends_the_run_is_told_once() -> None:
    """It passes through every span on its way out."""
    story = Story()
    inner = span(story, "parse", BOOM)
    story.error("ValueError", "no page 7")
    story.end("error", error=BOOM)

    _, lines, found = said(story, "error")

    assert len(lines) == 1
    assert "no page 7" in lines[0]
    (first,) = found["first_failure"]
    assert first.sentence == "The first failure was parse: ValueError: no page 7. It ended the run."
    assert first.number == inner


def test_a_guardrail_that_stops_a_run_inside_a_span_is_still_what_is_said(recorded: Recorded, data_dir: Path) -> None:
    """The span only passes the stop on."""
    with pytest.raises(Exception, match="max_llm_calls"), traced_run("r", max_llm_calls=1), traced_run("part"):
        record_tool_call("t")
        for _ in range(3):
            record_llm_call("m", response="x")

    run_id = recorded.only().path.name
    meta = load_run_meta(run_id, data_dir)
    index = EventIndex(recorded.only().path, run_id)
    index.extend(None)
    lines = [text_of(line) for line in judge(Tally(index).catch_up(), meta)["lines"]]
    index.close()
    assert "max_llm_calls" in lines[0]
    assert not any("part failed" in line for line in lines)


def test_what_ended_the_run_is_not_called_swallowed() -> None:
    """The run did not go on after the last time."""
    story = Story()
    for _ in range(3):
        story.tool("read", {}, error=BOOM)
    story.error("ValueError", "no page 7")
    story.end("error", error=BOOM)

    _, _, found = said(story, "error")

    assert found["swallowed_error"][0].sentence == (
        "read failed 3 times with the same error; the last time it ended the run: ValueError: no page 7"
    )


def test_a_step_that_the_agent_survived_is_not_what_ended_the_run() -> None:
    """The failure that ended the run comes first, and the earlier one is told beside it."""
    story = Story()
    survived = span(story, "Step 6", BOOM)
    limit = story.llm(error={"error_type": "RateLimitError", "message": "429 too many requests"})
    story.error("AgentError", "no output: RateLimitError: 429 too many requests")
    story.end(
        "error", error={"error_type": "AgentError", "message": "no output: RateLimitError: 429 too many requests"}
    )

    _, _, found = said(story, "error")

    (first,) = found["first_failure"]
    assert first.number == limit
    assert first.sentence == (
        "What failed last was gpt-4o: RateLimitError: 429 too many requests. It ended the run as AgentError. "
        f"Before it Step 6 failed at #{survived}, and the run went on."
    )
