"""Which events become spans, and where the others go."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from agentdbg.interop.otel.outline import RUN, Node, Outline
from tests.analysis.story import Story

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.events import Event


def nodes_of(events: list[Event], outline: Outline | None = None) -> list[Node]:
    outline = outline or Outline()
    return [node for event in events for node in outline.take(event)] + list(outline.finish())


def test_a_finding_belongs_to_the_nearest_span_that_is_still_open() -> None:
    """It hangs under a model call that ended and was sent before: a span cannot be changed once it is gone."""
    story = Story()
    asked = story.llm("a", "b")
    story.tool("search", parent=asked)
    story.write("LOOP_WARNING", "TOOL_CALL:search", {"pattern": "TOOL_CALL:search"}, parent=asked)
    nodes = nodes_of(story.events)

    assert [len(node.moments) for node in nodes] == [0, 0, 1]
    assert nodes[-1].kind == RUN


def test_what_happens_within_a_call_belongs_to_the_call() -> None:
    """The state a tool records while it runs is part of what the tool did."""
    story = Story()
    story.call_start("crawl")
    call_id = story.events[-1]["payload"]["call_id"]
    story.write("STATE_UPDATE", "state", {"state": {"page": 1}}, parent=call_id)
    story.tool("crawl", event_id=call_id)
    story.end()
    call, run = nodes_of(story.events)

    assert [moment.event["name"] for moment in call.moments] == ["state"]
    assert run.moments == []


def test_an_event_of_ones_own_is_a_span_when_it_took_time() -> None:
    """What has a length deserves a bar in the waterfall."""
    story = Story()
    story.write("DOWNLOAD", "big.bin", {}, duration_ms=30)
    story.write("NOTE", "remember", {})
    download, run = nodes_of(story.events)

    assert download.event is not None
    assert download.event["name"] == "big.bin"
    assert [moment.event["name"] for moment in run.moments] == ["remember"]


def test_more_states_than_a_span_can_hold_become_spans_and_findings_still_fit() -> None:
    """A long run has thousands of states; none is lost, and the loop is found where one looks for it."""
    story = Story()
    for number in range(500):
        story.write("STATE_UPDATE", "state", {"state": number})
    story.loop("cycle", "critical", "LLM_CALL:a", [])
    nodes = nodes_of(story.events)
    run = nodes[-1]

    assert len(nodes) - 1 + len(run.moments) == 501
    assert len(run.moments) <= 128
    assert run.moments[-1].event["event_type"] == "LOOP_WARNING"


@pytest.mark.slow
def test_memory_does_not_grow_with_the_run() -> None:
    """A run of a day has millions of events."""

    def events(count: int) -> Iterator[Event]:
        story = Story()
        yield story.events[0]
        for number in range(count):
            story.events.clear()
            event_id = f"{number:08x}-0000-4000-8000-000000000000"
            story.write("STATE_UPDATE", "state", {"state": "x" * 100}, parent=None, event_id=event_id)
            yield story.events.pop()

    def peak(count: int) -> int:
        outline = Outline()
        tracemalloc.start()
        try:
            for event in events(count):
                for _ in outline.take(event):
                    pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(20_000) < peak(2_000) + 200_000
