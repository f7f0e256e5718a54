"""The names of threads of control: the same in every run of a program, whatever the timing."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from functools import partial
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from agentdbg import tool, traced_run
from agentdbg.around import AnnouncedCall, Decider, deciding
from agentdbg.recorder import lanes
from agentdbg.recorder.lane_hooks import follow_run
from agentdbg.recorder.source_lines import is_own_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Noted(Decider):
    """Where each call was made."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.late: list[bool] = []
        self.digests: list[str] = []

    def decide(self, call: AnnouncedCall) -> None:
        assert call.lane is not None
        self.calls.append((call.lane.name, call.place, *call.input.values()))
        self.late.append(call.lane.late)
        self.digests.append(call.lane.first_digest)


def noted(program: Callable[[], Any]) -> Noted:
    seen = Noted()
    with traced_run("lanes") as run, deciding(seen):
        follow_run(run.run_id)
        program()
    return seen


@tool
def look(what: Any) -> Any:
    time.sleep(random.random() / 500)
    return what


@tool
async def alook(what: Any) -> Any:
    await asyncio.sleep(random.random() / 500)
    return what


def test_calls_of_the_main_thread_are_numbered_in_order() -> None:
    """The simplest program there is: one lane, one place after the other."""
    seen = noted(lambda: [look(1), look(2)])

    assert seen.calls == [("m", 0, 1), ("m", 1, 2)]


def test_what_a_call_does_is_a_lane_of_its_own() -> None:
    """A call that is answered in a replay does none of it; what comes after it must keep its place."""

    @tool
    def outer(n: int) -> Any:
        return look(n), look(n)

    seen = noted(lambda: [outer(7), look(8)])

    assert seen.calls == [("m", 0, 7), ("m:0", 0, 7), ("m:0", 1, 7), ("m", 1, 8)]


def test_threads_are_named_by_whoever_starts_them() -> None:
    """Two threads of one function are told apart by the order in which they were started, not in which they run."""

    def work(n: int) -> None:
        look(n)
        look(-n)

    def program() -> None:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    found = sorted(noted(program).calls)

    work_name = "m/test_threads_are_named_by_whoever_starts_them.work"
    expected = [(f"{work_name}~{n}", place, value) for n in range(5) for place, value in ((0, n + 1), (1, -n - 1))]
    assert found == expected


def test_jobs_of_a_pool_are_lanes_whatever_thread_takes_them() -> None:
    """A worker thread does many jobs; its own name would say nothing."""

    def program() -> None:
        with ThreadPoolExecutor(3) as pool:
            for future in as_completed([pool.submit(copy_context().run, partial(look, n)) for n in range(20)]):
                future.result()

    assert sorted(noted(program).calls, key=lambda call: call[2]) == [(f"m/look~{n}", 0, n) for n in range(20)]


@pytest.mark.parametrize("way", ["map", "starmap", "imap", "imap_unordered", "apply_async", "chunks"])
def test_jobs_of_older_pools_are_lanes_too(way: str) -> None:
    """`multiprocessing.pool.ThreadPool` is what `joblib` and many scripts use."""

    def program() -> None:
        with ThreadPool(3) as pool:
            if way == "starmap":
                pool.starmap(look, [(n,) for n in range(9)])
            elif way == "apply_async":
                for result in [pool.apply_async(look, (n,)) for n in range(9)]:
                    result.get()
            elif way == "chunks":
                pool.map(look, range(9), 2)
            else:
                list(getattr(pool, way)(look, range(9)))

    assert sorted(noted(program).calls, key=lambda call: call[2]) == [(f"m/look~{n}", 0, n) for n in range(9)]


def test_tasks_are_named_by_whoever_creates_them() -> None:
    """`gather` is the usual way to call three tools at once."""

    async def agent(n: int) -> None:
        await alook(n)
        await asyncio.gather(*(alook(10 * n + i) for i in range(3)))
        await asyncio.to_thread(look, 100 + n)

    async def main() -> None:
        await asyncio.gather(*(agent(n) for n in range(1, 4)))

    found = sorted(noted(lambda: asyncio.run(main())).calls, key=lambda call: call[2])

    prefix = "m/test_tasks_are_named_by_whoever_creates_them.main~0/test_tasks_are_named_by_whoever_creates_them.agent"
    assert found[:3] == [(f"{prefix}~{n}", 0, n + 1) for n in range(3)]
    assert found[3:12] == [(f"{prefix}~{n}/alook~{i}", 0, 10 * (n + 1) + i) for n in range(3) for i in range(3)]
    assert found[12:] == [(f"{prefix}~{n}/look~0", 0, 101 + n) for n in range(3)]


def test_tasks_that_a_set_started_are_told_apart_by_their_arguments() -> None:
    """`asyncio.wait` over a set starts tasks in the order of memory addresses."""

    async def main() -> None:
        await asyncio.gather(alook("a"), alook("b"), alook("a"))

    digests = noted(lambda: asyncio.run(main())).digests

    assert len(set(digests)) == 2
    assert all(digests)


def test_task_groups_of_anyio_and_their_threads_are_lanes() -> None:
    """Starlette, the MCP client and pydantic-ai start everything that way."""

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for n in range(5):
                group.start_soon(alook, n)
                group.start_soon(anyio.to_thread.run_sync, look, 100 + n)

    seen = noted(lambda: asyncio.run(main()))

    main_name = "m/test_task_groups_of_anyio_and_their_threads_are_lanes.main~0"
    found = sorted(seen.calls, key=lambda call: call[2])
    assert found[:5] == [(f"{main_name}/alook~{n}", 0, n) for n in range(5)]
    assert found[5:] == [(f"{main_name}/run_sync~{n}/look~0", 0, 100 + n) for n in range(5)]
    assert not any(seen.late)


def test_what_a_thread_of_anyio_raises_shows_no_frame_of_ours() -> None:
    """A server that logs the failure of a function it runs in a thread logs what it would without us."""

    def broken() -> None:
        raise ValueError("it broke")

    async def main() -> list[str]:
        with pytest.raises(ValueError, match="it broke") as raised:
            await anyio.to_thread.run_sync(broken)
        return [entry.filename for entry in traceback.extract_tb(raised.value.__traceback__)]

    files: list[str] = []
    noted(lambda: files.extend(asyncio.run(main())))

    assert len(files) > 2
    assert not any(is_own_file(file) for file in files)


def test_uvloops_tasks_are_seen_when_they_are_made() -> None:
    """Servers run on it; a task that is noticed only at its first call gets its number by chance."""
    uvloop = pytest.importorskip("uvloop")

    async def main() -> None:
        await asyncio.gather(*(alook(n) for n in range(20)))

    seen = noted(lambda: uvloop.run(main()))

    assert not any(seen.late)
    assert len({lane for lane, _, _ in seen.calls}) == 20
    assert [value for _, value in sorted((int(lane.rpartition("~")[2]), n) for lane, _, n in seen.calls)] == list(
        range(20)
    )


def test_a_task_that_nobody_saw_is_late() -> None:
    """Its name may be another the next time, so it must never be taken for certain."""

    async def main() -> None:
        await asyncio.Task(alook(1))

    assert noted(lambda: asyncio.run(main())).late == [True]


@pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="new in Python 3.12")
def test_eager_tasks_have_their_lane_before_their_maker_has_them() -> None:
    """LangGraph starts its nodes that way, past the loop."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(asyncio.eager_task_factory(loop, alook(n)) for n in range(3)))  # type: ignore[attr-defined]
        loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        await asyncio.gather(*(loop.create_task(alook(n)) for n in range(3, 6)))

    seen = noted(lambda: asyncio.run(main()))

    assert [(lane.rpartition("/")[2], n) for lane, _, n in seen.calls] == [(f"alook~{n}", n) for n in range(6)]
    assert not any(seen.late)


def test_work_in_a_context_copied_elsewhere_stays_in_its_own_lane() -> None:
    """LangChain runs pool jobs in contexts that it copied in another thread: the context must not decide."""

    def program() -> None:
        @tool
        def outer() -> None:
            contexts.append(copy_context())
            with ThreadPoolExecutor(1) as pool:
                pool.submit(contexts[0].run, look, 1).result()

        contexts: list[Any] = []
        outer()
        contexts[0].run(look, 2)

    assert [(lane, n) for lane, _, *n in noted(program).calls] == [("m", []), ("m:0/look~0", [1]), ("m", [2])]


def test_the_consumer_of_a_generator_is_not_inside_it() -> None:
    """A served generator runs none of its own code, but its consumer goes on calling tools."""

    @tool
    def numbers(count: int) -> Iterator[int]:
        for n in range(count):
            yield look(n)

    def program() -> None:
        for n in numbers(2):
            look(-n - 1)
        look(9)

    assert noted(program).calls == [
        ("m", 0, 2),
        ("m:0", 0, 0),
        ("m", 1, -1),
        ("m:0", 1, 1),
        ("m", 2, -2),
        ("m", 3, 9),
    ]


def test_every_run_of_a_process_counts_for_itself() -> None:
    """A web server's run is replayed without the server, and the runs before it."""

    def program() -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(look, 1).result()
        look(2)

    first, second = noted(program).calls, noted(program).calls

    assert first == second == [("m/look~0", 0, 1), ("m", 0, 2)]


def test_a_run_that_began_in_a_task_is_followed_from_there() -> None:
    """Each request of a server is a task, and each has its own main lane."""
    seen = Noted()

    async def handle(n: int) -> None:
        with traced_run(f"request {n}") as run:
            follow_run(run.run_id)
            await alook(n)
            await asyncio.gather(alook(n), alook(n))

    async def serve() -> None:
        await asyncio.gather(*(handle(n) for n in range(3)))

    with deciding(seen):
        asyncio.run(serve())

    for n in range(3):
        assert sorted(lane for lane, _, value in seen.calls if value == n) == ["m", "m/alook~0", "m/alook~1"]


def test_a_forked_child_is_a_lane() -> None:
    """It may append to its parent's tape, and its calls must not be taken for the parent's."""
    script = """
        import os
        from agentdbg import tool, traced_run
        from agentdbg.around import Decider, deciding
        from agentdbg.recorder.lane_hooks import follow_run

        class Say(Decider):
            def decide(self, call):
                os.write(1, f"{call.lane.name} {call.place}\\n".encode())

        @tool
        def look(): pass

        with deciding(Say()), traced_run("forks") as run:
            follow_run(run.run_id)
            look()
            for _ in range(2):
                child = os.fork()
                if not child:
                    look()
                    os._exit(0)
                os.waitpid(child, 0)
            look()
    """
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, check=True, text=True)

    assert found.stdout.splitlines() == ["m 0", "m/fork~0 0", "m/fork~1 0", "m 1"]


def test_a_program_without_a_followed_run_is_left_alone() -> None:
    """The hooks stay when a run has ended; they must not keep anything of a program that records no more."""
    with traced_run("once") as run:
        follow_run(run.run_id)

    assert lanes.here() is None
    assert lanes.started(os.getcwd) is None


def test_the_names_are_the_same_under_any_timing() -> None:
    """The law behind all of it: random delays change nothing but the order."""

    def thread(n: int) -> None:
        async def agent(i: int) -> None:
            for _ in range(2):
                await alook((n, i))
            await asyncio.gather(alook((n, i, 0)), alook((n, i, 1)))

        async def main() -> None:
            await asyncio.gather(*(agent(i) for i in range(4)))

        asyncio.run(main())

    def program() -> None:
        threads = [threading.Thread(target=thread, args=(n,)) for n in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    runs = [sorted(noted(program).calls) for _ in range(3)]

    assert runs[0] == runs[1] == runs[2]
    assert len(set(runs[0])) == 4 * 4 * 4
