"""What repeats because that is its purpose: waiting, moving on in a page, votes. Info, never stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import AgentDbgLoopAbort, record_llm_call, record_tool_call, traced_run

if TYPE_CHECKING:
    from tests.conftest import Recorded

WAITING: list[tuple[str, dict[str, Any], Any]] = [
    ("get_job", {"id": 1}, {"status": "running"}),
    ("get_job", {"id": 1}, {"id": 1, "state": "IN_PROGRESS", "owner": "ana"}),
    ("job_state", {"id": 1}, "pending"),
    ("get_run", {"id": 1}, "Status: queued"),
    ("BashOutput", {"bash_id": 1}, "<status>running</status>\n<stdout></stdout>"),
    ("receive_message", {"queue": "jobs"}, None),
    ("check_inbox", {}, {"messages": []}),
    ("waitForPage", {"seconds": 5}, "waited"),
    ("browser_scroll", {"by": 500}, "Scrolled down 500 pixels"),
    ("press_key", {"key": "ArrowDown"}, "Pressed ArrowDown"),
    ("robot_move", {"direction": "north"}, "moved"),
    ("turnLeft", {}, {"ok": True}),
    ("undo", {}, "Undone."),
    ("judge_answer", {"answer": "Paris"}, {"verdict": "pass"}),
    ("health_check", {}, {"status": "healthy"}),
    ("isReady", {}, False),
    ("train_status", {"id": 1}, "40 %"),
    ("train_status", {"id": 1}, {"progress": 0.4, "eta_s": 60}),
]
STUCK: list[tuple[str, dict[str, Any], Any]] = [
    ("get_job", {"id": 1}, {"status": "done"}),
    ("list_tasks", {}, [{"task": "a", "status": "pending"}]),
    ("page_down", {}, "Error: nothing more to show"),
    ("page_down", {}, "Welcome to the shop. " * 20),
    ("get_weather", {"city": "Oslo"}, {"temp": 4}),
    ("robot_move", {"direction": "north"}, "Error: a wall is in the way"),
    ("move_file", {"from": "a", "to": "b"}, {"path": "b", "size": 3}),
    ("receipt", {"id": 1}, {"total": 4}),
    ("train_status", {"id": 1}, "100 %"),
    ("get_discount", {"id": 1}, {"percent": 40}),
]
VERDICTS = [
    ("Is the answer correct? Reply yes or no.", "no"),
    ("Grade this answer from 1 to 5: 2 + 2 = 4", "5"),
    ([{"role": "system", "content": "You judge answers."}, {"role": "user", "content": "2 + 2 = 4"}], '{"score": 1}'),
]


@pytest.mark.parametrize(("name", "args", "result"), WAITING)
@pytest.mark.parametrize("thinks", [False, True])
def test_what_is_there_to_repeat_is_not_stopped(
    name: str, args: dict[str, Any], result: object, thinks: bool, recorded: Recorded
) -> None:
    """Also where the model says something different in between."""
    with traced_run("waits", stop_on_loop=True):
        for number in range(8):
            if thinks:
                record_llm_call("m", response=f"Let me look once more, for the {number}. time.")
            record_tool_call(name, args, result)

    run = recorded.only()
    assert run.meta["status"] == "ok"
    assert {event["payload"]["severity"] for event in run.of_type("LOOP_WARNING")} == {"info"}


@pytest.mark.parametrize(("name", "args", "result"), STUCK)
def test_what_does_not_say_that_it_waits_is_stopped(name: str, args: dict[str, Any], result: object) -> None:
    """A list of things that are pending is no waiting, and a page that is shown says whether it moved."""
    with pytest.raises(AgentDbgLoopAbort), traced_run("stuck", stop_on_loop=True):
        for _ in range(8):
            record_tool_call(name, args, result)


@pytest.mark.parametrize(("prompt", "verdict"), VERDICTS)
def test_votes_of_a_judge_are_not_stopped(prompt: object, verdict: str, recorded: Recorded) -> None:
    """Asking a judge three, five or seven times is how its noise is taken out."""
    with traced_run("votes", stop_on_loop=True):
        for _ in range(7):
            record_llm_call("judge", prompt, verdict)

    (warning,) = recorded.only().of_type("LOOP_WARNING")
    assert warning["payload"]["severity"] == "info"
    assert "voting" in warning["payload"]["explanation"]


@pytest.mark.parametrize(("prompt", "verdict"), VERDICTS)
def test_a_judge_that_is_asked_for_ever_is_stopped(prompt: object, verdict: str) -> None:
    """Nobody takes the mean of twenty equal votes."""
    with pytest.raises(AgentDbgLoopAbort), traced_run("votes", stop_on_loop=True):
        for _ in range(20):
            record_llm_call("judge", prompt, verdict)


def test_a_model_that_reads_its_own_answer_does_not_vote() -> None:
    """It goes round, whatever it is asked."""
    prompt = [{"role": "user", "content": "Is the answer correct? Reply yes or no."}]
    with pytest.raises(AgentDbgLoopAbort), traced_run("circles", stop_on_loop=True):
        for _ in range(8):
            record_llm_call("judge", prompt, "yes, it seems that the answer may be right")
            prompt = [*prompt, {"role": "assistant", "content": "yes, it seems that the answer may be right"}]
