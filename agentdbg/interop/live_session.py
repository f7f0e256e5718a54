"""
A session that goes on while it is imported: what comes is added to its run, which readers show as running.

The log is read anew each time it has changed. An answer is written once something follows it, or once the log has been
quiet for a moment, since its parts come one by one. When following ends, the whole session is written once more, as an
import would have written it.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from agentdbg.interop.foreign_run import ForeignRun, stable_id, usable_duration
from agentdbg.interop.importing import discard_run, run_id_of, started_ms
from agentdbg.storage.layout import make_private_folder, run_dir

if TYPE_CHECKING:
    from agentdbg.config import Config
    from agentdbg.interop.drafts import RunDraft, Step

__all__ = ["LiveSession"]

_QUIET_S = 2.0


class LiveSession:
    """One run that grows with its log."""

    def __init__(self, draft: RunDraft, config: Config, origin: dict[str, Any], file_ms: float) -> None:
        self.run_id = run_id_of(draft)
        folder = run_dir(config.data_dir, self.run_id)
        if os.path.lexists(folder):
            discard_run(config.data_dir, self.run_id)
        make_private_folder(folder.parent)
        self._run = ForeignRun(self.run_id, draft.name, str(folder), config, {})
        known = None if draft.cwd is None else {"cwd": draft.cwd}
        # The lowest version there is, so that an import writes it anew, whole.
        meta = {**draft.meta, "imported_from": {**origin, "version": "0"}}
        self._run.begin(started_ms(draft, file_ms), meta, known)
        self._written: Counter[tuple[Any, ...]] = Counter()
        self._now_ms = self._run.started_ms
        self._changed_at = time.monotonic()
        self._waiting: list[Step] = []

    @property
    def written(self) -> int:
        """How many events the run has so far."""
        return self._run.written

    def grow(self, draft: RunDraft) -> int:
        """Write what the draft says beyond what is written; gives how many steps that were."""
        self._changed_at = time.monotonic()
        seen: Counter[tuple[Any, ...]] = Counter()
        new: list[Step] = []
        for step in draft.steps:
            mark = _mark(step)
            seen[mark] += 1
            if seen[mark] > self._written[mark]:
                new.append(step)
        settled = _settled(new)
        self._waiting = new[settled:]
        return self._write(new[:settled])

    def rest(self) -> int:
        """Write what waits, once nothing has come for a moment."""
        if not self._waiting or time.monotonic() - self._changed_at < _QUIET_S:
            return 0
        waiting, self._waiting = self._waiting, []
        return self._write(waiting)

    def let_go(self) -> None:
        """Stop writing; the run is left as it is."""
        self._run.flush()
        self._run.let_go()

    def _write(self, steps: list[Step]) -> int:
        for step in steps:
            mark = _mark(step)
            self._written[mark] += 1
            self._now_ms = (
                step.at_ms if step.at_ms is not None else self._now_ms + (usable_duration(step.duration_ms) or 0.0)
            )
            if step.event_type == "CALL_START":
                step.fields["call_id"] = self._id(step.fields["call_id"])
            parent_id = self._run.start_id if step.parent is None else self._id(step.parent)
            unkeyed = stable_id(self.run_id, "live", str(self._run.written))
            event_id = unkeyed if step.key is None or self._written[mark] > 1 else self._id(step.key)
            self._run.take(step, event_id, parent_id, self._now_ms)
        if steps:
            self._run.flush()
            self._run.refresh()
        return len(steps)

    def _id(self, key: str) -> str:
        return stable_id(self.run_id, "key", key)


def _mark(step: Step) -> tuple[Any, ...]:
    """What a step is known by from one reading of the log to the next."""
    return step.event_type, step.name, step.key or step.meta.get("source_id"), None if step.key else step.at_ms


def _settled(steps: list[Step]) -> int:
    """How many of these will not change any more: all, but for an answer at the end and the calls it asks for."""
    place = len(steps)
    while place and steps[place - 1].event_type in ("CALL_START", "LLM_CALL"):
        place -= 1
    return place
