"""
Runs that begin with the first thing that is recorded in them: a web server answers many requests of which few ask a
model, and those that do not leave nothing.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agentdbg.events import new_id
from agentdbg.recorder.context import Scope, current_scope, live_runs
from agentdbg.recorder.run_lifecycle import end_run, run_without_events, start_run

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LazyRun"]

_UNTIL_BEGUN = ("run", "parent_id", "budget")


class LazyRun(Scope):
    """
    A place in a run that begins when somebody records there.

    The three facts of a place that need a run are missing until then; whoever asks for one of them lets it begin.
    Inside a run that is open and holds what happens in it, there is no run of its own: `is_wanted` says so.
    """

    __slots__ = ("_given", "_has_begun", "_is_over", "_lock", "_run_id")

    def __init__(self, name: str, meta: Mapping[str, Any]) -> None:
        around = current_scope()
        is_linked = around is not None and around.is_open and not isinstance(around, LazyRun)
        parent = {"parent_run_id": around.run_id} if around is not None and is_linked else {}
        self._base, self.llm_id, self.followers = None, None, None
        self._given = (name, {**parent, **meta})
        self._has_begun = self._is_over = False
        self._lock = threading.RLock()
        self._run_id = new_id()

    @staticmethod
    def is_wanted() -> bool:
        """Whether what begins here is a run of its own, and no part of one that somebody has begun around it."""
        around = current_scope()
        if around is None or not around.is_open:
            return True
        return not isinstance(around, LazyRun) and around.run.is_process_wide and not around.run.holds_requests

    @property
    def run_id(self) -> str:
        """The id that the run has, or would have."""
        return self._run_id

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return not self._is_over

    def __getattr__(self, name: str) -> Any:
        if name not in _UNTIL_BEGUN:
            raise AttributeError(name)
        with self._lock:
            if not self._has_begun:  # else another thread was faster
                self._begin()
        return object.__getattribute__(self, name)

    def _begin(self) -> None:
        name, meta = self._given
        scope = None if self._is_over else start_run(name, name, {}, {}, meta, self._run_id)
        self.run = run_without_events(self._run_id, name) if scope is None else scope.run
        self.budget, self.parent_id = self.run.budget, self.run.start_id
        self._has_begun = True

    def end(self, error: BaseException | None = None, outcome: Mapping[str, Any] | None = None) -> BaseException | None:
        """End the run if it has begun. Gives what its caller should see in place of `error`, if anything."""
        with self._lock:
            self._is_over = True
            run = live_runs.get(self._run_id)
        if run is None:
            return None
        instead = run.budget.public_form(error) if error is not None and run.is_ours() else None
        end_run(run, error if instead is None else instead, outcome)
        return instead
