"""kill -9 at random instants: nothing that was recorded is lost, and no dead run is shown as running."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from agentdbg.storage import list_runs, load_events
from agentdbg.tape.tape_reader import TapeReader, find_tape

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.events import Event

pytestmark = pytest.mark.slow

_KILLS = 200
_AGENT = """
import os, random, sys
from agentdbg import traced_run, record_tool_call, tool
seed, judge = int(sys.argv[1]), int(sys.argv[2])
random.seed(seed)
alphabet = "aé漢🙂\\n\\"\\\\"

@tool
def work(n, text):
    return text[::-1]

with traced_run(f"victim {seed}", meta={"seed": seed}):
    n = 0
    while True:
        text = "".join(random.choices(alphabet, k=50)) * random.randint(1, 300)
        chunks = [text] * random.randint(1, 4)
        if n % 3:
            record_tool_call(f"tool-{n % 40}", {"n": n, "chunks": chunks}, [text])
        else:
            work(n, text)
        # Only what the call has returned from was recorded; tell the judge through a pipe that survives us.
        os.write(judge, f"{n}\\n".encode())
        n += 1
"""


def test_kill_9_at_two_hundred_random_instants_loses_nothing(tmp_path: Path, data_dir: Path) -> None:
    """The trace of the run that crashed is the one somebody needs."""
    program = tmp_path / "victim.py"
    program.write_text(_AGENT)
    chance = random.Random(20)
    acknowledged: dict[int, int] = {}
    for batch in range(0, _KILLS, 4):
        victims = [(seed, *_start(program, seed)) for seed in range(batch, batch + 4)]
        for seed, victim, told in victims:
            select.select([told], [], [], 20)  # the first event has been recorded, or is about to be
            time.sleep(chance.random() * 0.03)
            os.kill(victim.pid, signal.SIGKILL)
            victim.wait()
            acknowledged[seed] = _last_number(told)

    assert sum(count > 0 for count in acknowledged.values()) > _KILLS * 0.8, "hardly any victim got to record"
    runs = {run["metadata"]["seed"]: run for run in list_runs(data_dir=data_dir)}
    for seed, last in acknowledged.items():
        if last < 0 and seed not in runs:
            continue  # killed before it had begun
        run = runs[seed]
        assert run["status"] == "error"
        assert run["status_reason"]
        assert run["ended_at"] == run["last_event_ts"]
        events = list(load_events(run["run_id"], data_dir=data_dir))
        stored = {_number(event["payload"]["args"]) for event in events if event["event_type"] == "TOOL_CALL"}
        assert set(range(last + 1)) <= stored, f"run {seed} lost {set(range(last + 1)) - stored}"
        _check_tape(data_dir / "runs" / run["run_id"], [event for event in events if event["name"] == "work"])


def _check_tape(folder: Path, calls: list[Event]) -> None:
    """No event lacks its values, and every value can be read."""
    path = find_tape(folder)
    if path is None:
        assert not [event for event in calls if event["event_type"] == "TOOL_CALL"]
        return
    with TapeReader(path) as tape:
        for event in calls:
            if event["event_type"] == "TOOL_CALL":
                call = tape.find(event["event_id"])
                assert call is not None
                given, result = tape.value(call.input), tape.value(call.out["ok"])
                assert result == given["text"][::-1]


def _start(program: Path, seed: int) -> tuple[subprocess.Popen[bytes], int]:
    read, write = os.pipe()

    command = [sys.executable, str(program), str(seed), str(write)]
    victim = subprocess.Popen(command, pass_fds=(write,), stderr=subprocess.DEVNULL)
    os.close(write)
    return victim, read


def _last_number(told: int) -> int:
    with os.fdopen(told, "rb") as file:
        lines = file.read().split(b"\n")
    return int(lines[-2]) if len(lines) > 1 else -1


def _number(arguments: dict[str, int]) -> int:
    return int(arguments["n"])


def test_a_run_killed_inside_a_call_says_in_which(tmp_path: Path, data_dir: Path) -> None:
    """CALL_START is there for this."""
    program = tmp_path / "stuck.py"
    program.write_text(
        "import os, time\n"
        "from agentdbg import traced_run, tool\n"
        "@tool\n"
        "def fetch_page(url):\n"
        "    print('inside', flush=True)\n"
        "    time.sleep(60)\n"
        "with traced_run('stuck'):\n"
        "    fetch_page('http://example.test')\n"
    )
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        victim.stdout.readline()
        assert [run["status"] for run in list_runs(data_dir=data_dir)] == ["running"]
        victim.kill()
        victim.wait()

    (run,) = list_runs(data_dir=data_dir)
    assert run["status"] == "error"
    assert "fetch_page" in run["status_reason"]
    assert json.loads((data_dir / "runs" / run["run_id"] / "run.json").read_text())["status"] == "running"
