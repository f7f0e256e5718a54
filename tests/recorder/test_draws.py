"""What a program takes from chance is given again in a replay."""

from __future__ import annotations

import asyncio
import json
import pickle
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


@pytest.mark.parametrize(("recorded_waits", "waits"), [(2, 1), (1, 2), (2, 0), (0, 2)])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_wait_more_or_less_is_no_difference(
    recorded: Recorded, recorded_waits: int, waits: int, is_async: bool
) -> None:
    """How often a framework waits, as when it closes what is not done by then, is chance; later waits are others."""

    def program(count: int) -> Any:
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(search, 1)
            first.result()
            for _ in range(count):
                assert wait([first], return_when=FIRST_COMPLETED).done == {first}
            search(2)
            second = pool.submit(search, 3)
            assert wait([second], return_when=FIRST_COMPLETED).done == {second}
            return search(second.result())

    async def number(n: int) -> Any:
        return search(n)

    async def program_of_tasks(count: int) -> Any:
        first = asyncio.ensure_future(number(1))
        await first
        for _ in range(count):
            assert await asyncio.wait([first], return_when=asyncio.FIRST_COMPLETED) == ({first}, set())
        search(2)
        second = asyncio.ensure_future(number(3))
        assert await asyncio.wait([second], return_when=asyncio.FIRST_COMPLETED) == ({second}, set())
        return search(second.result())

    def run_once(count: int) -> Any:
        return asyncio.run(program_of_tasks(count)) if is_async else program(count)

    with traced_run("program") as run:
        live = run_once(recorded_waits)
    with replay(run.run_id) as replayed, traced_run("program"):
        assert run_once(waits) == live
    assert replayed.divergence is None
    assert replayed.equal


@pytest.mark.parametrize("is_async", [False, True])
def test_no_job_is_given_as_done_that_is_not(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, is_async: bool
) -> None:
    """A job that makes no call may end when it wants; who is told that it is done may wait for it without an end."""
    monkeypatch.setattr("agentdbg.recorder.draws._LONGEST_WAIT_S", 0.05)

    def program(is_quick: bool) -> list[bool]:
        quick, slow = threading.Event(), threading.Event()
        (quick if is_quick else slow).set()
        with ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(quick.wait, 30), pool.submit(slow.wait, 30)]
            done, left = wait(jobs, return_when=FIRST_COMPLETED)
            found = [job in done for job in jobs]
            assert all(job.done() for job in done)
            assert done | left == set(jobs)
            quick.set()
            slow.set()
            return found

    async def program_of_tasks(is_quick: bool) -> list[bool]:
        quick, slow = asyncio.Event(), asyncio.Event()
        (quick if is_quick else slow).set()
        jobs = [asyncio.ensure_future(quick.wait()), asyncio.ensure_future(slow.wait())]
        done, left = await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
        found = [job in done for job in jobs]
        assert all(job.done() for job in done)
        assert done | left == set(jobs)
        quick.set()
        slow.set()
        await asyncio.gather(*jobs)
        return found

    def run_once(is_quick: bool) -> list[bool]:
        return asyncio.run(program_of_tasks(is_quick)) if is_async else program(is_quick)

    with traced_run("program") as run:
        assert run_once(True) == [True, False]
    with replay(run.run_id), traced_run("program"):
        assert run_once(False) == [False, True]


def test_what_was_waited_for_is_given_in_the_order_in_which_it_was_started(recorded: Recorded) -> None:
    """A set goes by addresses in memory; who goes through it would do so otherwise each time."""

    async def number(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def program() -> None:
        tasks = [asyncio.ensure_future(number(n)) for n in range(40)]
        done, pending = await asyncio.wait(tasks[::-1])
        assert [task.result() for task in done] == list(range(40))
        assert done == set(tasks)
        assert [task.result() for task in (done - {tasks[0]}) & set(tasks[:3]) | {tasks[9]}] == [1, 2, 9]
        assert not pending
        started = [await first for first in asyncio.as_completed([number(n) for n in range(40)])]
        assert started == list(range(40))

    with traced_run("program"):
        asyncio.run(program())
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(search, n) for n in range(40)]
            assert list(wait(jobs).done) == jobs


def test_such_a_set_is_a_set_in_all_else(recorded: Recorded) -> None:
    """A program may do with it what it does with any."""

    async def program() -> set[Any]:
        tasks = [asyncio.ensure_future(asyncio.sleep(0)) for _ in range(3)]
        done: set[Any]
        done, pending = await asyncio.wait(tasks)
        assert done.pop() is tasks[0]
        assert repr(done & {tasks[1]}) == repr({tasks[1]})
        done.add(None)
        assert list(done)[-1] is None
        assert isinstance(pickle.loads(pickle.dumps(pending)), set)
        with pytest.raises(RuntimeError, match="changed size"):
            for task in done:
                done.discard(task)
        with pytest.raises(KeyError):
            pending.pop()
        with pytest.raises(TypeError):
            _ = done | [1]  # type: ignore[operator]
        return done

    with traced_run("program"):
        asyncio.run(program())


def test_other_things_are_waited_for_as_ever(recorded: Recorded) -> None:
    """What is no coroutine, or cannot be waited for, is treated as if nobody recorded."""

    async def program() -> None:
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in range(3)]
        for future in futures:
            future.set_result(1)
        assert [await first for first in asyncio.as_completed(iter(futures))] == [1, 1, 1]
        with pytest.raises(TypeError):
            list(asyncio.as_completed([[]]))  # type: ignore[arg-type]
        done, _ = await asyncio.wait(futures)
        assert done == set(futures)

    with traced_run("program"):
        asyncio.run(program())
