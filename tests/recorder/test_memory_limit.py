"""A program that is not given the memory it asks for: it gets its MemoryError, and is not ended by the recorder."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="there the limit holds")]

_PROGRAM = """
import resource, sys
import agentdbg

size, room = map(int, sys.argv[1:])
part = size // 20
values = ["x" * size, ["x" * part] * 20 + ["y" * part], {"a": {"b": [{"t": "z" * part} for _ in range(20)]}}]

@agentdbg.tool
def tool(value):
    return value

@agentdbg.llm(model="m")
def ask(value):
    return value

with agentdbg.traced_run("before"):
    tool(1)
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + room, resource.RLIM_INFINITY))
for value in values:
    for record in (tool, ask, lambda value: agentdbg.record_tool_call("t", value, value)):
        with agentdbg.traced_run("short of memory"):
            record(value)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print("done")
"""


@pytest.mark.parametrize("size", [200_000, 2_000_000, 8_000_000])
@pytest.mark.parametrize("room", [300_000, 1_000_000, 4_000_000, 10_000_000])
def test_a_value_that_finds_no_room_in_memory_harms_nothing(size: int, room: int, data_dir: Path) -> None:
    """A shell, a batch system or a sandbox sets a limit, and copies of a large value do not fit below it."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(size), str(room)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    for folder in (data_dir / "runs").iterdir():
        lines = (folder / "events.jsonl").read_bytes().splitlines()
        assert json.loads(lines[-1])["event_type"] == "RUN_END"
        assert json.loads((folder / "run.json").read_bytes())["status"] == "ok"
