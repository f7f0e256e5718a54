"""Loop warnings as a run records them: once, with the right word, in the right place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg import record_llm_call, record_tool_call, traced_run

if TYPE_CHECKING:
    from tests.conftest import Recorded


def test_a_repeated_block_triggers_exactly_one_warning(recorded: Recorded) -> None:
    """The specification's own test: repeated, and told once."""
    with traced_run("loop"):
        for _ in range(10):
            record_llm_call("gpt-4", response="let me search")
            record_tool_call("search", {"q": "x"}, "nothing found")

    warning = recorded.only().one("LOOP_WARNING")
    assert warning["payload"]["pattern"] == "LLM_CALL:gpt-4 -> TOOL_CALL:search"
    assert warning["name"] == warning["payload"]["pattern"]
    assert warning["payload"]["repetitions"] == 3
    assert warning["payload"]["kind"] == "cycle"
    assert len(warning["payload"]["evidence_event_ids"]) == 6
    assert recorded.only().meta["counts"]["loop_warnings"] == 1


def test_what_was_held_back_is_told_before_the_run_ends(recorded: Recorded) -> None:
    """A finding that waited for more events must not be lost with the last of them."""
    with traced_run("batch"):
        for n in range(3):
            record_tool_call("convert", {"file": f"{n}.png"}, f"{n}.jpg")

    run = recorded.only()
    assert run.types()[-2:] == ["LOOP_WARNING", "RUN_END"]
    assert run.one("LOOP_WARNING")["payload"]["severity"] == "info"
    assert run.one("LOOP_WARNING")["parent_id"] == run.events[1]["parent_id"]
    assert run.one("RUN_END")["payload"]["summary"]["loop_warnings"] == run.meta["counts"]["loop_warnings"] == 1


def test_the_settings_reach_the_detector(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window and a count nobody reads would be decoration."""
    monkeypatch.setenv("AGENTDBG_LOOP_REPETITIONS", "5")
    with traced_run("patient"):
        for _ in range(4):
            record_tool_call("search", {"q": "x"}, "nothing found")

    assert recorded.only().of_type("LOOP_WARNING") == []


@pytest.mark.parametrize(
    ("prompt", "response"),
    [
        ([{"role": ["user"], "content": "x"}], {"tool_calls": 5}),
        ([{"role": {"a": 1}}], {"tool_calls": {"function": None}}),
        ([[["deep"]]], [{"role": None}]),
        ({"messages": 3}, {"content": [{"type": []}]}),
        ([None, 1, "x"], {"tool_calls": [None, 1, {"function": {"arguments": 5}}]}),
    ],
)
def test_messages_of_any_shape_are_recorded(recorded: Recorded, prompt: object, response: object) -> None:
    """The detector reads messages; odd ones must cost nobody their event."""
    with traced_run("odd"):
        for _ in range(4):
            assert record_llm_call("m", prompt=prompt, response=response) is not None
            assert record_tool_call("t", args=prompt, result=response) is not None

    assert len(recorded.only().of_type("LLM_CALL")) == 4


def test_looking_for_loops_can_be_turned_off(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that polls by design needs no warnings, nor the time they take."""
    monkeypatch.setenv("AGENTDBG_LOOPS", "0")
    with traced_run("polls", stop_on_loop=True):
        for _ in range(10):
            record_tool_call("poll", {"id": 1}, "pending")

    run = recorded.only()
    assert len(run.of_type("TOOL_CALL")) == 10
    assert not run.of_type("LOOP_WARNING")
    assert run.meta["status"] == "ok"
