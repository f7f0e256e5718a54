"""Systems without what POSIX offers (locks, reading at a place, modes): everything loads and reads there too."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.storage.handmade import write_run

if TYPE_CHECKING:
    from pathlib import Path

_PROGRAM = """
import os, sys
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[name] = None
import asyncio, signal, subprocess, tempfile  # what the standard library itself needs is loaded as it is here
for name in ("pread", "preadv", "sendfile", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "getuid", "fchmod", "uname"):
    if hasattr(os, name):
        delattr(os, name)
import importlib, pkgutil
import agentdbg.index, agentdbg.server, agentdbg.storage
for package in (agentdbg.storage, agentdbg.index, agentdbg.server):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if module.name != "agentdbg.storage.writer":  # it goes by the system's name, which is no lie to tell here
            importlib.import_module(module.name)
from agentdbg.index.events import EventIndex
from agentdbg.index.run_index import RunIndex
from agentdbg.index.search_runs import search_events
from agentdbg.storage.layout import run_dir
from agentdbg.storage.reader import find_run
from pathlib import Path
root = Path(sys.argv[1])
runs = RunIndex(root, keep=False)
runs.refresh()
run_id = find_run("latest", root)
index = EventIndex(run_dir(root, run_id), run_id)
index.extend()
print(len(runs.page().runs), index.total, sum(map(len, search_events(index, "hi there"))), index.event(2)["event_type"])
"""


@pytest.mark.slow
def test_reading_needs_nothing_that_only_posix_has(tmp_path: Path) -> None:
    """People debug agents on Windows too."""
    write_run(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stderr == ""
    assert done.stdout.split() == ["1", "4", "1", "LLM_CALL"]
