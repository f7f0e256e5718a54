"""Workers that take jobs from one queue: which of them takes a job is chance, what the program gets is not."""

from __future__ import annotations

import os
import queue
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import replay, tool, traced_run

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

nap = random.SystemRandom()
ran: list[Any] = []


@tool
def look(what: Any) -> str:
    ran.append(what)
    time.sleep(nap.random() / 500)
    return os.urandom(4).hex()


@tool(replay="run")
def look_twice(what: Any) -> list[str]:
    return [look(f"{what} once"), look(f"{what} again")]


def _work(work: Callable[[Any], Any], jobs: list[Any], workers: int = 4) -> list[Any]:
    waiting: queue.Queue[Any] = queue.Queue()
    done: list[Any] = []

    def worker(number: int) -> None:
        while (job := waiting.get()) is not None:
            done.append((job, work(job)))

    threads = [threading.Thread(target=worker, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for job in [*jobs, *[None] * workers]:
        waiting.put(job)
    for thread in threads:
        thread.join()
    return done


def _two_steps(job: Any) -> str:
    return look({"found": look(job)})


@pytest.mark.parametrize("work", [look, _two_steps, look_twice])
def test_a_job_is_answered_whichever_worker_takes_it(work: Callable[[Any], Any]) -> None:
    """Threads and a queue are the most common way to do several things at once."""
    with traced_run("program") as run:
        live = _work(work, list(range(30)))
    ran.clear()

    for _ in range(5):
        with replay(run.run_id) as replayed, traced_run("program"):
            assert _work(work, list(range(30))) == live
        assert replayed.live == 0
        assert not ran


def test_a_changed_job_is_told_against_the_one_it_was() -> None:
    """Not against whatever this worker did in the recording."""
    with traced_run("program") as run:
        _work(look, [f"job {number}" for number in range(20)])
    changed = [f"job {number}{'!' * (number == 13)}" for number in range(20)]

    with replay(run.run_id, check=False) as replayed, traced_run("program"):
        _work(_caught, changed)

    told = replayed.divergence
    assert told is not None
    assert told.kind_of == "changed"
    assert [(one.path, one.recorded, one.now) for one in told.differences] == [("args.what", "job 13", "job 13!")]


def _caught(job: Any) -> Any:
    try:
        return look(job)
    except BaseException:
        return None


def test_equal_jobs_with_other_answers_are_not_mixed_up_in_silence() -> None:
    """If nobody can say which answer belongs to whom, the replay says that."""

    def program(*counts: int) -> None:
        def poll(times: int) -> None:
            for _ in range(times):
                _caught("the same")

        threads = [threading.Thread(target=poll, args=(times,)) for times in counts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with traced_run("program") as run:
        program(1, 3, 3)

    with replay(run.run_id, check=False) as replayed, traced_run("program"):
        program(2, 3, 3)

    assert replayed.divergence is not None
    assert not replayed.equal
