"""What breakpoints cost: armed and not reached, for each call; and from an answer until the program goes on."""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import threading
import time
from typing import Any

import agentdbg
from agentdbg.around import deciding
from agentdbg.control.breakpoints import Breakpoints
from agentdbg.recorder.deciders import Decider
from agentdbg.storage.control_files import answer_pause, paused_in

__all__ = ["pausing_table"]

_PAUSES, _ROUNDS, _CALLS = 40, 60, 100
_PLACES = ["tool:refund where args.amount>100"]
_UNMET = ["tool:search where args.query=='y'"]


class _Nobody(Decider):
    """A decider that decides nothing: what asking anybody at all costs."""

    def decide(self, call: Any) -> None:
        """Leave every call as it is."""


@agentdbg.tool
def search(query: str) -> str:
    """Give back what it was asked."""
    return query


def pausing_table() -> str:
    """The figures as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AGENTDBG_DATA_DIR"] = folder
        none, asked, armed, unmet = _per_call()
        answered = _to_running()
    rows = [
        ("a call with a breakpoint armed and not reached, more than without", f"{armed - none:.1f} µs"),
        ("with one on this very tool, whose condition does not hold", f"{unmet - none:.1f} µs"),
        ("with a decider that looks closely at each call and does nothing", f"{asked - none:.1f} µs"),
        (f"an answer until the program goes on, median of {_PAUSES}", f"{statistics.median(answered):.1f} ms"),
        ("the longest of them", f"{max(answered):.1f} ms"),
    ]
    return "\n".join(["| breakpoints | here |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows)])


def _per_call() -> tuple[float, ...]:
    """µs of this thread's own work: without deciders, with one that decides nothing, with breakpoints, unmet ones."""
    ways = (None, _Nobody(), Breakpoints(_PLACES), Breakpoints(_UNMET))
    return tuple(statistics.median(found) for found in zip(*(_one_round(ways) for _ in range(_ROUNDS)), strict=True))


def _one_round(ways: tuple[Decider | None, ...]) -> list[float]:
    """Each in a run of its own: the breakpoints of a run are kept beside it, where all of its deciders read them."""
    times = []
    for way in ways:
        with agentdbg.traced_run("bench"), contextlib.nullcontext() if way is None else deciding(way):
            search("x")
            times.append(_microseconds())
    return times


def _microseconds() -> float:
    began = time.thread_time_ns()
    for _ in range(_CALLS):
        search("x")
    return (time.thread_time_ns() - began) / _CALLS / 1000


def _to_running() -> list[float]:
    """Milliseconds between an answer and the next line of the program."""
    answered: list[float] = []
    took: list[float] = []
    with deciding(Breakpoints(["tool:search"], wait_seconds=60)), agentdbg.traced_run("bench") as run:

        def answer_all() -> None:
            seen: set[str] = set()
            while len(seen) < _PAUSES:
                for pause in paused_in(run.path):
                    if pause["pause_id"] not in seen:
                        seen.add(pause["pause_id"])
                        time.sleep(0.03)
                        answered.append(time.perf_counter())
                        answer_pause(run.path, pause["pause_id"], {"do": "continue"})
                time.sleep(0.001)

        thread = threading.Thread(target=answer_all)
        thread.start()
        for _ in range(_PAUSES):
            search("x")
            took.append((time.perf_counter() - answered[-1]) * 1000)
        thread.join()
    return took
