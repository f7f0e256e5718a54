"""
An agent that does everything at once: threads, pools, forks, tasks, streams, odd values, limits. Others bring chaos.

    agent.py SEED SECONDS TOLD full|room

It tells a judge through the descriptor TOLD, one line for each thing: `run ID` began, `event RUN ID` was recorded, `end
RUN` was left, `wrong TEXT` should not have happened, `size BYTES DESCRIPTORS` between two runs, `leaves` when a signal
that ends it has raised, and `stays` when Python dropped that. SIGUSR1 raises, as a timeout does, wherever it meets the
recorder, and the very exception has to come out, unless Python itself says that it dropped it (in a finalizer, in a
hook of a fork). `full` lets the disk be full now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import multiprocessing
import os
import random
import resource
import signal
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import time_machine

import agentdbg

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

SEED, SECONDS, TOLD, IS_FULL = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "full"
_OURS = os.path.dirname(agentdbg.__file__) + os.sep
_NOT_MADE_FOR_IT = (threading.__file__, os.path.dirname(multiprocessing.__file__))
_ENOUGH_CHILDREN_SECONDS = 100
_PID = os.getpid()
chance = random.Random(SEED)


def tell(*words: object) -> None:
    os.write(TOLD, (" ".join(map(str, words)) + "\n").encode())


class Struck(OSError):
    """What the handler raises."""


class Left(SystemExit):
    """What SIGTERM's handler raises."""


struck: list[BaseException] = []
dropped: list[BaseException | None] = []
"""What Python itself dropped, and said so."""


def strike(signum: int, frame: Any) -> None:
    """Raise, if it is the recorder that is at work; neither our own code nor asyncio's loop is made for it."""
    nearest = frame
    while nearest is not None and not nearest.f_code.co_filename.startswith((_OURS, __file__)):
        nearest = nearest.f_back
    is_ours = nearest is not None and nearest.f_code.co_filename != __file__
    if is_ours and nearest.f_code.co_name != "run_once_counted" and not struck and not is_out_of_reach(frame):
        struck.append(Struck(place(frame)))
        raise struck[0]


def is_out_of_reach(frame: Any) -> bool:
    """An `__exit__` that never began is never called again; threads and pools that are half made stay so for ever."""
    if frame.f_code.co_name in ("__exit__", "__aexit__"):
        return True
    while frame is not None:
        if frame.f_code.co_filename.startswith(_NOT_MADE_FOR_IT) or frame.f_code is note_dropped.__code__:
            return True
        frame = frame.f_back
    return False


def place(frame: Any) -> str:
    names = []
    while frame is not None:
        names.append(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}:{frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(names)


def note_dropped(unraisable: Any) -> None:
    dropped.append(unraisable.exc_value)
    if isinstance(unraisable.exc_value, (Left, KeyboardInterrupt)):
        tell("stays")
    elif unraisable.exc_value not in struck:
        tell("wrong", "dropped by Python:", repr(unraisable))
    sys.__unraisablehook__(unraisable)


class Odd:
    """Not easy to tell of."""

    def __init__(self, how: int) -> None:
        self.how = how

    def __repr__(self) -> str:
        if self.how == 0:
            raise LookupError("no name")
        if self.how == 1:
            record("state", {"from": "a repr"})
        return "odd " * self.how


def told(event_id: str | None) -> None:
    run = agentdbg.current_run()
    if event_id is not None and run is not None:
        tell("event", run.run_id, event_id)


def record(kind: str, value: Any) -> None:
    """One of the verbs; what it says is written, the judge hears."""
    if kind == "llm":
        told(
            agentdbg.record_llm_call("gpt-4o", [{"role": "user", "content": value}], "fine", usage={"input_tokens": 3})
        )
    elif kind == "tool":
        told(agentdbg.record_tool_call("search", {"q": value}, [value], effect="read"))
    elif kind == "state":
        told(agentdbg.record_state({"value": value}))
    elif kind == "error":
        told(agentdbg.record_error(ValueError(value), context="chaos"))
    else:
        told(agentdbg.record_event("CHECKPOINT", "here", {"value": value}))


def some_records(dice: random.Random, count: int = 5) -> None:
    for _ in range(count):
        value: Any = dice.choice(
            [dice.random(), "x" * dice.randint(0, 30_000), Odd(dice.randint(0, 3)), {"a": [1, "é漢🙂"]}]
        )
        record(dice.choice(["llm", "tool", "state", "error", "event"]), value)


@agentdbg.tool
def look_up(number: int) -> dict[str, int]:
    return {"number": number}


@agentdbg.tool
def forks_inside(number: int) -> Iterator[int]:
    """A generator that forks while it is a tool."""
    yield number
    in_child(lambda: some_records(random.Random(number), 3))
    yield number + 1


@agentdbg.llm(model="streaming")
async def stream(count: int) -> AsyncIterator[str]:
    for number in range(count):
        await asyncio.sleep(0)
        yield str(number)


def in_child(work: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.alarm(_ENOUGH_CHILDREN_SECONDS)
        try:
            work()
        except BaseException as error:
            tell("wrong", "a child raised", repr(error))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        tell("wrong", "a child ended with", status)


def pool_work(number: int) -> int:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    some_records(random.Random(number), 2)
    return number


def with_pool(dice: random.Random) -> None:
    pool = multiprocessing.get_context("fork").Pool(2, signal.alarm, (_ENOUGH_CHILDREN_SECONDS,))
    found = pool.map_async(pool_work, range(4)).get(timeout=_ENOUGH_CHILDREN_SECONDS)
    pool.close()
    pool.join()
    if found != [0, 1, 2, 3]:
        tell("wrong", "the pool gave", found)


def with_threads(dice: random.Random) -> None:
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(some_records, random.Random(dice.random()), 4) for _ in range(4)]
        some_records(dice, 2)
        futures += [pool.submit(in_child, lambda: some_records(random.Random(3), 2))]
        futures += [pool.submit(sys.exit, 3)]
    for future in futures[:-1]:
        future.result()


async def _tasks(dice: random.Random) -> None:
    async def one(number: int) -> None:
        async with agentdbg.traced_run(f"task {number}"):
            some_records(random.Random(number), 2)
            assert [piece async for piece in stream(3)] == ["0", "1", "2"]

    late = asyncio.ensure_future(asyncio.sleep(60))
    await asyncio.gather(*(one(number) for number in range(4)))
    late.cancel()


def with_tasks(dice: random.Random) -> None:
    asyncio.run(_tasks(dice))


def with_calls(dice: random.Random) -> None:
    for number in range(5):
        look_up(number)
    list(forks_inside(dice.randint(0, 9)))
    with agentdbg.tool_call("block", {"a": Odd(2)}) as call:
        call.result = Odd(3)
    with contextlib.suppress(agentdbg.AgentDbgGuardrailExceeded), agentdbg.traced_run("short", max_tool_calls=2):
        for number in range(4):
            look_up(number)


def with_finalizers(dice: random.Random) -> None:
    class Node:
        pass

    def finalise() -> None:
        record("state", "finalised")

    for _ in range(5):
        node = Node()
        node.self = node  # type: ignore[attr-defined]
        weakref.finalize(node, finalise)
    gc.collect()


def with_clock(dice: random.Random) -> None:
    """The wall clock jumps; durations come from another."""
    with time_machine.travel(time.time() + dice.choice([-90_000, -5, 4_000, 40_000_000])):
        some_records(dice, 3)


def with_full_disk(dice: random.Random) -> None:
    if not IS_FULL:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (dice.randint(1_000, 20_000), hard))
    try:
        some_records(dice, 4)
        in_child(lambda: some_records(random.Random(4), 2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


WAYS: tuple[Callable[[random.Random], None], ...] = (
    with_threads,
    with_tasks,
    with_calls,
    with_finalizers,
    with_clock,
    with_full_disk,
    with_pool,
    some_records,
)


def work(dice: random.Random) -> None:
    run = agentdbg.current_run()
    assert run is not None
    tell("run", run.run_id)
    for _ in range(dice.randint(2, 5)):
        dice.choice(WAYS)(dice)
    tell("end", run.run_id)


def episode(dice: random.Random) -> None:
    limits: dict[str, Any] = dice.choice([{}, {"max_duration_s": 600}, {"max_events": 5_000}, {"max_llm_calls": 900}])
    struck.clear()
    came: BaseException | None = None
    try:
        if dice.random() < 0.5:
            with agentdbg.traced_run("block", **limits):
                work(dice)
        else:
            agentdbg.trace(**limits)(work)(dice)
    except Struck as error:
        came = error
    if struck and came is not struck[0] and struck[0] not in dropped:
        tell("wrong", "swallowed:", repr(struck[0]), "but came", repr(came))
    struck[:] = [Struck("no more until the next episode")]
    if agentdbg.has_active_run():
        tell("wrong", "a run is left open")


def size() -> tuple[int, int]:
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return pages * resource.getpagesize(), len(os.listdir("/dev/fd"))


def leave(signum: int, frame: Any) -> None:
    """As a service does; not by an exception in a child, which Python drops where it is just being forked."""
    if os.getpid() != _PID:
        os._exit(0)
    if is_out_of_reach(frame):
        return
    tell("leaves")
    struck[:] = [Left(place(frame)) if signum == signal.SIGTERM else KeyboardInterrupt(place(frame))]
    raise struck[0]


def main() -> None:
    sys.unraisablehook = note_dropped
    signal.signal(signal.SIGUSR1, strike)
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        episode(chance)
        tell("size", *size())
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    threading.Thread(target=sys.exit, daemon=True).start()


if __name__ == "__main__":
    main()
    tell("done")
