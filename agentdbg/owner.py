"""
Which process a run belongs to, and whether that process still lives.

`started` tells a process from a later one with the same number. The lock on events.jsonl is the better witness;
this one serves where there is no such lock.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from agentdbg.faults import pass_on

__all__ = ["describe_owner", "is_owner_alive"]


def describe_owner() -> dict[str, Any]:
    """This process: its number, when it started, and the machine it runs on."""
    pid = os.getpid()
    return {"pid": pid, "started": _own_start_time(pid), "host": _host()}


def is_owner_alive(owner: Any) -> bool | None:
    """Whether the process lives; None when that cannot be told (another machine, or not recorded)."""
    if not isinstance(owner, dict) or type(owner.get("pid")) is not int or owner.get("host") != _host():
        return None
    pid = owner["pid"]
    if not _exists(pid):
        return False
    started = _start_time(pid)
    return started is None or owner.get("started") is None or started == owner["started"]


@functools.cache
def _host() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform  # noqa: PLC0415 -- Windows only

    return platform.node()


@functools.lru_cache(maxsize=1)
def _own_start_time(pid: int) -> str | None:
    """That of this process, which never changes; a forked child has another number."""
    return _start_time(pid)


def _start_time(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program stands in brackets and may hold anything; the start time is field 22.
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError) as error:
        pass_on(error)
        return None


def _exists(pid: int) -> bool:
    if pid <= 0:
        return False
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)
        if handle:
            ctypes.windll.kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError) as error:  # a number no process has is as good as one that is gone
        pass_on(error)
        return False
    except OSError as error:  # it exists, and belongs to somebody else
        pass_on(error)
        return True
    return True
