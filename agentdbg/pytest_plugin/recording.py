"""
Record one test as one run, in a folder of its own.

The run belongs to the whole process while the test runs, so that threads, event loops and callbacks, whoever made them
and whenever, record into it. A traced function with limits of its own makes a run of its own, as it would without us.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentdbg.exceptions import UsageError
from agentdbg.recorder.context import Scope, enter_scope, own_scope, process_scope, set_process_scope
from agentdbg.recorder.run_lifecycle import end_run, start_run, whole_program

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Recording"]

_DATA_DIR = "AGENTDBG_DATA_DIR"


class Recording:
    """A run that is being recorded, from `Recording(...)` to `close`."""

    def __init__(self, name: str, data_dir: Path, earlier: frozenset[str] = frozenset()) -> None:
        self.data_dir = data_dir
        self.earlier = earlier
        """The runs of this test's earlier examples."""
        self._data_dir_before = os.environ.get(_DATA_DIR)
        # Children of the test, and runs of their own, go to the same folder.
        os.environ[_DATA_DIR] = str(data_dir)
        with whole_program():
            scope = start_run(name, name, {}, {}, {"environment": "test", "test": name})
        if scope is None:
            self.restore_environment()
            raise UsageError(
                "this test needs its run recorded, and recording is switched off; "
                "unset AGENTDBG_ENABLED, or see what `agentdbg doctor` says"
            )
        self._scope: Scope = scope
        self._process_scope_before = process_scope()
        self._own_scope_before = own_scope()
        set_process_scope(scope)
        scope.run.holds_requests = True
        if self._own_scope_before is not None:
            enter_scope(None)  # a run around all tests would otherwise get what belongs to this one

    @property
    def run_id(self) -> str:
        return self._scope.run.run_id

    @property
    def is_open(self) -> bool:
        return not self._scope.run.closed

    def public_form(self, error: BaseException) -> BaseException | None:
        """What a person should see in place of `error`, if a limit stopped the run."""
        return self._scope.run.budget.public_form(error)

    def close(self, error: BaseException | None = None) -> None:
        """End the run, as error when an exception ended the test. The second time does nothing."""
        if not self.is_open:
            return
        end_run(self._scope.run, error)
        set_process_scope(self._process_scope_before)
        if self._own_scope_before is not None:
            enter_scope(self._own_scope_before)
        self.restore_environment()

    def restore_environment(self) -> None:
        """Give the environment its data folder back, also when somebody has put ours there again since."""
        if os.environ.get(_DATA_DIR) != str(self.data_dir):
            return
        if self._data_dir_before is None:
            os.environ.pop(_DATA_DIR, None)
        else:
            os.environ[_DATA_DIR] = self._data_dir_before
