"""Measuring fairly on a noisy machine: interleaved rounds, the median of each, ratios rather than times."""

from __future__ import annotations

import gc
import statistics
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["interleaved", "microseconds", "on_threads"]


def microseconds(call: Callable[[], object], count: int) -> float:
    """µs per call over one stretch of `count` calls."""
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter_ns()
        for _ in range(count):
            call()
        return (time.perf_counter_ns() - started) / count / 1000
    finally:
        gc.enable()


def interleaved(calls: Mapping[str, Callable[[], object]], rounds: int = 15, count: int = 200) -> dict[str, float]:
    """The median µs of each, taken in turns, so that a noisy second hits all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        microseconds(call, max(10, count // 10))
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(microseconds(call, count))
    return {name: statistics.median(values) for name, values in times.items()}


def on_threads(call: Callable[[], Any], threads: int, count: int) -> float:
    """µs per call as the whole process sees it, with `threads` of them calling at once."""
    barrier = threading.Barrier(threads + 1)

    def work() -> None:
        barrier.wait()
        for _ in range(count):
            call()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    barrier.wait()
    started = time.perf_counter_ns()
    for worker in workers:
        worker.join()
    return (time.perf_counter_ns() - started) / (threads * count) / 1000
