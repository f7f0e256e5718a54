"""A signal that comes while a process forks: no lock stays held, no handler is lost, and the exception comes out."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg
from agentdbg import loading

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")]

_HOOKS = {"_put_off", "_bring", "_before_fork", "_after_in_parent", "clear"}


class Struck(Exception):
    """What the handler raises."""


def _fork() -> None:
    if (child := os.fork()) == 0:
        os._exit(0 if signal.getsignal(signal.SIGUSR1) is _handler else 9)
    assert os.waitpid(child, 0)[1] == 0, "the child has another handler"


def _handler(signum: int, frame: Any) -> None:
    raise Struck


def _places(at: int = -1) -> int:
    """Fork, with a signal at one of the places in our hooks that admit it; how many there are in the parent."""
    passed, parent = 0, os.getpid()

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal passed
        is_hook = frame.f_code.co_name in _HOOKS or frame.f_code.co_filename == loading.__file__
        if event in ("call", "c_return") and is_hook and os.getpid() == parent:
            passed += 1
            if passed == at:
                signal.raise_signal(signal.SIGUSR1)

    sys.setprofile(profile)
    try:
        _fork()
    finally:
        sys.setprofile(None)
    return passed


def test_a_signal_anywhere_in_our_hooks_of_a_fork_leaves_nothing_held(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before handlers are put off, and after they are given back, Python says itself that it drops the exception."""
    dropped: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    before = signal.signal(signal.SIGUSR1, _handler)
    came = 0
    try:
        with agentdbg.traced_run("forking"):
            count = _places()
            for at in range(1, count + 1):
                dropped.clear()
                try:
                    _places(at)
                    _wait_a_moment()
                except Struck:
                    came += 1
                else:
                    assert len(dropped) == 1, f"swallowed at place {at} of {count}"
                assert signal.getsignal(signal.SIGUSR1) is _handler
                assert _recorded_elsewhere() is not None, f"a lock is held after place {at} of {count}"
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert came > count / 2


def _wait_a_moment() -> None:
    """What came meanwhile is sent again by a thread."""
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        time.sleep(0.01)


def _recorded_elsewhere() -> str | None:
    found: list[str | None] = []
    thread = threading.Thread(target=lambda: found.append(agentdbg.record_state({"a": 1})), daemon=True)
    thread.start()
    thread.join(20)
    return found[0] if found else None
