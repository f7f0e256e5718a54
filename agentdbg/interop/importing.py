"""
Store a drafted run.

It appears whole or not at all: it is written aside and then moved to its place. Ids are made from the run's identity,
so the same run gets the same ids every time, and one that is here already is left alone.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.interop.run_walk import Ending, RunWalk, stable_id, usable_duration
from agentdbg.recorder.described_errors import describe_error
from agentdbg.storage.layout import index_dir, make_private_folder, run_dir, runs_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.interop.drafts import RunDraft, Step
    from agentdbg.interop.write_context import WriteContext

__all__ = ["NotWritten", "StoredRun", "run_id_of", "stable_id", "store_run", "writing_aside"]


class NotWritten(OSError):
    """The disk did not take the whole run."""


class StoredRun(NamedTuple):
    """A run that is in the data folder; `is_new` is False when it was there before."""

    run_id: str
    run_name: str
    events: int
    is_new: bool


def run_id_of(draft: RunDraft) -> str:
    """The id the run has here, from whatever its format knows it by."""
    return stable_id("run", draft.format, _canonical(draft.identity))


def store_run(draft: RunDraft, context: WriteContext, file_ms: float, origin: dict[str, Any]) -> StoredRun:
    """Write a drafted run into the data folder; `file_ms` is the time of its file, for a run that knows no times."""
    run_id = run_id_of(draft)
    data_dir = context.config.data_dir
    if os.path.lexists(run_dir(data_dir, run_id)):
        return StoredRun(run_id, context.clean_name(draft.name), 0, is_new=False)
    with writing_aside(data_dir, run_id) as folder:
        walk = RunWalk(run_id, draft.name, folder, context)
        _write(walk, draft, file_ms, origin)
    return StoredRun(run_id, walk.name, walk.written, is_new=True)


@contextmanager
def writing_aside(data_dir: Path, run_id: str) -> Iterator[Path]:
    """A folder to write a run into; it becomes the run when all went well, and is gone when not."""
    # Among the caches, because what a killed import leaves there may be deleted by anyone.
    folder = index_dir(data_dir) / f"import-{run_id}-{os.getpid()}"
    try:
        yield folder
        make_private_folder(runs_dir(data_dir))
        try:
            os.rename(folder, run_dir(data_dir, run_id))
        except OSError:
            if not os.path.isdir(run_dir(data_dir, run_id)):  # else another import of the same run was faster
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(walk: RunWalk, draft: RunDraft, file_ms: float, origin: dict[str, Any]) -> None:
    """The draft from its first event to its last."""
    walk.begin(_started_ms(draft, file_ms), {**draft.meta, "imported_from": origin})
    # A parent is often written after its children, so the ids are given out first.
    ids: dict[str, str] = {}
    for number, step in enumerate(draft.steps, 1):
        if step.key is not None:
            ids.setdefault(step.key, stable_id(walk.run_id, str(number)))
    now_ms = walk.started_ms
    for number, step in enumerate(draft.steps, 1):
        # The clock of the run: the step's own time, else what the steps so far took.
        now_ms = step.at_ms if step.at_ms is not None else now_ms + (usable_duration(step.duration_ms) or 0.0)
        parent_id = walk.start_id if step.parent is None else ids.get(step.parent, walk.start_id)
        event_id = None if step.key is None else ids.get(step.key)
        walk.take(step, event_id or stable_id(walk.run_id, str(number)), parent_id, now_ms)
    walk.end(
        Ending(
            at_ms=now_ms if draft.ended_ms is None else draft.ended_ms,
            failure=None if draft.error is None else describe_error(draft.error),
            outcome={} if draft.result is None or draft.error is not None else {"result": draft.result},
        )
    )
    if walk.writer.dropped:
        raise NotWritten(f"the disk did not take {walk.writer.dropped} of its events")


def _started_ms(draft: RunDraft, file_ms: float) -> float:
    if draft.started_ms is not None:
        return draft.started_ms
    timed: list[Step] = [step for step in draft.steps if step.at_ms is not None]
    return min(((step.at_ms or 0.0) - (usable_duration(step.duration_ms) or 0.0) for step in timed), default=file_ms)


def _canonical(identity: Any) -> str:
    """An identity as text that does not depend on the order of keys."""
    import json  # noqa: PLC0415 -- sorted keys, and it takes what strict JSON does not

    return json.dumps(identity, sort_keys=True, ensure_ascii=True, default=str)
