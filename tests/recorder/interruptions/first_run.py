"""
The first run of a process, interrupted: what is loaded, opened and hooked once. A program that a test starts.

    first_run.py PROGRAM interrupt|fork SEED COUNT

It runs the program once to count the places it passes. Then, for each place of a sample, a forked child that has
recorded nothing yet runs the program up to there. `interrupt` raises there from a signal handler. `fork` lets a thread
stand there while the main thread forks, and both children must record. Prints one line for each trouble.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

import agentdbg

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_SECONDS = 150
_STANDING_SECONDS = 0.02


class TimeIsUp(OSError):
    """What the handler raises."""


@agentdbg.trace
def function() -> None:
    agentdbg.record_llm_call("m", prompt=object(), response="password=hunter2hunter2")
    agentdbg.record_tool_call("t", {"a": 1}, error=ValueError("x"))


@agentdbg.trace(max_duration_s=60)
async def coroutine() -> None:
    agentdbg.record_state({"a": object()})


@agentdbg.tool
def a_tool(value: Any) -> Any:
    return value


def run_coroutine() -> None:
    with contextlib.suppress(StopIteration):
        coroutine().send(None)


def run_block() -> None:
    with agentdbg.traced_run("block", max_llm_calls=5):
        a_tool({"b": object()})
        agentdbg.record_outcome(True)


def run_implicitly() -> None:
    os.environ["AGENTDBG_IMPLICIT_RUN"] = "1"
    a_tool(object())
    agentdbg.record_error(KeyError("k"))


def pause() -> None:
    with agentdbg.traced_run("paused"):
        agentdbg.breakpoint("here", value=object())


PROGRAMS: dict[str, Callable[[], object]] = {
    "function": function,
    "coroutine": run_coroutine,
    "block": run_block,
    "implicit": run_implicitly,
    "pause": pause,
}


def count_places(program: Callable[[], object], at: int = -1, reached: Callable[[], object] | None = None) -> int:
    """Run it, and call `reached` at one of the places where the interpreter looks for signals; how many it passed."""
    passed = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal passed
        if event in ("call", "c_return"):
            passed += 1
            if passed == at and reached is not None:
                del frame, event, argument
                reached()

    sys.setprofile(profile)
    try:
        program()
    finally:
        sys.setprofile(None)
    return passed


def in_child(work: Callable[[], str]) -> str:
    """What `work` says in a forked child; the exit of the interpreter is a part of it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(_MOST_SECONDS)  # a child that hangs dies of it
        os.close(read)
        os.write(write, work().encode())
        sys.stdout.flush()
        sys.exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        said = file.read().decode()
    status = os.waitpid(child, 0)[1]
    return said if status == 0 else f"{said} and the child died of {status}"


def interrupted(program: Callable[[], object], at: int) -> str:
    error = TimeIsUp("time is up") if at % 2 else KeyboardInterrupt()

    def handler(signum: int, frame: Any) -> None:
        raise error

    signal.signal(signal.SIGUSR1, handler)
    came = False

    def reached() -> None:
        nonlocal came
        came = True
        signal.raise_signal(signal.SIGUSR1)

    try:
        count_places(program, at, reached)
    except BaseException as raised:
        return "" if raised is error else f"{raised!r} came in its place"
    return "it was swallowed" if came else ""


def forked(program: Callable[[], object], at: int) -> str:
    """A thread stands at the place; this one forks. A lock that is held there is let go after a moment."""
    there = threading.Event()

    def stand() -> None:
        there.set()
        time.sleep(_STANDING_SECONDS)

    thread = threading.Thread(target=count_places, args=(program, at, stand))
    thread.start()
    there.wait(5)
    said = in_child(lambda: str(program() or "None").removeprefix("None"))
    thread.join(_MOST_SECONDS)
    return said or ("the thread hangs" if thread.is_alive() else "")


def main(name: str, how: str, seed: int, most: int) -> None:
    program, check = PROGRAMS[name], {"interrupt": interrupted, "fork": forked}[how]
    counted = in_child(lambda: str(count_places(program)))
    places = range(1, int(counted) + 1)
    sample = places if most >= len(places) else random.Random(seed).sample(places, most)
    data_dir = tempfile.mkdtemp(prefix="first-run-")
    for at in sample:
        os.environ["AGENTDBG_DATA_DIR"] = f"{data_dir}/{at}"
        said = in_child(functools.partial(check, program, at)) or left_in(f"{data_dir}/{at}")
        if said:
            print(f"{name}, {how} at {at} of {counted}: {said}", flush=True)
        shutil.rmtree(f"{data_dir}/{at}", ignore_errors=True)
    os.rmdir(data_dir)
    print(f"{len(sample)} of {counted} places", file=sys.stderr)


def left_in(data_dir: str) -> str:
    """Which run is not closed, or not whole; the process that recorded it is gone."""
    import json

    runs = os.path.join(data_dir, "runs")
    for run_id in os.listdir(runs) if os.path.isdir(runs) else ():
        names = os.listdir(os.path.join(runs, run_id))
        if not names:
            continue  # interrupted before it began
        with open(os.path.join(runs, run_id, "events.jsonl"), "rb") as file:
            events = [json.loads(line) for line in file]
        with open(os.path.join(runs, run_id, "run.json"), "rb") as file:
            status = json.load(file)["status"]
        if status == "running" or events[-1]["event_type"] != "RUN_END":
            return f"the run is {status}, its last event {events[-1]['event_type']}"
        if set(names) - {"run.json", "events.jsonl", "tape.jsonl"}:
            return f"there are {names}"
    return ""


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
