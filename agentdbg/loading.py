"""
Load modules late, and yet in one piece.

What recording needs is loaded when the first run starts, never later: an import in the middle of a record could be met
by a fork of another thread, whose child would wait for ever for a lock that nobody holds, or by a signal handler, whose
exception some imports swallow (`msgspec` turns Ctrl-C into an ImportError). Inside `undisturbed` neither can happen:
whoever forks waits until the block is left, and handlers of signals are called when it is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from agentdbg.faults import pass_on

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["undisturbed"]

# Longer than any import takes. Should two threads wait for each other here, the program goes on all the same.
_LONGEST_WAIT_SECONDS = 20.0
_lock = threading.RLock()
_forking: list[bool] = []


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Put off forks of other threads, and what signal handlers do. For imports alone: nothing else may wait here."""
    _watch_forks()
    noted: list[int] = []

    def note(signum: int, _: Any) -> None:
        noted.append(signum)

    handlers: dict[int, Any] = {}
    try:
        with _lock:
            try:
                _replace_handlers(handlers, note)
                yield
            finally:
                _give_back(handlers.copy(), note)
    finally:
        for signum in noted:
            handlers[signum](signum, sys._getframe())  # noqa: SLF001 -- what the interpreter gives a handler


def _replace_handlers(handlers: dict[int, Any], note: Any) -> None:
    """Set `note` for each signal that has a handler of Python's; `handlers` gets what was there."""
    if threading.current_thread() is not threading.main_thread():  # handlers never run in another
        return
    try:
        for signum in signal.valid_signals():
            handler = signal.getsignal(signum)
            if callable(handler):
                handlers[signum] = handler
                signal.signal(signum, note)
    except ValueError as error:  # an interpreter within another has no handlers
        pass_on(error)


def _give_back(handlers: dict[int, Any], note: Any) -> None:
    raised: BaseException | None = None
    while handlers:
        signum = next(iter(handlers))
        try:
            if signal.getsignal(signum) is note:
                signal.signal(signum, handlers[signum])
            del handlers[signum]
        except BaseException as error:  # noqa: BLE001 -- from a handler that is in its place again
            raised = error
    if raised is not None:
        raise raised


def _watch_forks() -> None:
    global _is_watching  # noqa: PLW0603 -- once in a process
    if not _is_watching and hasattr(os, "register_at_fork"):
        _is_watching = True
        os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


_is_watching = False


def _before_fork() -> None:
    _forking.append(_lock.acquire(timeout=_LONGEST_WAIT_SECONDS))


def _after_in_parent() -> None:
    if _forking.pop():
        _lock.release()


def _after_in_child() -> None:
    global _lock  # noqa: PLW0603 -- where waiting was given up, another thread of the parent holds it
    _lock = threading.RLock()
    _forking.clear()
