"""What a program takes from chance is given again in a replay."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, as_completed, wait
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import draw, replay, tool, traced_run

if TYPE_CHECKING:
    from tests.conftest import Recorded


@tool
def search(query: Any) -> Any:
    return query


def test_a_draw_is_recorded_on_purpose_and_given_again(recorded: Recorded) -> None:
    """`uuid4` is not controlled; a program that puts one into a request says so."""
    with traced_run("program") as run:
        live = [search(draw("request id", uuid.uuid4)), draw("other", dict, a=1)]

    with replay(run.run_id) as replayed, traced_run("program"):
        assert [search(draw("request id", _fail)), draw("other", _fail)] == live
    assert replayed.equal
    events = recorded.all()[0].events
    assert [event["event_type"] for event in events] == ["RUN_START", "CALL_START", "TOOL_CALL", "RUN_END"]


def _fail() -> Any:
    raise AssertionError("a served draw is not made")


def test_outside_a_run_a_draw_is_a_call() -> None:
    """A library may draw whether or not anybody records."""
    assert draw("number", int, "7") == 7


def test_what_a_draw_raises_is_raised(recorded: Recorded) -> None:
    """Their exception is theirs."""
    with pytest.raises(ZeroDivisionError), traced_run("program") as run:
        draw("broken", lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError), replay(run.run_id), traced_run("program"):
        draw("broken", _fail)


@pytest.mark.slow
def test_who_was_done_when_somebody_looked_is_drawn() -> None:
    """Tools that take no time are done in any order, and before anybody waits."""

    def program() -> list[Any]:
        with ThreadPoolExecutor(4) as pool:
            found = [search([job.result()]) for job in as_completed([pool.submit(search, n) for n in range(12)])]
            left = {pool.submit(search, n) for n in range(6)}
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                found.append(search(sorted(job.result() for job in done)))
        return found

    for _ in range(5):
        with traced_run("program") as run:
            live = program()
        with replay(run.run_id), traced_run("program"):
            assert json.dumps(program()) == json.dumps(live)


def test_a_task_of_an_earlier_run_is_not_taken_for_one_of_this_run(recorded: Recorded) -> None:
    """Both are the first of their run; who waits for them gets what is so."""

    async def program() -> None:
        go = asyncio.Event()

        async def work(is_held: bool) -> None:
            if is_held:
                await go.wait()

        with traced_run("a"):
            first = asyncio.ensure_future(work(False))
            await first
        with traced_run("b"):
            second = asyncio.ensure_future(work(True))
            done, pending = await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED)
            assert (done, pending) == ({first}, {second})
            go.set()
            await second

    asyncio.run(program())


def test_a_job_of_an_earlier_run_is_not_taken_for_one_of_this_run(recorded: Recorded) -> None:
    """The same in threads."""
    go = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        with traced_run("a"):
            first = pool.submit(go.wait, 0)
            first.result()
        with traced_run("b"):
            second = pool.submit(go.wait, 30)
            done, left = wait([first, second], return_when=FIRST_COMPLETED)
            go.set()
    assert (done, left) == ({first}, {second})


def test_a_replay_waits_for_a_job_that_was_done(recorded: Recorded) -> None:
    """One is done before anybody waits, the other comes a little later than it did."""
    late = threading.Event()

    def program(is_late: bool) -> list[bool]:
        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(search, 1), pool.submit(late.wait, 30)]
            jobs[0].result()
            if is_late:
                threading.Timer(0.05, late.set).start()
            else:
                late.set()
                jobs[1].result()
            done, _ = wait(jobs, return_when=FIRST_COMPLETED)
            return [job in done and job.done() for job in jobs]

    with traced_run("program") as run:
        assert program(False) == [True, True]
    late.clear()
    with replay(run.run_id), traced_run("program"):
        assert program(True) == [True, True]
