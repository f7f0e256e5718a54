"""A push that is killed, and one of a run too long to be held in memory."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from benchmarks.push_speed import measure, write_long_run
from tests.interop.otel.collector import Collector

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

_BATCH = 512
_KILLS = 8


def test_killed_again_and_again_nothing_is_missing_and_nothing_double(data_dir: Path, collector: Collector) -> None:
    """Laptops are closed and builds are cancelled; one more push has to make it whole."""
    run_id = write_long_run(data_dir, 12_000)
    command = [sys.executable, "-m", "agentdbg", "push", run_id, "--otlp"]
    whole = Collector()
    subprocess.run([*command, whole.url], check=True, capture_output=True, timeout=120)
    whole.close()
    chance, killed, tried = random.Random(5), 0, 0
    while killed < _KILLS:
        tried += 1
        assert tried < 10 * _KILLS, "the pushes end before they can be killed"
        before = len(collector.requests)
        push = subprocess.Popen([*command, collector.url], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(collector.requests) < before + 1 and push.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(chance.random() * 0.04)  # most of a push is its start, so this must not be long
        push.send_signal(signal.SIGKILL)
        killed += push.wait(30) == -signal.SIGKILL
    done = subprocess.run([*command, collector.url], capture_output=True, text=True, check=True, timeout=120)
    times = Counter(span.span_id for span in collector.spans)
    told = {span.span_id: span.attributes for span in collector.spans}

    assert set(times) == {span.span_id for span in whole.spans}
    assert told == {span.span_id: span.attributes for span in whole.spans}
    # What was under way when the push died comes once more, under the same ids, and nothing else does.
    assert sum(times.values()) - len(times) <= _KILLS * _BATCH
    assert "already there" in done.stdout


def test_memory_stays_flat_however_long_the_run_is() -> None:
    """A run that does not fit into memory is the one that somebody wants to see in a bigger tool."""
    short, long = measure(5_000), measure(50_000)

    assert long.spans > 40_000
    assert long.peak_mb < short.peak_mb + 15, f"{short.peak_mb:.0f} MB, then {long.peak_mb:.0f} MB"
