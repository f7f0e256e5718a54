"""
See everything that starts: threads, jobs of pools, tasks of every loop, forks. `lanes` gives each its name.

Installed once, when the first run that is followed begins. Without a followed run each hook costs one look at a dict.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from agentdbg.faults import Shield
from agentdbg.import_hook import when_imported
from agentdbg.recorder import lanes
from agentdbg.recorder.context import runs_in_other_interpreters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["follow_run"]

# The threads of these take jobs from others, each of which is a lane; the threads themselves are none.
_POOLS = {"concurrent.futures.thread", "multiprocessing.pool", "anyio._backends._asyncio"}
_LOOPS = ("uvloop", "winloop")
_ROUNDS = "_agentdbg_rounds"


def follow_run(run_id: str) -> None:
    """Name the lanes of a run from here on; called when its tape is opened. `lanes.end` is the end of it."""
    _follow()
    lanes.begin(run_id)


@functools.cache
def _follow() -> None:
    """From now on whatever is started in a followed run has a lane."""
    thread: Any = threading.Thread
    thread.start = _starting(thread.start)
    hooks: dict[str, Callable[[Any], None]] = {
        "concurrent.futures.thread": _follow_pools,
        "multiprocessing.pool": _follow_older_pools,
        "asyncio": _follow_tasks,
        "anyio._backends._asyncio": _follow_anyio,
        **dict.fromkeys(_LOOPS, _follow_loop),
    }
    when_imported(hooks, lambda module: _install(hooks[module], module), each_time=True)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=_forks.clear, after_in_child=_after_in_child)


def _install(hook: Callable[[Any], None], module: str) -> None:
    with Shield(f"follow what {module} starts"):  # it would reach the program that has just imported the module
        hook(sys.modules[module])


# Threads and pools.


def _starting(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(start)
    def start_in_lane(self: threading.Thread) -> None:
        target = getattr(self, "_target", None)
        if getattr(target or type(self), "__module__", None) not in _POOLS:
            lane = lanes.started(target or type(self), getattr(self, "_args", ()), getattr(self, "_kwargs", None))
            if lane is not None:
                lanes.bind_thread(self, lane)
        start(self)

    return start_in_lane


def _follow_pools(module: Any) -> None:
    submit = module.ThreadPoolExecutor.submit

    @functools.wraps(submit)
    def submit_in_lane(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        lane = None if runs_in_other_interpreters(self) else lanes.started(fn, args, kwargs)
        if lane is None:
            return submit(self, fn, *args, **kwargs)
        future = submit(self, lanes.InLane(fn, lane), *args, **kwargs)
        setattr(future, lanes.OF_JOB, lane)
        return future

    module.ThreadPoolExecutor.submit = submit_in_lane


def _follow_older_pools(module: Any) -> None:
    pool = module.ThreadPool
    apply_async = pool.apply_async

    @functools.wraps(apply_async)
    def apply_in_lane(self: Any, func: Any, args: Any = (), kwds: Any = None, *rest: Any, **named: Any) -> Any:
        lane = lanes.started(func, args, kwds)
        return apply_async(self, func if lane is None else lanes.InLane(func, lane), args, kwds or {}, *rest, **named)

    pool.apply_async = apply_in_lane
    pool._map_async = _mapping(pool._map_async, is_starred=module.starmapstar)  # noqa: SLF001 -- all maps end there
    pool.imap = _mapping(pool.imap)
    pool.imap_unordered = _mapping(pool.imap_unordered)


def _mapping(spread: Callable[..., Any], *, is_starred: Any = None) -> Callable[..., Any]:
    """Each item that a function is mapped over is a job of its own, whichever thread takes it."""

    @functools.wraps(spread)
    def map_in_lanes(self: Any, func: Any, iterable: Any, *args: Any, **kwargs: Any) -> Any:
        maker = lanes.here()
        if maker is None:
            return spread(self, func, iterable, *args, **kwargs)
        stars = is_starred is not None and args[:1] == (is_starred,)
        items: Any = _jobs(maker, func, iterable, stars=stars)
        if spread.__name__ == "_map_async":
            items = list(items)
        return spread(self, _do_starred if stars else _do, items, *args, **kwargs)

    return map_in_lanes


def _jobs(maker: lanes.Lane, func: Any, iterable: Any, *, stars: bool) -> Iterator[Any]:
    for item in iterable:
        args = tuple(item) if stars else (item,)
        job = lanes.InLane(func, lanes.started_by(maker, func, args))
        yield (job, *args) if stars else (job, item)


def _do(job: tuple[Any, Any]) -> Any:
    return job[0](job[1])


def _do_starred(job: Any, *args: Any) -> Any:
    return job(*args)


def _follow_anyio(module: Any) -> None:
    backend = module.AsyncIOBackend
    run_sync = backend.run_sync_in_worker_thread.__func__

    @functools.wraps(run_sync)
    def run_sync_in_lane(cls: Any, func: Any, args: Any, *rest: Any, **kwargs: Any) -> Any:
        lane = lanes.started(func, args)  # gives what is awaited: no frame of ours stands in what the function raises
        return run_sync(cls, func if lane is None else lanes.InLane(func, lane), args, *rest, **kwargs)

    backend.run_sync_in_worker_thread = classmethod(run_sync_in_lane)


# Tasks.


def _follow_tasks(asyncio: Any) -> None:
    get_loop, current_task = asyncio._get_running_loop, asyncio.current_task  # noqa: SLF001 -- the other one raises
    lanes.ask_for_tasks(lambda: None if get_loop() is None else current_task())
    base = asyncio.base_events.BaseEventLoop
    base.create_task = _creating(base.create_task)
    _count_rounds(base, get_loop)
    eager = getattr(asyncio, "eager_task_factory", None)
    if eager is not None:  # 3.12; some call it themselves, past the loop
        asyncio.eager_task_factory = asyncio.tasks.eager_task_factory = _creating(eager)


class _Rounds:
    """How often a loop has looked for work: what happens in one round of it, nobody can come in between."""

    __slots__ = ("count", "number")

    def __init__(self) -> None:
        self.number = next(_loop_numbers)
        self.count = 0


_loop_numbers = itertools.count()


def _count_rounds(base: Any, get_loop: Callable[[], Any]) -> None:
    run_once = getattr(base, "_run_once", None)
    if run_once is None:  # a Python that does it another way
        return

    @functools.wraps(run_once)
    def run_once_counted(self: Any) -> None:
        rounds = self.__dict__.get(_ROUNDS)
        if rounds is None:
            rounds = self.__dict__[_ROUNDS] = _Rounds()
        rounds.count += 1
        run_once(self)

    def current_round() -> tuple[int, int] | None:
        loop = get_loop()
        rounds = None if loop is None else getattr(loop, _ROUNDS, None)
        return None if rounds is None else (rounds.number, rounds.count)

    base._run_once = run_once_counted  # noqa: SLF001 -- nobody else tells
    lanes.count_rounds(current_round)


def _follow_loop(module: Any) -> None:
    module.Loop.create_task = _creating(module.Loop.create_task)


def _creating(create: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(create)
    def create_in_lane(loop: Any, coro: Any, **kwargs: Any) -> Any:
        return lanes.make_task(create, coro, loop, coro, **kwargs)

    return create_in_lane


# Forks.


class _Forks(threading.local):
    lane: lanes.Lane | None = None

    def clear(self) -> None:
        self.lane = None


_forks = _Forks()


def _before_fork() -> None:
    _forks.lane = lanes.started(os.fork)


def _after_in_child() -> None:
    lanes.continue_in_child(_forks.lane)
    _forks.clear()
