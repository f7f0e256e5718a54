"""
Reading: how long a stored run takes to be served, indexed, searched and listed, against the cheapest way there is.

Serving is compared with `sendfile` of the same file over the same loopback, taken in turns, so that a noisy machine
slows both; the ratio is what stays true elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.viewing import held, process_of, viewer, write_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["reading_tables"]

EVENTS = 100_000
RUNS = 10_000
ROUNDS = 5
LIVE_EVENTS = 200


Row = tuple[str, str, str]


def reading_tables() -> str:
    """The table of reading, as Markdown."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        rows = [
            *_serving(root / "one"),
            *_columns(root / "one"),
            *_memory(root),
            *_live(root / "live"),
            *_export(root / "one"),
            *_listing(root / "many"),
            *_listing_few(root / "few"),
        ]
    lines = ["| what | measured | wanted or against |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n\n"


def _serving(root: Path) -> list[Row]:
    run_id = write_run(root, EVENTS)
    path = root / "runs" / run_id / "events.jsonl"
    size = path.stat().st_size / 1e6
    times: dict[str, list[float]] = {"sendfile": [], "cold": [], "warm": [], "first byte": []}
    with viewer(root) as port, _sendfile_server(path) as plain_port:
        for _ in range(ROUNDS):
            times["sendfile"].append(_fetch(plain_port, "/")[1])
            shutil.rmtree(root / "index", ignore_errors=True)
            first, total = _fetch(port, f"/api/runs/{run_id}/events")
            times["cold"].append(total)
            times["first byte"].append(first)
            times["warm"].append(_fetch(port, f"/api/runs/{run_id}/events")[1])
        rows_ms = [_fetch(port, f"/api/runs/{run_id}/rows?limit=200")[1] * 1000 for _ in range(ROUNDS)]
    medians = {name: statistics.median(values) for name, values in times.items()}
    plain = medians["sendfile"]
    return [
        (
            f"`GET …/events` of {EVENTS:,} events ({size:.0f} MB), warm",
            _ms(medians["warm"]),
            f"{_ratio(medians['warm'], plain)}, at most 5x",
        ),
        ("the same, nothing known of the file", _ms(medians["cold"]), f"{_ratio(medians['cold'], plain)}, at most 10x"),
        ("its first byte", _ms(medians["first byte"]), "100 ms"),
        ("its first 200 rows, nothing known of the file", f"{rows_ms[0]:.0f} ms", "a page of the timeline"),
        ("its first 200 rows, again", f"{statistics.median(rows_ms[1:]):.1f} ms", "a page of the timeline"),
    ]


def _columns(root: Path) -> list[Row]:
    from agentdbg.index.events import EventIndex
    from agentdbg.index.search_runs import search_events

    run_id = next((root / "runs").iterdir()).name
    folder = root / "runs" / run_id

    def build() -> EventIndex:
        index = EventIndex(folder, run_id)
        index.extend()
        return index

    def read_all() -> None:
        with open(folder / "events.jsonl", "rb") as file:
            for line in file:
                json.loads(line)

    index = build()
    took: dict[str, list[float]] = {"index": [], "parse": []}
    for _ in range(ROUNDS):  # in turns, so that a noisy machine slows both
        took["index"].append(_cpu_seconds(build))
        took["parse"].append(_cpu_seconds(read_all))
    indexed, parsed = min(took["index"]), min(took["parse"])
    searched = _median(lambda: list(search_events(index, "no such words")), 3)
    return [
        (
            f"indexing {EVENTS:,} events, CPU time",
            f"{_ms(indexed)}, so a million take {indexed * 1e6 / EVENTS:.1f} s",
            f"5 s for a million; {indexed / parsed:.2f}x parsing every line with `json` ({_ms(parsed)})",
        ),
        (f"searching {EVENTS:,} events for text", _ms(searched), "500 ms"),
    ]


def _memory(root: Path) -> list[Row]:
    """The peak of a viewer that served a short run, and of one that served a long one, neither indexed before."""
    peaks = []
    for count in (1_000, EVENTS):
        folder = root / f"memory{count}"
        run_id = write_run(folder, count)
        with viewer(folder) as port:
            _fetch(port, f"/api/runs/{run_id}/events")
            peaks.append(_peak_mb(port))
    return [
        (
            "peak memory of the viewer serving 1,000 events",
            f"{peaks[0]:.0f} MB",
            f"the same for {EVENTS:,} events: {peaks[1]:.0f} MB",
        )
    ]


def _live(root: Path) -> list[Row]:
    """From a line being written to the row being with whoever follows the run over its WebSocket."""
    from websockets.sync.client import connect

    run_id = write_run(root, 1_000, is_running=True)
    path = root / "runs" / run_id / "events.jsonl"
    line = path.read_bytes().splitlines(keepends=True)[1]
    event_id = json.loads(line)["event_id"].encode()
    chance, delays = random.Random(2), []
    with (
        held(path) as descriptor,
        viewer(root) as port,
        connect(f"ws://127.0.0.1:{port}/ws/run/{run_id}?rows=1&from=0", max_size=None) as socket,
    ):
        total = 0
        while total < 1_000:
            total = json.loads(socket.recv(timeout=10)).get("total", total)
        for number in range(1_001, 1_001 + LIVE_EVENTS):
            time.sleep(chance.uniform(0.01, 0.06))  # at no fixed place between two looks of the viewer
            written = line.replace(event_id, str(uuid.uuid4()).encode())
            started = time.perf_counter()
            os.write(descriptor, written)
            while total < number:
                total = json.loads(socket.recv(timeout=10)).get("total", total)
            delays.append(time.perf_counter() - started)
    delays.sort()
    middle, late = delays[len(delays) // 2], delays[len(delays) * 95 // 100]
    return [
        ("an event written to its row at the client, live", f"p50 {_tenth_ms(middle)}, p95 {_tenth_ms(late)}", "20 ms")
    ]


def _export(root: Path) -> list[Row]:
    run_id = next((root / "runs").iterdir()).name
    script = (
        "import sys, time; started = time.perf_counter(); from agentdbg.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        # Not getrusage, whose peak begins with that of the process that started this one.
        "peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(time.perf_counter() - started, peak, file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, "export", run_id, "--out", str(root / "out.json")]
    environment = {**os.environ, "AGENTDBG_DATA_DIR": str(root)}
    said = [
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr.split()
        for _ in range(3)
    ]
    took, peak = statistics.median(float(words[0]) for words in said), max(int(words[1]) for words in said)
    return [(f"`agentdbg export` of {EVENTS:,} events", f"{_ms(took)}, {peak / 1000:.0f} MB", "2 s, 60 MB")]


def _listing(root: Path) -> list[Row]:
    for number in range(RUNS):
        write_run(root, 3, started=f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}T10:00:00.{number % 1000:03d}Z")
    with viewer(root) as port:
        first = _fetch(port, "/api/runs")[1]
        time.sleep(1)  # while the headlines of the first page are made
        again = []
        for _ in range(40):  # over several seconds, so that looking at every folder again is in it
            again.append(_fetch(port, "/api/runs")[1])
            time.sleep(0.1)
    return [
        (f"`/api/runs` with {RUNS:,} runs, never seen before", _ms(first), "the command line shows progress after 1 s"),
        (
            "the same, warm",
            f"{_tenth_ms(statistics.median(again))}, p95 {_tenth_ms(sorted(again)[-3])}",
            "30 ms",
        ),
        (f"`agentdbg list` with {RUNS:,} runs, the whole process", _ms(_list_seconds(root)), "500 ms"),
    ]


def _listing_few(root: Path) -> list[Row]:
    for number in range(10):
        write_run(root, 3, started=f"2026-01-{number + 1:02d}T10:00:00.000Z")
    bare = _median(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 5)
    took = _list_seconds(root)
    return [("the same with 10 runs", _ms(took), f"250 ms; starting Python alone takes {_ms(bare)}")]


def _list_seconds(root: Path) -> float:
    command = [sys.executable, "-m", "agentdbg", "list"]
    environment = {**os.environ, "AGENTDBG_DATA_DIR": str(root)}
    return _median(lambda: subprocess.run(command, env=environment, check=True, capture_output=True), 5)


@contextlib.contextmanager
def _sendfile_server(path: Path) -> Iterator[int]:
    """The cheapest way to serve a file: one `sendfile` per connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, open(path, "rb") as file:
                    connection.recv(65_536)
                    size = os.fstat(file.fileno()).st_size
                    connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
                    connection.sendfile(file)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


def _fetch(port: int, path: str) -> tuple[float, float]:
    """Seconds to the first byte and to the last, everything thrown away."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        buffer = bytearray(1 << 20)
        started = time.perf_counter()
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        connection.recv_into(buffer)
        first = time.perf_counter() - started
        while connection.recv_into(buffer):
            pass
        return first, time.perf_counter() - started


def _peak_mb(port: int) -> float:
    with open(f"/proc/{process_of(port)}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1000


def _cpu_seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def _median(call: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def _tenth_ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _ratio(seconds: float, plain: float) -> str:
    return f"{seconds / plain:.1f}x sendfile ({_ms(plain)})"


if __name__ == "__main__":
    print(reading_tables())
