"""
What came of a replay, kept in the run.json of the runs that it made: so that every reader of them can say it.

Only where it diverged is kept, and no value: the recorded and the new input stand in the two runs.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.storage.layout import RUN_FILE, replace_file, run_dir
from agentdbg.storage.runfile import read_object

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.control.divergence import Divergence
    from agentdbg.control.replayed_run import ReplayedRun
    from agentdbg.control.session import Session
    from agentdbg.redaction import Redactor

__all__ = ["keep_verdicts"]


def keep_verdicts(session: Session, data_dir: Path, redactor: Redactor) -> None:
    """Let run.json of every run of this replay say how it went; one that cannot be read or written is left alone."""
    for run in session.runs:
        if run.run_id:
            path = run_dir(data_dir, run.run_id) / RUN_FILE
            with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
                meta = read_object(str(path)) or {}
                is_fork = meta["replay"].get("mode") == "fork"  # which is not to be equal
                counts = {name: run.counts[name] for name in ("served", "edited", "mock", "live")}
                meta["replay"] = {**meta["replay"], **(counts if is_fork else _verdict(session, run, redactor))}
                replace_file(path, encode_json(meta) + b"\n")


def _verdict(session: Session, run: ReplayedRun, redactor: Redactor) -> dict[str, Any]:
    own = {call.event_id for call in run.recorded.recording.calls}
    found = [one for one in session.divergences if one.event_id is None or one.event_id in own]
    first = session.stopped if session.stopped in found else None
    first = first or min(found, key=lambda one: one.in_recorded_order, default=None)
    reached = session.reached
    return {
        "parent_run_id": run.recorded.run_id,
        "equal": all(one.is_harmless for one in found),
        "divergence": None if first is None else _place(first, redactor),
        "until": None if reached is None else reached.number,
        "served": run.counts["served"],
        "live": run.counts["live"],
    }


def _place(first: Divergence, redactor: Redactor) -> dict[str, Any]:
    told = first.to_json()
    kept = {key: told[key] for key in ("class", "n", "event_id", "name", "source", "what")}
    kept["path"] = first.differences[0].path if first.differences else None
    texts = {key: redactor.clean_text(kept[key]) for key in ("name", "source", "what", "path") if kept[key]}
    return {**kept, **texts, "of": first.total or None}
