"""
Store a drafted run.

It appears whole or not at all: it is written aside and then moved to its place. Ids are made from the run's identity,
so the same run gets the same ids every time, and one that is here already is left alone.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.interop.foreign_run import Ending, ForeignRun, stable_id, usable_duration
from agentdbg.interop.shapes import as_dict, as_word
from agentdbg.recorder.described_errors import describe_error
from agentdbg.recorder.run_log import redactor_of
from agentdbg.storage.layout import LABEL_FILE, index_dir, make_private_folder, run_dir, runs_dir
from agentdbg.storage.runfile import read_object

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.config import Config
    from agentdbg.interop.drafts import RunDraft, Step
    from agentdbg.interop.foreign_run import Names

__all__ = [
    "EventIds",
    "NotWritten",
    "StoredRun",
    "discard_run",
    "event_ids",
    "run_id_of",
    "stable_id",
    "started_ms",
    "store_run",
    "writing_aside",
]


class NotWritten(OSError):
    """The disk did not take the whole run."""


class StoredRun(NamedTuple):
    """A run that is in the data folder; `is_new` is False when it was there before."""

    run_id: str
    run_name: str
    events: int
    is_new: bool
    is_longer: bool = False
    """Whether less of it was here before."""


def run_id_of(draft: RunDraft) -> str:
    """The id the run has here, from whatever its format knows it by."""
    return stable_id("run", draft.format, _canonical(draft.identity))


def store_run(draft: RunDraft, config: Config, names: Names, file_ms: float, origin: dict[str, Any]) -> StoredRun:
    """Write a drafted run into the data folder; `file_ms` is the time of its file, for a run that knows no times."""
    run_id = run_id_of(draft)
    data_dir = config.data_dir
    place = run_dir(data_dir, run_id)
    is_here = os.path.lexists(place)
    if is_here and not _has_grown(draft, place):
        return StoredRun(run_id, redactor_of(config).clean_text(draft.name), 0, is_new=False)
    with writing_aside(data_dir, run_id, replace=is_here) as folder:
        walk = ForeignRun(run_id, draft.name, str(folder), config, names)
        _write(walk, draft, file_ms, origin)
    return StoredRun(run_id, walk.name, walk.written, is_new=True, is_longer=is_here)


def _has_grown(draft: RunDraft, place: Path) -> bool:
    """Whether the draft tells more of its run than what is stored of it."""
    if not draft.version:
        return False
    stored = read_object(str(place / "run.json"))
    origin = as_dict(as_dict(as_dict(stored).get("metadata")).get("imported_from"))
    known = as_word(origin.get("version"))
    return bool(known) and len(known) <= len(draft.version) and known < draft.version


@contextmanager
def writing_aside(data_dir: Path, run_id: str, *, replace: bool = False) -> Iterator[Path]:
    """
    A folder to write a run into; it becomes the run when all went well, and is gone when not.

    With `replace` it takes the place of the run that is there, under the name a user gave that one.
    """
    # Among the caches, because what a killed import leaves there may be deleted by anyone.
    folder = index_dir(data_dir) / f"import-{run_id}-{os.getpid()}"
    try:
        yield folder
        make_private_folder(runs_dir(data_dir))
        if replace:
            _move_away(run_dir(data_dir, run_id), folder)
        try:
            os.rename(folder, run_dir(data_dir, run_id))
        except OSError:
            if not os.path.isdir(run_dir(data_dir, run_id)):  # else another import of the same run was faster
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def discard_run(data_dir: Path, run_id: str) -> None:
    """Take a stored run away; what writes it anew follows."""
    gone = index_dir(data_dir) / f"import-{run_id}-{os.getpid()}-old"
    make_private_folder(gone.parent)
    os.rename(run_dir(data_dir, run_id), gone)
    shutil.rmtree(gone, ignore_errors=True)


def _move_away(old: Path, new: Path) -> None:
    label = old / LABEL_FILE
    if label.is_file() and not label.is_symlink():
        shutil.copy2(label, new / LABEL_FILE)
    gone = new.with_name(new.name + "-old")
    os.rename(old, gone)
    shutil.rmtree(gone, ignore_errors=True)


def _write(walk: ForeignRun, draft: RunDraft, file_ms: float, origin: dict[str, Any]) -> None:
    """The draft from its first event to its last."""
    known = None if draft.cwd is None else {"cwd": draft.cwd}
    walk.begin(started_ms(draft, file_ms), {**draft.meta, "imported_from": origin}, known)
    ids = event_ids(walk.run_id, draft.steps)
    now_ms = ended_ms = walk.started_ms
    for step, event_id in zip(draft.steps, ids.of_steps, strict=True):
        # The clock of the run: the step's own time, else what the steps so far took.
        now_ms = step.at_ms if step.at_ms is not None else now_ms + (usable_duration(step.duration_ms) or 0.0)
        ended_ms = max(ended_ms, now_ms)
        if step.event_type == "CALL_START":
            step.fields["call_id"] = stable_id(walk.run_id, "key", step.fields["call_id"])
        parent_id = walk.start_id if step.parent is None else ids.by_key.get(step.parent, walk.start_id)
        walk.take(step, event_id, parent_id, now_ms)
    walk.end(
        Ending(
            at_ms=ended_ms if draft.ended_ms is None else draft.ended_ms,
            failure=None if draft.error is None else describe_error(draft.error),
            outcome={} if draft.result is None or draft.error is not None else {"result": draft.result},
        )
    )
    if walk.dropped:
        raise NotWritten(f"the disk did not take {walk.dropped} of its events")


class EventIds(NamedTuple):
    """The ids that the steps of a run get."""

    of_steps: list[str]
    by_key: dict[str, str]


def event_ids(run_id: str, steps: list[Step]) -> EventIds:
    """Ids for all steps, given out at once: a parent is often written after its children."""
    of_steps: list[str] = []
    by_key: dict[str, str] = {}
    for number, step in enumerate(steps, 1):
        if step.key is None or step.key in by_key:
            of_steps.append(stable_id(run_id, str(number)))
        else:
            by_key[step.key] = stable_id(run_id, "key", step.key)
            of_steps.append(by_key[step.key])
    return EventIds(of_steps, by_key)


def started_ms(draft: RunDraft, file_ms: float) -> float:
    """When a drafted run began: as it says, else as its first step says, else as its file does."""
    if draft.started_ms is not None:
        return draft.started_ms
    timed: list[Step] = [step for step in draft.steps if step.at_ms is not None]
    return min(((step.at_ms or 0.0) - (usable_duration(step.duration_ms) or 0.0) for step in timed), default=file_ms)


def _canonical(identity: Any) -> str:
    """An identity as text that does not depend on the order of keys."""
    # Sorted keys, and it takes what strict JSON does not.
    return json.dumps(identity, sort_keys=True, ensure_ascii=True, default=str)
