"""A child forked inside calls and spans leaves them when it exits: they are the parent's to end, and end once."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Recorded

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def fork_and_leave() -> None:
    """The oldest way there is: the child does its part and exits, through everything it was forked in."""
    child = os.fork()
    if child == 0:
        with agentdbg.tool_call("in the child") as call:
            call.result = agentdbg.record_state({"child": True}) is not None
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0


@agentdbg.tool
def a_tool() -> str:
    fork_and_leave()
    return "done"


@agentdbg.llm(model="m")
def a_stream() -> Iterator[str]:
    yield "a"
    fork_and_leave()
    yield "b"


@agentdbg.trace
async def a_step() -> str:
    async with agentdbg.tool_call("block") as call:
        fork_and_leave()
        call.result = 1
    return "step"


@agentdbg.trace
def agent() -> Any:
    with agentdbg.traced_run("span", max_tool_calls=20):
        a_tool()
    return [*a_stream(), asyncio.run(a_step())]


def test_what_a_child_was_forked_in_ends_once_and_in_the_parent(recorded: Recorded) -> None:
    parent = os.getpid()
    try:
        assert agent() == ["a", "b", "step"]
    finally:
        if os.getpid() != parent:
            os._exit(0 if isinstance(sys.exc_info()[1], SystemExit) else 1)

    run, events = recorded.only().meta, recorded.only().events
    ids = [event["event_id"] for event in events]
    assert len(ids) == len(set(ids))
    assert not [event for event in events if event["payload"].get("error")]
    assert [event["name"] for event in events if event["event_type"] == "TOOL_CALL"] == [
        "in the child",
        "a_tool",
        "in the child",
        "in the child",
        "block",
    ]
    assert run["status"] == "ok"
    assert run["counts"] == {"llm_calls": 1, "tool_calls": 5, "errors": 0, "loop_warnings": 0}
