"""Breakpoints: the program waits where it was told to, obeys one answer, and never waits where nobody can answer."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg
from agentdbg.around import deciding
from agentdbg.control.arming import disarm
from agentdbg.control.breakpoints import Breakpoints
from agentdbg.storage.control_files import answer_pause, control_dir, paused_in, write_breaks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Recorded

made: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def _nothing_made() -> Iterator[None]:
    made.clear()
    yield
    disarm()


@agentdbg.tool
def refund(order: str, amount: float, key: Any = None) -> dict[str, Any]:
    made.append({"order": order, "amount": amount, "key": key})
    return {"ok": True, "amount": amount}


@agentdbg.tool
async def refund_later(order: str, amount: float) -> dict[str, Any]:
    made.append({"order": order, "amount": amount})
    return {"ok": True, "amount": amount}


@contextlib.contextmanager
def answering(run_path: Path, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Somebody at the page: answers every pause of a run."""
    seen: list[dict[str, Any]] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(0.005):
            for pause in paused_in(run_path):
                if pause["pause_id"] not in [one["pause_id"] for one in seen]:
                    seen.append(pause)
                    answer_pause(run_path, pause["pause_id"], answer(pause))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        is_over.set()
        looking.join()


@contextlib.contextmanager
def paused_run(
    places: list[str], answer: Callable[[dict[str, Any]], dict[str, Any]], wait_seconds: float = 20, **limits: Any
) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """A run with breakpoints, and somebody who answers."""
    breaks = Breakpoints(places, wait_seconds=wait_seconds)
    with deciding(breaks), agentdbg.traced_run("r", **limits) as run, answering(run.path, answer) as seen:
        yield run, seen


def going_on(_: dict[str, Any]) -> dict[str, Any]:
    return {"do": "continue"}


def test_a_pause_shows_the_call_and_goes_on(recorded: Recorded) -> None:
    """What waits can be read, without its secrets, by whoever may read the run."""
    secret = "sk-" + "a1B2c3D4" * 5
    with paused_run(["tool:refund"], going_on) as (run, seen):
        refund("A-17", 4000, key=secret)

    assert [(one["when"], one["call"]["name"], one["value"]["amount"]) for one in seen] == [("before", "refund", 4000)]
    assert secret not in str(seen)
    assert made == [{"order": "A-17", "amount": 4000, "key": secret}]
    assert recorded.only().one("BREAK")["payload"]["action"] == "continue"
    assert not control_dir(run.path).exists()


def test_edited_arguments_reach_the_call_and_the_rest_stays(recorded: Recorded) -> None:
    """A marker that comes back unchanged keeps the secret it stands for."""
    secret = "sk-" + "a1B2c3D4" * 5
    with paused_run(["tool:refund"], lambda pause: {"do": "continue", "value": {**pause["value"], "amount": 40}}):
        assert refund("A-17", 4000, key=secret)["amount"] == 40

    assert made == [{"order": "A-17", "amount": 40, "key": secret}]
    assert recorded.only().one("TOOL_CALL")["payload"]["args"]["amount"] == 40


def test_skip_answers_and_makes_no_call(recorded: Recorded) -> None:
    """The refund that must not happen does not."""
    with paused_run(["tool:refund"], lambda _: {"do": "skip", "value": {"ok": False}}):
        assert refund("A-17", 4000) == {"ok": False}

    assert not made
    assert recorded.only().one("TOOL_CALL")["payload"]["served"] == "edited"


def test_raise_raises_what_was_named() -> None:
    """How the agent copes with a failing tool is what one wants to see."""
    told = {"do": "raise", "error": {"type": "TimeoutError", "message": "slow"}}
    with paused_run(["tool:refund"], lambda _: told), pytest.raises(TimeoutError, match="slow"):
        refund("A-17", 4000)

    assert not made


def test_mock_answers_from_now_on() -> None:
    """One decision, not one at every call."""
    with paused_run(["call:1"], lambda _: {"do": "mock", "value": "mocked"}) as (_, seen):
        assert [str(refund("A-17", n)) for n in range(2)] == ["mocked", "mocked"]

    assert len(seen) == 1
    assert not made


def test_after_a_call_its_result_can_be_changed(recorded: Recorded) -> None:
    """What if the search had found nothing?"""
    with paused_run(["tool:refund:after"], lambda pause: {"do": "continue", "value": {**pause["value"], "ok": False}}):
        assert refund("A-17", 4000) == {"ok": False, "amount": 4000}

    assert recorded.only().one("TOOL_CALL")["payload"]["result"]["ok"] is False


def test_abort_ends_the_program_as_ctrl_c_does(recorded: Recorded) -> None:
    """The run is closed, and says so."""
    with pytest.raises(KeyboardInterrupt), paused_run(["tool:refund"], lambda _: {"do": "abort"}):
        refund("A-17", 4000)

    assert not made
    assert recorded.only().meta["status"] == "error"


def test_stepping_pauses_at_the_next_call_and_into_goes_inside() -> None:
    """`n` passes over what a call does inside, `s` does not."""

    @agentdbg.tool
    def outer() -> None:
        refund("inner", 1)

    def stops(do: str) -> list[str]:
        def answer(pause: dict[str, Any]) -> dict[str, Any]:
            return {"do": do if pause["call"]["number"] == 1 else "continue"}

        with paused_run(["call:1"], answer) as (_, seen):
            outer()
            refund("next", 2)
        return [one["value"].get("order", one["call"]["name"]) for one in seen]

    assert stops("step") == ["outer", "next"]
    assert stops("into") == ["outer", "inner"]
    assert stops("continue") == ["outer"]


def test_without_a_terminal_and_without_waiting_nothing_waits(
    recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    """A breakpoint that was left in must not hang CI."""
    began = time.monotonic()
    with deciding(Breakpoints(["tool:refund"])), agentdbg.traced_run("r"):
        refund("A-17", 1)

    assert time.monotonic() - began < 5
    assert recorded.only().one("BREAK")["payload"]["by"] == "nobody"
    assert "nobody can answer" in capsys.readouterr().err


def test_waiting_ends() -> None:
    """`--wait` is a time, not for ever, and `--then abort` is what a careful person wants."""
    with deciding(Breakpoints(["tool:refund"], wait_seconds=0.1)), agentdbg.traced_run("r"):
        refund("A-17", 1)
    assert len(made) == 1

    careful = Breakpoints(["tool:refund"], wait_seconds=0.1, then="abort")
    with pytest.raises(KeyboardInterrupt), deciding(careful), agentdbg.traced_run("r"):
        refund("A-17", 1)
    assert len(made) == 1


def test_tasks_pause_alone_and_each_gets_its_own_answer() -> None:
    """Forty tasks at one breakpoint are forty pauses, and the loop goes on meanwhile."""
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.005)

    async def main() -> list[Any]:
        beating = asyncio.create_task(beat())
        results = await asyncio.gather(*(refund_later(f"A-{n}", n) for n in range(40)))
        beating.cancel()
        return list(results)

    def answer(pause: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.003)
        return {"do": "continue", "value": {**pause["value"], "amount": 1000}}

    with paused_run(["tool:refund_later"], answer) as (_, seen):
        results = asyncio.run(main())

    assert len(seen) == 40
    assert [one["amount"] for one in results] == [1000] * 40
    assert sorted(one["order"] for one in made) == sorted(f"A-{n}" for n in range(40))
    assert beats >= 2


def test_paused_time_belongs_to_no_duration_and_no_limit(recorded: Recorded) -> None:
    """Somebody looks for a minute; the call still took a millisecond, and max_duration_s did not strike."""

    @agentdbg.tool
    def outer() -> None:
        refund("A-17", 1)

    def slowly(_: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.15)
        return {"do": "continue"}

    places = ["tool:refund", "tool:refund:after"]
    with paused_run(places, slowly, max_duration_s=0.3):
        with agentdbg.traced_run("span"):
            outer()
        refund("A-17", 2)

    events = recorded.only().events
    assert all(event["duration_ms"] < 140 for event in events if event["duration_ms"] is not None)
    assert recorded.only().one("RUN_END")["payload"]["paused_ms"] >= 600
    assert recorded.only().meta["status"] == "ok"


def test_breakpoints_are_added_from_outside() -> None:
    """The page offers `Break before refund` on a run that goes on."""
    with deciding(Breakpoints([], wait_seconds=20)), agentdbg.traced_run("r") as run:
        refund("A-17", 1)
        write_breaks(run.path, ["tool:refund"])
        with answering(run.path, going_on) as seen:
            refund("A-17", 2)

    assert [one["value"]["amount"] for one in seen] == [2]


@pytest.mark.parametrize(
    "nonsense", [{}, {"do": "exec"}, {"do": "skip"}, {"do": "raise", "error": "x"}, {"do": ["continue"]}]
)
def test_a_command_that_makes_no_sense_is_not_obeyed(nonsense: dict[str, Any]) -> None:
    """The program waits on, until its time is over."""
    with paused_run(["tool:refund"], lambda _: nonsense, 0.1):
        assert refund("A-17", 1)["ok"]


def test_a_breakpoint_in_code_shows_its_values(recorded: Recorded) -> None:
    """Where no call is, one line of code pauses too; without anybody there it costs nothing."""
    with agentdbg.traced_run("r"):
        agentdbg.breakpoint("before the loop", count=3)

    assert recorded.only().one("BREAK")["name"] == "before the loop"


def test_break_counts_nowhere(recorded: Recorded) -> None:
    """A pause is no step of the agent."""
    with deciding(Breakpoints(["every"])), agentdbg.traced_run("r", max_events=3):
        for amount in range(3):
            refund("A-17", amount)

    assert recorded.only().meta["status"] == "ok"
    assert recorded.only().meta["counts"]["tool_calls"] == 3


def test_a_name_that_is_no_text_is_not_asked_for_one(recorded: Recorded) -> None:
    """A tool may be named by any object of the program's, also by one whose text never ends."""

    class Endless:
        def __str__(self) -> str:
            raise AssertionError("asked for its text")

    name: Any = Endless()
    with deciding(Breakpoints(["tool:refund"])), agentdbg.traced_run("r"), agentdbg.tool_call(name) as call:
        call.result = 1

    assert len(recorded.only().of_type("TOOL_CALL")) == 1
