"""What holds for the push of any run, whatever was recorded."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg.encoding import encode_json
from agentdbg.interop.otel.messages import input_messages, output_messages, tool_definitions
from agentdbg.interop.otel.outline import Node, Outline
from tests.analysis.story import Story
from tests.interop.otel.test_outline import nodes_of

pytestmark = pytest.mark.slow

FAR = "22222222-2222-4222-8222-222222222222"
"""A parent that no event has."""

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["text", "tool_use", "tool_result", "image", "thinking"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "type", "content", "parts", "text", "tool_calls", "function", "name", "arguments"])
            | st.sampled_from(
                ["input", "id", "output", "choices", "message", "functionCall", "source", "image_url", "url"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JSON)
def test_nothing_recorded_breaks_the_push(value: Any) -> None:
    """Prompts are whatever users and libraries hand over."""
    instructions, asked = input_messages(value, "anthropic")
    answered = output_messages(value)
    tool_definitions(value)

    for message in (*asked, *answered):
        assert isinstance(message["role"], str)
        assert all(isinstance(part["type"], str) for part in (*message["parts"], *instructions))
    encode_json([instructions, asked, answered])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from("lstewx"), st.integers(0, 12)), max_size=60), st.data())
def test_every_event_comes_out_once_and_always_in_the_same_order(
    plot: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Who was interrupted skips as many spans as were taken; that is right only if they are always the same."""
    story = Story()
    for kind, back in plot:
        parent = max(1, len(story.events) - back)
        if kind == "l":
            story.llm("a", "b", parent=parent)
        elif kind == "t":
            story.tool("search", parent=parent)
        elif kind == "s":
            story.write("STATE_UPDATE", "state", {"state": 1}, parent=parent)
        elif kind == "e":
            story.error("ValueError", "no")
        elif kind == "w":
            story.loop("cycle", "critical", "LLM_CALL:a", [])
        else:
            story.write("STATE_UPDATE", "far", {"state": 1}, parent=FAR)
    story.end()
    whole = nodes_of(story.events)
    cut = data.draw(st.integers(0, len(story.events)))
    outline = Outline()
    first = list(itertools.chain.from_iterable(map(outline.take, story.events[:cut])))

    assert [_id(node) for node in first] == [_id(node) for node in whole[: len(first)]]
    places = [place for node in whole for place in (node.sequence, *(moment.sequence for moment in node.moments))]
    assert sorted([*places, len(story.events)]) == list(range(1, len(story.events) + 1))
    spans = {_id(node) for node in whole}
    assert all(node.parent_id in spans | {None, FAR} for node in whole)


def _id(node: Node) -> str:
    return node.event["event_id"] if node.event else ""
