"""What recording one event costs, with everything on, against the floor, structlog and OpenTelemetry."""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import agentdbg
from benchmarks.peers import ours, peers
from benchmarks.timing import interleaved, microseconds, on_threads
from benchmarks.workloads import WORKLOADS, different_ones, real_messages

__all__ = ["capture_tables"]

_DIFFERENT = ", each one different"
# What the product promises: at most this share of OpenTelemetry's cost, at most this multiple of the floor.
PROMISED: dict[str, tuple[float, float | None]] = {
    "LLM call, tiny": (1 / 5, 5),
    "LLM call, 2 KB": (1 / 3, 5),
    "LLM call, 20 KB": (1, None),
    "200 nested keys": (1, None),
    "tool call": (1 / 5, None),
    "state, 50 keys": (1 / 5, None),
    "real messages with ids": (1, None),
}


def capture_tables() -> str:
    """All tables of this module, as Markdown."""
    parts = [_per_event(), _threads_and_seams(), _idle_and_import(), _long_run()]
    return "\n".join(parts)


def _per_event() -> str:
    lines = [
        "| event | AgentDbg µs | floor | structlog | OpenTelemetry | of OpenTelemetry | times the floor | promised |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        all_peers = [ours(folder), *peers(folder)]
        work_items: dict[str, Any] = {label: [work] for label, work in WORKLOADS.items()}
        work_items |= {label + _DIFFERENT: works for label, works in different_ones().items()}
        if messages := real_messages():
            work_items["real messages with ids"] = messages
        for label, works in work_items.items():
            turns = {peer.name: itertools.cycle(works) for peer in all_peers}
            calls = {peer.name: partial(_record_next, peer.record, turns[peer.name]) for peer in all_peers}
            times = list(interleaved(calls).values())
            share, floors = PROMISED[label.removesuffix(_DIFFERENT)]
            promised = f"≤ {share:.2f}" + (f", ≤ {floors:g} floors" if floors else "")
            lines.append(
                f"| {label} | {times[0]:.1f} | {times[1]:.1f} | {times[2]:.1f} | {times[3]:.1f} "
                f"| {times[0] / times[3]:.2f} | {times[0] / times[1]:.1f} | {promised} |"
            )
        for peer in all_peers:
            peer.close()
    return "\n".join(lines) + "\n"


def _record_next(record: Any, works: Any) -> None:
    record(next(works))


def _threads_and_seams() -> str:
    lines = ["| what | µs |", "|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        peer = ours(Path(name))
        tiny = partial(peer.record, WORKLOADS["LLM call, tiny"])

        @agentdbg.tool
        def act(number: int) -> int:
            return number

        numbers = itertools.count()
        lines.append(f"| tiny LLM call, 1 thread | {on_threads(tiny, 1, 4000):.1f} |")
        lines.append(f"| tiny LLM call, 8 threads, per event | {on_threads(tiny, 8, 500):.1f} |")
        lines.append(
            f"| `@tool` around a function, both events | {microseconds(lambda: act(next(numbers)), 3000):.1f} |"
        )
        peer.close()
    return "\n".join(lines) + "\n"


def _idle_and_import() -> str:
    idle = {
        "record_llm_call": lambda: agentdbg.record_llm_call("m", prompt="p", response="r"),
        "record_tool_call": lambda: agentdbg.record_tool_call("t"),
        "record_state": lambda: agentdbg.record_state({}),
    }
    times = interleaved(idle, rounds=9, count=20_000)
    lines = ["| what | measured | promised |", "|---|---|---|"]
    lines += [f"| `{name}` with no active run | {value:.2f} µs | ≤ 0.30 µs |" for name, value in times.items()]
    bare = _process_ms("pass")
    imported = _process_ms("import agentdbg")
    first = _process_ms("import agentdbg\nwith agentdbg.traced_run('r'): pass")
    lines.append(f"| `import agentdbg` over bare Python | {imported - bare:.1f} ms | ≤ 35 ms |")
    lines.append(f"| import and a first empty run over bare Python | {first - bare:.1f} ms | ≤ 150 ms |")
    under_run = _process_ms("pass", command=["-m", "agentdbg", "run"])
    lines.append(f"| `agentdbg run` of an empty program over bare Python | {under_run - bare:.1f} ms | ≤ 200 ms |")
    return "\n".join(lines) + "\n"


def _process_ms(program: str, rounds: int = 15, command: list[str] | None = None) -> float:
    """The fastest of several whole processes: start-up is the same work each time, the rest is noise."""
    import time

    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "AGENTDBG_DATA_DIR": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have their modules compiled
        script = str(Path(folder) / "program.py")
        Path(script).write_text(program, encoding="utf-8")
        started = command or []
        best = float("inf")
        for _ in range(rounds):
            began = time.perf_counter()
            subprocess.run([sys.executable, *started, script], check=True, env=environment, stderr=subprocess.DEVNULL)
            best = min(best, time.perf_counter() - began)
    return best * 1000


def _long_run(events: int = 1_000_000) -> str:
    """A million events in one run: the last hundred thousand cost what the first did, and memory does not grow."""
    with tempfile.TemporaryDirectory() as name:
        peer = ours(Path(name))
        works = itertools.cycle([WORKLOADS["LLM call, tiny"], WORKLOADS["tool call"]])
        step = events // 10
        spans, memory = [], []
        for _ in range(10):
            spans.append(microseconds(lambda: peer.record(next(works)), step))
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        peer.close()
        size = sum(path.stat().st_size for path in Path(name).rglob("events.jsonl"))
    return "\n".join(
        [
            "| a run of a million events | measured |",
            "|---|---|",
            f"| first, last tenth, per event | {spans[0]:.1f} µs, {spans[-1]:.1f} µs ({spans[-1] / spans[0]:.2f}x) |",
            f"| events a second | {1_000_000 / (sum(spans) / len(spans)):,.0f} |",
            f"| memory of the process after the first, last tenth | {memory[0]:.0f} MB, {memory[-1]:.0f} MB |",
            f"| bytes an event on disk | {size / events:.0f} |",
            "",
        ]
    )
