"""
What a program takes from chance, kept on the tape so that a replay gives the same again.

A draw is no event and is in no counter; only the tape has it, and deciders that answer exchanges are asked about it.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agentdbg.faults import pass_on
from agentdbg.import_hook import when_imported
from agentdbg.recorder import lanes
from agentdbg.recorder.calls import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["WAITING", "draw", "follow_waiting"]

WAITING = frozenset({"asyncio.wait", "concurrent.futures.wait"})
"""Draws that the program does not know of: what was done when it had waited."""

_Drawn = TypeVar("_Drawn")
_LONGEST_WAIT_S = 5.0


def draw(name: str, function: Callable[..., _Drawn], /, *args: Any, **kwargs: Any) -> _Drawn:
    """
    Call a function whose result is chance, and keep the result: `request_id = draw("request id", uuid.uuid4)`.

    A replay gives the recorded result and does not call the function. Outside a run it is only called.
    """
    call = Call("draw", name, None, None, {})
    try:
        if not call.begin():
            return function(*args, **kwargs)
        drawn: _Drawn = call.make(lambda _: function(*args, **kwargs), None)
        call.finish(drawn)
    except BaseException as error:
        call.fail(error)
        raise
    finally:
        if not call.is_over and (interruption := sys.exc_info()[1]) is not None:
            call.fail(interruption)  # which kept it from being ended
    return drawn


@functools.cache
def follow_waiting() -> None:
    """Draw what depends on who was fast among the jobs of a pool; called when the first run with a tape begins."""
    when_imported(["concurrent.futures"], lambda _: _follow_waiting(sys.modules["concurrent.futures._base"]))
    when_imported(["asyncio"], lambda _: _follow_async_waiting(sys.modules["asyncio.tasks"]))


def _follow_waiting(base: Any) -> None:
    """
    See which jobs were done when somebody had waited for the first of them: it depends on who was fast.

    `wait` gives what was done then, so that is drawn. `as_completed` gives those that were done before in any order;
    here it is the order in which they were done, which a replay keeps.
    """
    made, give = base.DoneAndNotDoneFutures, base._yield_finished_futures  # noqa: SLF001 -- asked for at each call

    def make(done: Any, not_done: Any) -> Any:
        jobs = {job: getattr(job, lanes.OF_JOB, None) for job in (*done, *not_done)}
        if not _are_of_this_run(jobs):
            return made(done, not_done)
        # `wait` holds their locks where some were done at once; then no job could end while we ask and wait.
        conditions = [job._condition for job in sorted(jobs, key=id)]  # noqa: SLF001 -- `wait` takes them in this order
        held = [condition for condition in conditions if condition._is_owned()]  # noqa: SLF001
        for condition in held:
            condition.release()
        try:
            drawn = _drawn("concurrent.futures.wait", jobs, done)
            late = drawn - done
            for job in late:  # in a replay: it comes
                is_over = threading.Event()
                job.add_done_callback(lambda _, is_over=is_over: is_over.set())
                is_over.wait(_LONGEST_WAIT_S)
            if late:
                drawn = _over(drawn) or done
        finally:
            for condition in held:
                condition.acquire()
        return made(_InOrder(drawn), _InOrder({*done, *not_done} - drawn))

    def give_in_order(jobs: list[Any], *args: Any, **kwargs: Any) -> Iterator[Any]:  # the last of the list first
        jobs.sort(
            key=lambda job: getattr(getattr(job, lanes.OF_JOB, None), "ended_at", -1), reverse=True
        )  # the last is first
        return cast("Iterator[Any]", give(jobs, *args, **kwargs))

    base.DoneAndNotDoneFutures, base._yield_finished_futures = make, give_in_order  # noqa: SLF001


def _are_of_this_run(jobs: dict[Any, lanes.Lane | None]) -> bool:
    """Whether this code is in a run that is followed, and all these jobs were started in it."""
    here = lanes.here()
    return here is not None and all(lane is not None and lane.run_id == here.run_id for lane in jobs.values())


def _drawn(name: str, jobs: dict[Any, Any], done: set[Any]) -> set[Any]:
    """Which of these jobs are done: those that are, or in a replay those that were."""
    live = sorted(jobs[job].name for job in done)
    names = draw(name, lambda: live)
    if names is live or len({lane.name for lane in jobs.values()}) < len(jobs):  # two may be taken for one until named
        return done
    drawn = {job for job, lane in jobs.items() if lane.name in names}
    return drawn if drawn or not names else done  # none of them is waited for now: what is so is given


def _over(drawn: set[Any]) -> set[Any]:
    """Those that are over: nobody is given a job as done that is not, which could be waited for without an end."""
    return {job for job in drawn if job.done()}


def _follow_async_waiting(tasks: Any) -> None:
    """Do the same for `asyncio.wait`, on every loop, and let `asyncio.as_completed` start coroutines in their order."""
    wait = tasks._wait  # noqa: SLF001 -- asked for at each call, whoever has imported `asyncio.wait` before

    @functools.wraps(wait)
    async def wait_drawn(fs: Any, timeout: Any, return_when: Any, loop: Any) -> Any:
        done, pending = await wait(fs, timeout, return_when, loop)
        jobs = {task: lanes.of_task(task) for task in fs}
        if not _are_of_this_run(jobs):
            return done, pending
        if timeout is None and return_when == tasks.ALL_COMPLETED:
            return _InOrder(done), _InOrder(pending)
        drawn = _drawn("asyncio.wait", jobs, done)
        if drawn - done:  # in a replay: they come
            await wait(drawn - done, _LONGEST_WAIT_S, tasks.ALL_COMPLETED, loop)
            drawn = _over(drawn) or done
        return _InOrder(drawn), _InOrder({*done, *pending} - drawn)

    def set_of(*given: Any) -> Any:  # of coroutines: only gone through, to make a task of each
        if not given or not lanes.is_any_followed():
            return set(*given)
        members = list(given[0])
        has_coroutines = any(map(asyncio_coroutines.iscoroutine, members))
        return dict.fromkeys(members).keys() if has_coroutines else set(members)

    asyncio_coroutines: Any = sys.modules["asyncio.coroutines"]
    tasks._wait = wait_drawn  # noqa: SLF001
    tasks.set = set_of  # what its `set(…)` finds first


class _InOrder(set[Any]):
    """
    A set of tasks or jobs that gives them in the order in which they were started.

    A plain one goes by their addresses in memory, so who goes through what is done does it otherwise each time.
    """

    def __iter__(self) -> Iterator[Any]:
        count = len(self)
        for member in sorted(super().__iter__(), key=_began):
            if len(self) != count:
                raise RuntimeError("Set changed size during iteration")
            yield member

    def pop(self) -> Any:
        for first in self:
            self.remove(first)
            return first
        return super().pop()  # which says that there is none

    def __or__(self, other: Any) -> Any:
        return _or_in_order(super().__or__(other))

    def __and__(self, other: Any) -> Any:
        return _or_in_order(super().__and__(other))

    def __sub__(self, other: Any) -> Any:
        return _or_in_order(super().__sub__(other))

    def __reduce__(self) -> Any:
        return set, (list(self),)

    def __repr__(self) -> str:
        return repr(set(self))


def _or_in_order(made: Any) -> Any:
    return _InOrder(made) if isinstance(made, set) else made


def _began(member: Any) -> int:
    """When a task or job was started, among all; those of which that is not known come last."""
    try:
        lane = getattr(member, lanes.OF_JOB, None) or lanes.of_task(member)
    except TypeError as fault:  # a program may put anything into it
        pass_on(fault)
        lane = None
    return sys.maxsize if lane is None else lane.began
