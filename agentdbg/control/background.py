"""
Calls that come behind the recorded ones of a thread or task that works in the background.

Such a one goes on until the program ends: a daemon thread that polls, a task that shows that the agent is alive. Where
the recording ended is chance for it, so a call more of it is no difference yet. It is held until the program has ended,
or nothing else moves any more: then the program waits for it, and it is one that the recording does not have.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from agentdbg.control.gate import real_sleep, running_loop
from agentdbg.recorder.stopping import running_task

if TYPE_CHECKING:
    from agentdbg.control.session import Session
    from agentdbg.recorder.deciders import AnnouncedCall

__all__ = ["Background", "let_others_end"]

_LOOK_AGAIN_S = 0.005
_PATIENCE_S = 2.0
_PATIENCE_AT_THE_END_S = 0.5
"""When all that was recorded has been made, and the program does nothing but end."""
_PATIENCE_WITH_THREADS_S = 0.3


def _is_in_background() -> bool:
    """Whether what runs here may be left behind when the program ends."""
    return running_task() is not None or threading.current_thread().daemon


class Background:
    """The calls that are held."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held: dict[str, bool] = {}
        """By call: whether it is held just now."""

    def take(self, call: AnnouncedCall) -> bool:
        """Whether the call is to be held: `wait` says later what becomes of it."""
        if not call.can_answer or call.call_id in self._held or not _is_in_background():
            return False
        self._held[call.call_id] = True
        return True

    def is_held(self, call: AnnouncedCall) -> bool:
        """Whether the call waits to be judged."""
        return self._held.get(call.call_id, False)

    def wait(self, call: AnnouncedCall) -> None:
        """Wait until it can be judged. A thread that runs an event loop cannot."""
        began = time.monotonic()
        while running_loop() is None and not self._is_enough(began):
            real_sleep(_LOOK_AGAIN_S)
        self._held[call.call_id] = False

    async def wait_async(self, call: AnnouncedCall) -> None:
        """Do the same where the call is awaited."""
        began, loop = time.monotonic(), running_loop()
        while not self._is_enough(began):
            later = loop.create_future()
            loop.call_later(_LOOK_AGAIN_S, lambda made=later: made.done() or made.set_result(None))
            await later
        self._held[call.call_id] = False

    def _is_enough(self, began: float) -> bool:
        session = self._session
        if session.is_over or session.stopped is not None or session.is_live:
            return True
        gates = [run.gate for run in session.runs if run.run_id]
        patience = _PATIENCE_AT_THE_END_S if all(gate.is_through for gate in gates) else _PATIENCE_S
        return min((gate.still_for(began) for gate in gates), default=patience) >= patience


def let_others_end(session: Session) -> None:
    """The program has ended: let its daemon threads make the calls that had ended before it did."""
    began = time.monotonic()
    while any(thread.daemon for thread in threading.enumerate()) and _is_any_left(session):
        gates = [run.gate for run in session.runs if run.run_id]
        if min((gate.still_for(began) for gate in gates), default=1.0) >= _PATIENCE_WITH_THREADS_S:
            return
        real_sleep(_LOOK_AGAIN_S)


def _is_any_left(session: Session) -> bool:
    if session.stopped is not None or session.is_live or session.reached is not None:
        return False
    return any(run.run_id and not run.gate.is_through for run in session.runs)
