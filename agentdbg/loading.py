"""
Load modules late, and yet in one piece; and call what catches more than is its own.

What recording needs is loaded when the first run starts, never later: an import in the middle of a record could be met
by a fork of another thread, whose child would wait for ever for a lock that nobody holds, or by a signal handler, whose
exception some imports swallow (`msgspec` turns Ctrl-C into an ImportError). Inside `undisturbed` neither can happen:
whoever forks waits until the block is left, and handlers of signals are called when it is. Our hooks of a fork are not
for handlers either: Python drops what is raised in one, and the locks that it took would stay held.

The standard library catches what a handler raised in other places too (`pathlib` takes it for an absent file,
`traceback` for a text that cannot be told). `not_swallowed` calls such code, and raises it then all the same.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
import weakref

# The plain functions: those of `signal` make enums of what they give.
from _signal import getsignal, signal, valid_signals  # type: ignore[import-not-found]
from _thread import start_new_thread
from typing import TYPE_CHECKING, Any, TypeVar

from agentdbg.faults import pass_on
from agentdbg.interpreter import frame_above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Result = TypeVar("Result")

__all__ = ["lock_of", "not_swallowed", "put_off_signals_in_forks", "undisturbed"]

# Longer than any import takes. Should two threads wait for each other here, the program goes on all the same.
_LONGEST_WAIT_SECONDS = 20.0
_OUT_OF_THE_HOOKS_SECONDS = 0.002
_SIGNALS = tuple(map(int, valid_signals()))


class _Forks:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.has_lock: list[bool] = []
        """Whether it could be had, for each fork that is under way."""


_forks = _Forks()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Put off forks of other threads, and what signal handlers do. For imports alone: nothing else may wait here."""
    _watch_forks()
    noted: list[int] = []

    def note(signum: int, _: Any) -> None:
        noted.append(signum)

    handlers: dict[int, Any] = {}
    try:
        with _forks.lock:
            try:
                _replace_handlers(handlers, note)
                yield
            finally:
                _give_back(handlers.copy(), note)
    finally:
        for signum in noted:
            handlers[signum](signum, frame_above())  # as the interpreter does


def not_swallowed(work: Callable[..., Result], *given: Any) -> Result:
    """Call `work`; what a handler of signals raised in it is raised, also where something caught it."""
    raised: list[BaseException] = []
    handlers: dict[int, Any] = {}

    def witness(signum: int, frame: Any) -> None:
        try:
            handlers[signum](signum, frame)
        except BaseException as error:
            raised.append(error)
            raise

    try:
        try:
            _replace_handlers(handlers, witness)
            result = work(*given)
        finally:
            _give_back(handlers.copy(), witness)
    except BaseException as error:
        _give_back(handlers.copy(), witness)  # again: the first may have been interrupted before it began
        if not raised or error is raised[0]:
            raise
    if raised:
        raise raised[0]
    return result


def _replace_handlers(handlers: dict[int, Any], note: Any) -> None:
    """Set `note` for each signal that has a handler of Python's; `handlers` gets what was there."""
    if threading.current_thread() is not threading.main_thread():  # handlers never run in another
        return
    try:
        for signum in _SIGNALS:
            handler = getsignal(signum)
            if callable(handler) and handler is not _noop():
                handlers[signum] = handler
                signal(signum, note)
    except ValueError as error:  # an interpreter within another has no handlers
        pass_on(error)


def _noop() -> Any:
    """What asyncio sets where it reads signals itself; it raises nothing, and set anew would interrupt system calls."""
    return getattr(sys.modules.get("asyncio.unix_events"), "_sighandler_noop", None)


def _give_back(handlers: dict[int, Any], note: Any) -> None:
    raised: BaseException | None = None
    while handlers:
        signum = next(iter(handlers))
        try:
            if getsignal(signum) is note:
                signal(signum, handlers[signum])
            del handlers[signum]
        except BaseException as error:  # noqa: BLE001 -- from a handler that is in its place again
            raised = error
    if raised is not None:
        raise raised


def lock_of(owner: Any) -> Any:
    """
    A lock for the `_lock` of an object of which a process has few; each forked child gets a new one.

    A thread that held it when another forked is not in the child, and would never give it back there.
    """
    still_there = weakref.ref(owner)

    def renew() -> None:
        if (owner := still_there()) is not None:
            owner._lock = threading.RLock()  # noqa: SLF001 -- its own, as it asked for

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)
    return threading.RLock()  # re-entrant: a signal handler may call in the middle of it


@functools.cache
def put_off_signals_in_forks() -> None:
    """Once for all forks to come, when all our hooks are set: this one then begins before them and ends after them."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_put_off, after_in_parent=_bring, after_in_child=_bring)


class _PutOff(threading.local):
    """The handlers that a thread which forks has taken away, and what would have called them, in which process."""

    def __init__(self) -> None:
        self.handlers: dict[int, Any] = {}
        self.noted: list[tuple[int, int]] = []

    def note(self, signum: int, _: Any) -> None:
        self.noted.append((os.getpid(), signum))


_put_off_here = _PutOff()
_note = _put_off_here.note


def _put_off() -> None:
    _replace_handlers(_put_off_here.handlers, _note)


def _bring() -> None:
    try:
        _give_back(_put_off_here.handlers, _note)
    finally:
        noted, _put_off_here.noted = _put_off_here.noted, []
        ours = [signum for pid, signum in noted if pid == os.getpid()]
        if ours:
            start_new_thread(_send_again, (ours,))


def _send_again(signals: list[int]) -> None:
    """In a thread of its own, which no handler meets: the one that forked has to be out of the hooks first."""
    time.sleep(_OUT_OF_THE_HOOKS_SECONDS)
    for signum in signals:
        os.kill(os.getpid(), signum)


@functools.cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


def _before_fork() -> None:
    if _forks.lock.acquire(blocking=False):
        _forks.has_lock.append(True)
        return
    # The hook of logging takes a lock too, which imports need: whoever waits for one here must not hold it.
    lock = getattr(sys.modules.get("logging"), "_lock", None)
    try:
        lock.release()  # type: ignore[union-attr]
    except (AttributeError, RuntimeError) as error:  # not held: its hook was set before ours, or is none
        pass_on(error)
        lock = None
    _forks.has_lock.append(_forks.lock.acquire(timeout=_LONGEST_WAIT_SECONDS))
    if lock is not None:
        lock.acquire()


def _after_in_parent() -> None:
    if _forks.has_lock.pop():
        _forks.lock.release()


def _after_in_child() -> None:
    _forks.lock = threading.RLock()  # where waiting was given up, another thread of the parent holds it
    _forks.has_lock.clear()
