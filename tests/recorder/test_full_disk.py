"""A disk without room: an id means written, what was lost is counted wherever it was lost, and the count survives."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.storage import list_runs, load_events

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="no such limit here")]

# No file may grow beyond the limit, as on a disk that is full; in between there is room again, or not.
_PROGRAM = """
import os, resource, sys
import agentdbg

def room(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def record(count):
    return [agentdbg.record_tool_call("t", {"n": n}, "x" * 500) for n in range(count)]

with agentdbg.traced_run("full") as run:
    ids = record(5)
    room(os.path.getsize(run.path / "events.jsonl") + 700)
    ids += record(6)
    if os.fork() == 0:
        record(4)
        os._exit(0)
    os.wait()
    if sys.argv[1] == "room again":
        room(resource.RLIM_INFINITY)
        ids += record(2)
print(sum(each is not None for each in ids))
"""


@pytest.mark.parametrize("then", ["room again", "full to the end"])
def test_what_a_full_disk_did_not_take_is_counted_and_has_no_id(data_dir: Path, then: str) -> None:
    """The parent's events and its child's."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, then], capture_output=True, text=True, check=True)
    run: Any = list_runs(data_dir=data_dir)[0]
    types = [event["event_type"] for event in load_events(run["run_id"], data_dir=data_dir)]
    written = types.count("TOOL_CALL")

    assert int(done.stdout) == written
    assert done.stderr.count("\n") == 1
    recorded = 5 + 6 + 4 + (2 if then == "room again" else 0)
    assert run["dropped_events"] == recorded - written + 1 - types.count("RUN_END") > 0
    assert run["status"] == "ok"


def test_the_count_is_in_the_log_too(data_dir: Path) -> None:
    """run.json is a cache."""
    subprocess.run([sys.executable, "-c", _PROGRAM, "room again"], capture_output=True, check=True)
    run: Any = list_runs(data_dir=data_dir)[0]
    path = data_dir / "runs" / run["run_id"] / "run.json"
    stored = json.loads(path.read_bytes())["dropped_events"]
    path.unlink()

    rebuilt: Any = list_runs(data_dir=data_dir)[0]
    assert stored == rebuilt["dropped_events"] > 0


_BEGUN_WITHOUT_ROOM = """
import os, resource
import agentdbg

def room(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

room(0)
with agentdbg.traced_run("full"):
    agentdbg.record_state({"before": 1})
    if os.fork() == 0:
        room(resource.RLIM_INFINITY)
        for number in range(30):
            agentdbg.record_tool_call("t", {"n": number}, [str(n) * 5_000 for n in range(5)])
        os._exit(0)
    os.wait()
    room(resource.RLIM_INFINITY)
    agentdbg.record_state({"after": 1})
"""


def test_a_run_that_began_without_room_begins_once(data_dir: Path) -> None:
    """Each of its processes waits for room to write RUN_START, and another may have written much since."""
    subprocess.run([sys.executable, "-c", _BEGUN_WITHOUT_ROOM], capture_output=True, check=True)
    run: Any = list_runs(data_dir=data_dir)[0]
    types = [event["event_type"] for event in load_events(run["run_id"], data_dir=data_dir)]

    assert (types[0], types.count("RUN_START"), types[-1]) == ("RUN_START", 1, "RUN_END")
    assert types.count("TOOL_CALL") == 30
