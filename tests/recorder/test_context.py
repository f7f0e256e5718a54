"""Which run code records into: threads, pools, tasks, forks; and never into another's."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING

import pytest

from agentdbg import current_run, has_active_run, record_llm_call, record_tool_call, trace, traced_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Recorded


def test_eight_threads_started_in_a_run_record_into_it(recorded: Recorded) -> None:
    """Nobody copies contexts by hand, so nobody has to."""

    def work(worker: int) -> None:
        for i in range(100):
            record_tool_call(f"tool-{worker}", {"i": i})

    with traced_run("threads"):
        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    run = recorded.only()
    seen = {(call["name"], call["payload"]["args"]["i"]) for call in run.of_type("TOOL_CALL")}
    assert len(seen) == len(run.of_type("TOOL_CALL")) == 800
    assert run.meta["counts"]["tool_calls"] == 800


def test_a_pool_shared_by_two_runs_keeps_them_apart(recorded: Recorded) -> None:
    """A pool's thread outlives the task that started it; the run must travel with the task."""
    with ThreadPoolExecutor(2) as pool:
        with traced_run("a"):
            list(pool.map(lambda i: record_tool_call("a", {"i": i}), range(20)))
        assert not pool.submit(has_active_run).result()
        with traced_run("b"):
            list(pool.map(lambda i: record_tool_call("b", {"i": i}), range(20)))
            assert pool.submit(lambda: current_run().run_id).result() == current_run().run_id  # type: ignore[union-attr]

    for run, name in zip(recorded.all(), "ab", strict=True):
        assert {call["name"] for call in run.of_type("TOOL_CALL")} == {name}
        assert len(run.of_type("TOOL_CALL")) == 20


def test_a_pool_inside_a_thread_inside_a_run(recorded: Recorded) -> None:
    """Layers of concurrency are what real servers are made of."""

    def outer() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda i: record_tool_call("deep", {"i": i}), range(5)))
        record_tool_call("after")

    with traced_run("deep"):
        thread = threading.Thread(target=outer)
        thread.start()
        thread.join()

    assert [call["name"] for call in recorded.only().of_type("TOOL_CALL")] == ["deep"] * 5 + ["after"]


def test_a_thread_that_belongs_to_no_run_records_into_none(recorded: Recorded) -> None:
    """A background thread of the host must not leak into whatever agent happens to run."""
    go, done = threading.Event(), threading.Event()
    seen = []

    def background() -> None:
        go.wait()
        seen.append((record_llm_call("background"), has_active_run()))
        done.set()

    thread = threading.Thread(target=background)
    thread.start()
    with traced_run("agent"):
        go.set()
        done.wait()
    thread.join()

    assert seen == [(None, False)]
    assert recorded.only().types() == ["RUN_START", "RUN_END"]


@pytest.mark.asyncio
async def test_fifty_tasks_with_runs_of_their_own_never_mix(recorded: Recorded) -> None:
    """Two live runs never mix: not two, not fifty."""

    @trace
    async def agent(number: int) -> None:
        for i in range(40):
            record_tool_call("t", {"agent": number, "i": i, "x": number * i})
            await asyncio.sleep(0)

    await asyncio.gather(*(agent(n) for n in range(50)))
    runs = recorded.all()
    assert len(runs) == 50
    for run in runs:
        calls = run.of_type("TOOL_CALL")
        assert len(calls) == 40
        assert len({call["payload"]["args"]["agent"] for call in calls}) == 1


@pytest.mark.asyncio
async def test_tasks_and_to_thread_inside_a_run_belong_to_it(recorded: Recorded) -> None:
    """asyncio hands contexts on by itself; this holds us to not breaking that."""
    async with traced_run("tasks"):
        await asyncio.gather(*(asyncio.to_thread(record_tool_call, "t", {"n": n}) for n in range(10)))
        await asyncio.get_running_loop().run_in_executor(None, record_tool_call, "executor")

    assert len(recorded.only().of_type("TOOL_CALL")) == 11


def test_a_tool_in_a_thread_hangs_under_that_threads_own_model_call(recorded: Recorded) -> None:
    """Two threads thinking at once must not claim each other's tools."""
    barrier = threading.Barrier(2)

    def think(name: str) -> None:
        record_llm_call(name)
        barrier.wait()
        record_tool_call(f"tool of {name}")

    with traced_run("two minds"):
        threads = [threading.Thread(target=think, args=(name,)) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    run = recorded.only()
    models = {event["event_id"]: event["name"] for event in run.of_type("LLM_CALL")}
    assert {event["name"]: models[event["parent_id"]] for event in run.of_type("TOOL_CALL")} == {
        "tool of a": "a",
        "tool of b": "b",
    }


def _run_program(tmp_path: Path, data_dir: Path, program: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    variables = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), **env}
    return subprocess.run(
        [sys.executable, str(path)], env=variables, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_children_record_into_the_run_and_do_not_end_it(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """Workers are forked; their exit is not the end of the agent."""
    done = _run_program(
        tmp_path,
        data_dir,
        """
        import os, sys
        from agentdbg import traced_run, record_tool_call
        with traced_run("forks"):
            record_tool_call("parent")
            pids = []
            for child in range(5):
                pid = os.fork()
                if pid == 0:
                    for i in range(20):
                        record_tool_call(f"child-{child}", {"i": i})
                    sys.exit(0) if child % 2 else os._exit(0)
                pids.append(pid)
            for pid in pids:
                os.waitpid(pid, 0)
            record_tool_call("parent again")
        """,
    )
    assert done.returncode == 0, done.stderr
    run = recorded.only()
    assert run.types()[-1] == "RUN_END"
    assert run.types().count("RUN_END") == 1
    calls = [(call["name"], (call["payload"]["args"] or {}).get("i")) for call in run.of_type("TOOL_CALL")]
    assert len(set(calls)) == len(calls) == 102
    ids = [event["event_id"] for event in run.events]
    assert len(set(ids)) == len(ids)
    assert run.meta["counts"]["tool_calls"] == 102
    assert run.meta["status"] == "ok"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_outlives_the_run_is_counted_not_written(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """RUN_END is the last word, also when a forked worker goes on talking."""
    done = _run_program(
        tmp_path,
        data_dir,
        """
        import os, time
        from agentdbg import traced_run, record_tool_call
        read, write = os.pipe()
        with traced_run("forks"):
            if os.fork() == 0:
                os.read(read, 1)
                assert record_tool_call("late") is None
                os._exit(0)
        os.write(write, b"x")
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        """,
    )
    assert done.returncode == 0, done.stderr
    run = recorded.only()
    assert run.types() == ["RUN_START", "RUN_END"]
    assert run.meta["dropped_events"] == 1


@pytest.mark.slow
def test_a_spawned_pool_has_runs_of_its_own(tmp_path: Path, data_dir: Path, recorded: Recorded) -> None:
    """A new interpreter knows nothing of its parent's run; what it traces is its own."""
    done = _run_program(
        tmp_path,
        data_dir,
        """
        import multiprocessing
        from agentdbg import trace, traced_run, record_tool_call

        @trace(name="child")
        def work(n):
            record_tool_call("t", {"n": n})

        if __name__ == "__main__":
            with traced_run("parent"):
                with multiprocessing.get_context("spawn").Pool(2) as pool:
                    pool.map(work, range(3))
        """,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(run.meta["run_name"] for run in recorded.all()) == ["child", "child", "child", "parent"]
    assert {run.meta["status"] for run in recorded.all()} == {"ok"}


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["AGENTDBG_IMPLICIT_RUN", "AGENTDBG_AUTO"])
def test_ctrl_c_ends_a_program_by_the_signal_also_when_its_run_ends_with_it(
    tmp_path: Path, data_dir: Path, recorded: Recorded, variable: str
) -> None:
    """A shell stops a loop of programs by that status, and what we do at exit must not change it."""
    program = "import agentdbg\nagentdbg.record_tool_call('t')\nraise KeyboardInterrupt\n"
    done = _run_program(tmp_path, data_dir, program, **{variable: "1"})

    assert done.returncode == -signal.SIGINT
    assert recorded.only().one("ERROR")["payload"]["error_type"] == "KeyboardInterrupt"
    assert recorded.only().meta["status"] == "error"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "status"), [("", "ok"), ("raise ValueError('x')", "error"), ("import sys; sys.exit(4)", "ok")]
)
def test_an_implicit_run_lasts_as_long_as_the_process(
    tmp_path: Path, data_dir: Path, recorded: Recorded, ending: str, status: str
) -> None:
    """With one variable, code that records but traces nothing gets one run."""
    program = f"from agentdbg import record_llm_call\nrecord_llm_call('m')\nrecord_llm_call('n')\n{ending}\n"
    done = _run_program(tmp_path, data_dir, program, AGENTDBG_IMPLICIT_RUN="1")
    assert done.returncode == {"": 0, "raise ValueError('x')": 1}.get(ending, 4)
    run = recorded.only()
    assert run.meta["status"] == status
    assert run.types() == ["RUN_START", "LLM_CALL", "LLM_CALL", *(["ERROR"] if status == "error" else []), "RUN_END"]


@pytest.mark.slow
def test_a_trace_with_limits_inside_the_processs_run_keeps_them(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """A program recorded from outside has to stop where it would have stopped without that."""
    done = _run_program(
        tmp_path,
        data_dir,
        """
        from agentdbg import AgentDbgGuardrailExceeded, record_llm_call, record_state, trace
        record_state({"begun": True})

        @trace(name="limited", max_llm_calls=1)
        def agent():
            record_llm_call("a")
            record_llm_call("b")

        try:
            agent()
        except AgentDbgGuardrailExceeded:
            print("stopped")
        """,
        AGENTDBG_IMPLICIT_RUN="1",
    )
    assert done.stdout == "stopped\n", done.stderr
    inner, outer = sorted(recorded.all(), key=lambda run: run.meta["run_name"] != "limited")
    assert inner.meta["metadata"] == {"parent_run_id": outer.meta["run_id"]}
    assert (outer.meta["status"], inner.meta["status"]) == ("ok", "error")


@pytest.mark.slow
def test_a_daemon_thread_cut_off_at_exit_has_its_run_closed(tmp_path: Path, data_dir: Path, recorded: Recorded) -> None:
    """The program ended in the middle of that agent, and the run says so."""
    done = _run_program(
        tmp_path,
        data_dir,
        """
        import threading, time
        from agentdbg import trace, record_llm_call
        started = threading.Event()

        @trace
        def agent():
            record_llm_call("m")
            started.set()
            time.sleep(60)

        threading.Thread(target=agent, daemon=True).start()
        started.wait()
        """,
    )
    assert done.returncode == 0, done.stderr
    run = recorded.only()
    assert run.meta["status"] == "error"
    assert run.one("ERROR")["name"] == "RunLeftOpen"


@pytest.mark.slow
def test_a_signal_handler_may_record_in_the_middle_of_recording(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """A handler runs between any two bytecodes, also ours; it must not wait for itself."""
    done = _run_program(
        tmp_path,
        data_dir,
        """
        import signal, time
        from agentdbg import traced_run, record_tool_call, record_state
        ticks = 0
        def tick(*_):
            global ticks
            ticks += 1
            record_state({"tick": ticks})
        signal.signal(signal.SIGALRM, tick)
        with traced_run("signals"):
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            end = time.monotonic() + 1
            n = 0
            while time.monotonic() < end:
                record_tool_call(f"t{n % 50}", {"n": n})
                n += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
        print(n, ticks)
        """,
    )
    assert done.returncode == 0, done.stderr
    calls, ticks = map(int, done.stdout.split())
    run = recorded.only()
    assert len(run.of_type("TOOL_CALL")) == calls
    assert len(run.of_type("STATE_UPDATE")) == ticks > 0


@pytest.mark.slow
def test_threads_racing_for_the_first_record_share_one_implicit_run(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """One run for the process, however many threads begin it at once."""
    program = """
        import sys, threading
        from agentdbg import record_tool_call
        sys.setswitchinterval(1e-6)
        barrier = threading.Barrier(8)
        def work():
            barrier.wait()
            record_tool_call("t")
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """
    done = _run_program(tmp_path, data_dir, program, AGENTDBG_IMPLICIT_RUN="1")
    assert done.returncode == 0, done.stderr
    assert len(recorded.only().of_type("TOOL_CALL")) == 8


@pytest.mark.slow
def test_what_is_recorded_while_the_program_exits_begins_no_second_implicit_run(
    tmp_path: Path, data_dir: Path, recorded: Recorded
) -> None:
    """A run that begins after the last chance to end it would be reported as a crash."""
    program = """
        import atexit
        from agentdbg import record_tool_call
        atexit.register(lambda: print(record_tool_call("late")))
        record_tool_call("in time")
    """
    done = _run_program(tmp_path, data_dir, program, AGENTDBG_IMPLICIT_RUN="1")
    assert done.stdout == "None\n", done.stderr
    run = recorded.only()
    assert run.types() == ["RUN_START", "TOOL_CALL", "RUN_END"]
    assert run.meta["status"] == "ok"


def test_work_handed_to_an_event_loop_by_a_thread_belongs_to_the_run(recorded: Recorded) -> None:
    """A loop in a thread of its own is how plain code talks to async libraries."""
    loop = asyncio.new_event_loop()
    serving = threading.Thread(target=loop.run_forever)
    serving.start()

    async def fetch() -> None:
        record_tool_call("fetch")

    def hand_over() -> None:
        asyncio.run_coroutine_threadsafe(fetch(), loop).result(10)

    try:
        with traced_run("r"):
            worker = threading.Thread(target=hand_over)
            worker.start()
            worker.join()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        serving.join()
        loop.close()

    assert recorded.only().types() == ["RUN_START", "TOOL_CALL", "RUN_END"]


def test_an_older_thread_pool_serves_each_run_its_own_events(recorded: Recorded) -> None:
    """A pool is made once and used by every run, and by code of no run at all."""
    with traced_run("first"):
        pool = ThreadPool(2)
        pool.map(record_tool_call, ["a", "b"])
    with traced_run("second"):
        pool.apply(record_tool_call, ("c",))
        list(pool.imap(record_tool_call, ["d"]))
        list(pool.imap_unordered(record_tool_call, ["e"]))
        pool.starmap(record_tool_call, [("f",)])
    assert pool.map(record_tool_call, ["g"]) == [None]
    pool.close()
    pool.join()

    found = [sorted(call["name"] for call in run.of_type("TOOL_CALL")) for run in recorded.all()]
    assert found == [["a", "b"], ["c", "d", "e", "f"]]
    assert [run.meta["dropped_events"] for run in recorded.all()] == [0, 0]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signal here")
def test_an_interruption_at_exit_leaves_no_other_run_open(tmp_path: Path, data_dir: Path, recorded: Recorded) -> None:
    """Ctrl-C a second time, by somebody who is tired of waiting."""
    program = """
        import signal, sys
        from agentdbg import record_tool_call, trace

        class Odd(Exception):
            def __str__(self):
                signal.raise_signal(signal.SIGINT)
                return "odd"

        @trace(max_events=9)  # with a limit of its own, it is a run of its own
        def generator():
            yield record_tool_call("inside")

        sys.excepthook = lambda *_: None
        record_tool_call("outside")
        kept = [generator(), generator()]
        for each in kept:
            next(each)
        raise Odd
    """
    done = _run_program(tmp_path, data_dir, program, AGENTDBG_IMPLICIT_RUN="1")
    assert "KeyboardInterrupt" in done.stderr
    assert [run.meta["status"] for run in recorded.all()] == ["error"] * 3
    assert [run.types()[-1] for run in recorded.all()] == ["RUN_END"] * 3


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_implicit_run_of_a_worker_process_is_closed(tmp_path: Path, data_dir: Path, recorded: Recorded) -> None:
    """Workers of multiprocessing leave without running atexit; a run left open would look like a crash."""
    program = """
        import multiprocessing
        from agentdbg import record_tool_call
        worker = multiprocessing.get_context("fork").Process(target=record_tool_call, args=("t",))
        worker.start()
        worker.join()
    """
    done = _run_program(tmp_path, data_dir, program, AGENTDBG_IMPLICIT_RUN="1")
    assert done.returncode == 0, done.stderr
    assert recorded.only().types() == ["RUN_START", "TOOL_CALL", "RUN_END"]
    assert recorded.only().meta["status"] == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "inside"])
def test_a_pool_belongs_to_the_run_whenever_the_program_loads_it(when: str, recorded: Recorded) -> None:
    """A first run does not load the pools, which takes longer than the run; the first task is followed all the same."""
    load = "from concurrent.futures import ThreadPoolExecutor"
    code = f"""
import sys
{load if when == "before" else ""}
import agentdbg
with agentdbg.traced_run("outer"):
    assert {when == "before"} == ("concurrent.futures.thread" in sys.modules)
    {load}
    pool = ThreadPoolExecutor(1)
    pool.submit(agentdbg.record_state, {{"task": 1}}).result()
assert pool.submit(agentdbg.record_state, {{"task": 2}}).result() is None
with agentdbg.traced_run("other"):
    pool.submit(agentdbg.record_state, {{"task": 3}}).result()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

    states = {run.meta["run_name"]: run.of_type("STATE_UPDATE") for run in recorded.all()}
    tasks = {name: [event["payload"]["state"] for event in events] for name, events in states.items()}
    assert tasks == {"outer": [{"task": 1}], "other": [{"task": 3}]}


def _fails() -> None:
    raise LookupError("nothing there")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there a re-raised exception gets back the frame that caught it")
def test_what_fails_in_a_pool_shows_no_frame_of_ours(recorded: Recorded) -> None:
    """What the program prints of its exception looks as it would without a recorder."""
    shown = []
    with ThreadPoolExecutor(1) as pool, ThreadPool(1) as older:
        calls: list[Callable[[], object]] = [lambda: pool.submit(_fails).result(), lambda: older.apply(_fails)]
        for inside in (nullcontext(), traced_run("run")):
            with inside:
                for call in calls:
                    with pytest.raises(LookupError) as raised:
                        call()
                    shown.append([frame.name for frame in traceback.extract_tb(raised.value.__traceback__)])

    assert shown[:2] == shown[2:]
