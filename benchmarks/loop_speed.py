"""
Measure what the loop detector adds to an event, in microseconds.

    python benchmarks/loop_speed.py [--rounds N]

Each figure is processor time, the median of interleaved rounds. "Does not recur" are calls whose name is new;
"recurs" are calls of a tool or model that was called before, with 2 KB of text each, in the ways agents repeat
themselves.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentdbg.loops import LoopDetector
from benchmarks.loop_traces import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.events import Event

_EVENTS = 2_000
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


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    windows = (12, 2_000)

    print("| event | window 12, µs | window 2,000, µs |\n|---|---|---|")
    streams = cases()
    timed = medians(streams, windows, options.rounds)
    for name in streams:
        print(f"| {name} | {timed[name, 12]:.1f} | {timed[name, 2_000]:.1f} |")

    print("\n| tools | window 12, µs | window 2,000, µs | ratio |\n|---|---|---|---|")
    mixes = {
        "5": _mix(5, alternating=False),
        "5, model between": _mix(5, alternating=True),
        "100": _mix(100, alternating=False),
        "100, model between": _mix(100, alternating=True),
    }
    timed = medians(mixes, windows, options.rounds)
    for name in mixes:
        narrow, wide = timed[name, 12], timed[name, 2_000]
        print(f"| {name} | {narrow:.1f} | {wide:.1f} | {wide / narrow:.2f} |")

    events = mixes["5, model between"]
    detector = LoopDetector(12)
    tracemalloc.start()
    print("\n| events so far | µs an event | bytes held |\n|---|---|---|")
    for pass_number in range(1, 11):
        began = time.process_time()
        for event in events:
            detector.observe(event)
        spent = (time.process_time() - began) / len(events) * 1e6
        if pass_number in (1, 2, 10):
            print(f"| {pass_number * len(events):,} | {spent:.1f} (traced) | {tracemalloc.get_traced_memory()[0]:,} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
