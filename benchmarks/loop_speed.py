"""
Measure what the loop detector adds to an event, and what a wide window costs the whole capture path.

    python benchmarks/loop_speed.py [--rounds N]
    python -m benchmarks loops

Each figure is processor time, the median of interleaved rounds. The runs of real agents count; they are measured where
they are there (see loop_quality). The made ones say what a single kind of event costs: "does not recur" are calls whose
name is new; "recurs" are calls of a tool or model that was called before, in the ways agents repeat themselves.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
import tracemalloc
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import agentdbg
from agentdbg.loops import LoopDetector
from benchmarks.loop_quality import real_runs
from benchmarks.loop_traces import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.events import Event

__all__ = ["loop_tables"]

_EVENTS = 2_000
_RECORDED = 7_500
"""Enough to fill what is within reach of the wide window, twice its length, before the clock starts."""
_WORDS = [f"word{number}" for number in range(4_000)]


def _text(chance: random.Random, size: int = 2_000) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(size // 9))


def _made(add: Callable[[Recorder, random.Random, int], object], events: int = _EVENTS) -> list[Event]:
    run, chance = Recorder(), random.Random(7)
    for number in range(events):
        add(run, chance, number)
    return run.events


def _mix(tools: int, *, alternating: bool) -> list[Event]:
    def add(run: Recorder, chance: random.Random, number: int) -> object:
        if alternating and number % 2:
            return run.model(f"thought {number} about it")
        return run.tool(f"tool_{chance.randrange(tools)}", {"n": number}, f"result {number}")

    return _made(add, 6_000)


def _same_call(kind: str) -> list[Event]:
    chance = random.Random(3)
    same = _text(chance)

    def add(run: Recorder, chance: random.Random, number: int) -> object:
        if kind == "same input and result":
            return run.tool("read", {"path": "a.txt"}, same)
        if kind == "same input, other result":
            return run.tool("read", {"path": "a.txt"}, _text(chance))
        if kind == "other input and result":
            return run.tool("read", {"path": f"{number}.txt"}, _text(chance))
        if kind == "2 KB of input, nearly the same":
            return run.tool("write", {"text": f"{same} {number}"}, "The file could not be written to this disk.")
        if kind == "ids and clocks in the result":
            at = f"2025-01-01T10:{number // 60 % 60:02}:{number % 60:02}Z"
            return run.tool("read", {"path": "a.txt"}, {"id": f"{number:032x}", "at": at, "text": same})
        return run.model(_text(chance))

    return _made(add)


def cases() -> dict[str, list[Event]]:
    """Every kind of event stream that is timed."""
    kinds = (
        "same input and result",
        "same input, other result",
        "other input and result",
        "2 KB of input, nearly the same",
        "ids and clocks in the result",
        "model answer",
    )
    return {
        "does not recur: tool, 200 B": _made(lambda run, _, n: run.tool(f"tool_{n}", {"q": "x" * 100}, "y" * 100)),
        "does not recur: tool, 2 KB": _made(lambda run, chance, n: run.tool(f"tool_{n}", {"q": n}, _text(chance))),
        "does not recur: model, 2 KB": _made(lambda run, chance, n: run.model(_text(chance), None, f"model_{n}")),
        "recurs, short: other prompt and answer": _made(
            lambda run, _, n: run.model(f"Paris {n} is the capital of France.", f"What is the capital {n} {n * n}?")
        ),
        "recurs, short: other input and result": _made(lambda run, _, n: run.tool("search", {"q": f"x{n}"}, {"r": n})),
        **{f"recurs, 2 KB: {kind}": _same_call(kind) for kind in kinds},
    }


def per_event(events: list[Event], window: int) -> float:
    """Microseconds per event, the price of the bare loop taken off."""
    detector = LoopDetector(window)
    observe = detector.observe
    began = time.process_time()
    for event in events:
        observe(event)
    spent = time.process_time() - began
    began = time.process_time()
    for event in events:
        _nothing(event)
    return max(spent - (time.process_time() - began), 0.0) / len(events) * 1e6


def _nothing(event: Any) -> None:
    """What a call costs that does nothing."""


def medians(streams: dict[str, list[Event]], windows: tuple[int, ...], rounds: int) -> dict[tuple[str, int], float]:
    """The median of interleaved rounds for each stream and window."""
    figures: dict[tuple[str, int], list[float]] = {}
    for _ in range(rounds):
        for name, events in streams.items():
            for window in windows:
                figures.setdefault((name, window), []).append(per_event(events, window))
    return {key: statistics.median(values) for key, values in figures.items()}


def loop_tables(rounds: int = 7) -> str:
    """All tables of this module, as Markdown."""
    return "\n".join([_real_runs(rounds), _added_to_an_event(rounds), _wide_window(rounds), _long_run()])


def _real_runs(rounds: int) -> str:
    """What the detector adds to an event of a real agent, whose history grows with every call."""
    data = Path(os.environ.get("AGENTDBG_TRAJECTORIES", "../shared/data"))
    groups = {title: [events for _, _, events in judged] for title, judged in real_runs(data)}
    if not groups:
        return ""
    lines = ["| runs of real agents | events | detection, µs an event | promised |", "|---|---|---|---|"]
    for title, runs in groups.items():
        number = sum(map(len, runs))
        spent = [sum(per_event(events, 12) * len(events) for events in runs) / number for _ in range(rounds)]
        lines.append(f"| {title} | {number:,} | {statistics.median(spent):.1f} | about 40 µs |")
    return "\n".join(lines) + "\n"


def _added_to_an_event(rounds: int) -> str:
    lines = ["| event | detection, µs | with window 2,000 |", "|---|---|---|"]
    streams = cases()
    timed = medians(streams, (12, 2_000), rounds)
    lines += [f"| {name} | {timed[name, 12]:.1f} | {timed[name, 2_000]:.1f} |" for name in streams]
    return "\n".join(lines) + "\n"


def _wide_window(rounds: int) -> str:
    """The whole way of an event, from the call that records it to the file, under both windows in turns."""
    lines = ["| tools | window 12, µs | window 2,000, µs | ratio | promised |", "|---|---|---|---|---|"]
    for tools, promised in ((5, 2.0), (100, 1.2)):
        for alternating in (False, True):
            calls = _calls(tools, alternating=alternating)
            times: dict[int, list[float]] = {12: [], 2_000: []}
            for _ in range(rounds):
                for window, spent in times.items():
                    spent.append(_recorded(calls, window))
            narrow, wide = (statistics.median(spent) for spent in times.values())
            # Each pair ran one right after the other, so that the machine was as fast for both.
            ratio = statistics.median(late / early for early, late in zip(*times.values(), strict=True))
            name = f"{tools}, a model call between" if alternating else f"{tools}"
            lines.append(f"| {name} | {narrow:.1f} | {wide:.1f} | {ratio:.2f} | ≤ {promised:g} |")
    return "\n".join(lines) + "\n"


def _calls(tools: int, *, alternating: bool) -> list[Callable[[], object]]:
    chance = random.Random(11)
    calls: list[Callable[[], object]] = []
    for number in range(_RECORDED):
        if alternating and number % 2:
            calls.append(partial(agentdbg.record_llm_call, "gpt-4o", "What next?", f"thought {number} about it"))
        else:
            name = f"tool_{chance.randrange(tools)}"
            calls.append(partial(agentdbg.record_tool_call, name, {"n": number}, f"result {number}"))
    return calls


def _recorded(calls: list[Callable[[], object]], window: int) -> float:
    """Microseconds per event of a run that records these calls; the first ones fill the window."""
    filling = calls[: len(calls) * 2 // 3]
    timed = calls[len(filling) :]
    with tempfile.TemporaryDirectory() as folder:
        settings = {"AGENTDBG_DATA_DIR": folder, "AGENTDBG_LOOP_WINDOW": str(window)}
        before = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)
        try:
            with agentdbg.traced_run("benchmark"):
                for call in filling:
                    call()
                began = time.process_time()
                for call in timed:
                    call()
                return (time.process_time() - began) / len(timed) * 1e6
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _long_run() -> str:
    lines = ["| events so far | detection, µs (traced) | bytes held |", "|---|---|---|"]
    events = _mix(5, alternating=True)
    detector = LoopDetector(12)
    tracemalloc.start()
    try:
        for pass_number in range(1, 11):
            began = time.process_time()
            for event in events:
                detector.observe(event)
            spent = (time.process_time() - began) / len(events) * 1e6
            if pass_number in (1, 2, 10):
                held = tracemalloc.get_traced_memory()[0]
                lines.append(f"| {pass_number * len(events):,} | {spent:.1f} | {held:,} |")
    finally:
        tracemalloc.stop()
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    print(loop_tables(parser.parse_args().rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
