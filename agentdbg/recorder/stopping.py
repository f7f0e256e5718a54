"""
How a stop reaches the program: once as the public exception, then as one that cannot be swallowed.

After a run was stopped, the first record in each thread or task raises the public exception. Whoever caught that and
went on gets a BaseException the next time. Code that is just cleaning up after the stop is left alone.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from agentdbg.exceptions import AgentDbgGuardrailExceeded, RunStopped

__all__ = ["Stop", "is_stop", "running_task"]


class Stop:
    """The limit that ended a run, and who has been told."""

    def __init__(self, exceeded: AgentDbgGuardrailExceeded, run_id: str) -> None:
        self.exceeded = exceeded
        self._run_id = run_id
        self._told: set[int] = set()

    def public(self) -> AgentDbgGuardrailExceeded:
        """A fresh copy of the public exception, so that the tracebacks of several threads do not mix."""
        exceeded = self.exceeded
        copy = type(exceeded)(exceeded.guardrail, exceeded.threshold, exceeded.actual, str(exceeded))
        copy.run_id = self._run_id
        return copy

    def raise_here(self) -> None:
        """Raise it in this thread or task, unless it is just being handled here."""
        if self._is_being_handled():
            return
        task = running_task()
        place = threading.get_ident() if task is None else id(task)
        if place not in self._told:
            self._told.add(place)
            raise self.public()
        raise RunStopped(self.public())

    def _is_being_handled(self) -> bool:
        error = sys.exc_info()[1]
        for _ in range(100):  # an exception's context can be a ring
            if error is None:
                return False
            if is_stop(error, self._run_id):
                return True
            error = error.__context__
        return False


def is_stop(error: BaseException, run_id: str) -> bool:
    """Whether this exception is the stop of that run, in either of its forms."""
    public = error.public if isinstance(error, RunStopped) else error
    return isinstance(public, AgentDbgGuardrailExceeded) and public.run_id in (run_id, None)


def running_task() -> Any:
    """The asyncio task this code runs in, or None; asyncio is not imported to find out."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None
