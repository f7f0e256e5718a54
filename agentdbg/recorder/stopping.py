"""
How a stop reaches the program: once as the public exception, then as one that cannot be swallowed.

After a run was stopped, or a span with limits of its own, the first record in each thread or task raises the public
exception. Whoever caught that and went on inside it gets a BaseException the next time. Code that is just cleaning up
after the stop is left alone.
"""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from agentdbg.exceptions import AgentDbgGuardrailExceeded, RunStopped
from agentdbg.faults import pass_on

__all__ = ["STOPPED_IN_A_CHILD", "Stop", "is_stop", "running_task", "stop_fields"]

STOPPED_IN_A_CHILD: dict[str, Any] = {
    "error_type": "AgentDbgGuardrailExceeded",
    "message": "a limit stopped a process that was forked from this one; the ERROR event says which",
    "stack": None,
    "details": None,
}
"""The failure of a run whose stop happened in another of its processes."""


def stop_fields(exceeded: AgentDbgGuardrailExceeded) -> dict[str, Any]:
    """The payload of the ERROR that tells of a stop."""
    return {
        "error_type": type(exceeded).__name__,
        "message": str(exceeded),
        "stack": None,
        "details": None,
        "context": None,
        "fatal": exceeded.span_id is None,
        "guardrail": exceeded.guardrail,
        "threshold": exceeded.threshold,
        "actual": exceeded.actual,
    }


class Stop:
    """The limit that ended a run or a span, and who has been told."""

    def __init__(self, exceeded: AgentDbgGuardrailExceeded) -> None:
        self.exceeded = exceeded
        # The objects, not their ids: a new thread or task often gets the id of one that has ended.
        self._told: weakref.WeakSet[Any] = weakref.WeakSet()

    def public(self) -> AgentDbgGuardrailExceeded:
        """A fresh copy of the public exception, so that the tracebacks of several threads do not mix."""
        exceeded = self.exceeded
        copy = type(exceeded)(exceeded.guardrail, exceeded.threshold, exceeded.actual, str(exceeded))
        copy.run_id, copy.span_id = exceeded.run_id, exceeded.span_id
        return copy

    def instead_of(self, error: BaseException) -> BaseException | None:
        """What the caller should see at the edge in place of `error`; None: `error` itself."""
        if isinstance(error, RunStopped):
            return self.public() if self.is_form(error) else None
        # A task group hands on what its tasks raised; whoever is outside must be able to catch it.
        shown = [self.instead_of(member) for member in _members(error)]
        if all(form is None for form in shown):
            return None
        if self.is_form(error):
            return self.public()
        group: Any = error
        members = zip(group.exceptions, shown, strict=True)
        mixed: BaseException = group.derive([member if form is None else form for member, form in members])
        return mixed

    def raise_here(self, *, was_left: bool) -> None:
        """
        Raise it in this thread or task, unless it is just being handled here.

        Once the span or run was left, nobody stands at its edge to turn the BaseException back.
        """
        if self._is_being_handled():
            return
        place = running_task() or threading.current_thread()
        if was_left or place not in self._told:
            self._told.add(place)
            raise self.public()
        raise RunStopped(self.public())

    def _is_being_handled(self) -> bool:
        error = sys.exc_info()[1]
        for _ in range(100):  # an exception's context can be a ring
            if error is None:
                return False
            if self.is_form(error):
                return True
            error = error.__context__
        return False

    def is_form(self, error: BaseException) -> bool:
        """Whether an exception is this stop, in either of its forms, or a group of nothing else."""
        return is_stop(error, self.exceeded.run_id, self.exceeded.span_id)


def is_stop(error: BaseException, run_id: str | None, span_id: str | None = None) -> bool:
    """Whether this exception is the stop of that run, or of that span in it, in any form."""
    if members := _members(error):
        return all(is_stop(member, run_id, span_id) for member in members)
    public = error.public if isinstance(error, RunStopped) else error
    if not isinstance(public, AgentDbgGuardrailExceeded):
        return False
    return public.run_id is None or (public.run_id == run_id and public.span_id == span_id)  # None: it was pickled


def _members(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group, also of the backport's; Python 3.10 has no such type."""
    members = getattr(error, "exceptions", None)
    return members if isinstance(members, tuple) and hasattr(error, "derive") else ()


def running_task() -> Any:
    """The asyncio task this code runs in, or None; asyncio is not imported to find out."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.current_task()
    except RuntimeError as error:  # no loop runs in this thread
        pass_on(error)
        return None
