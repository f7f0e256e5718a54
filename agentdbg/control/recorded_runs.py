"""
Open what is to be replayed: a run of the data folder, or a file with a recording in it. Says why when it cannot be.
"""

from __future__ import annotations

import json
import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.bounded.files import read_start
from agentdbg.control.tapes import RecordedRun
from agentdbg.events import REDACTED
from agentdbg.exceptions import UsageError
from agentdbg.index.follow import last_events
from agentdbg.index.run_index import load_run_meta
from agentdbg.storage.layout import run_dir
from agentdbg.storage.lines import is_too_long, iter_lines
from agentdbg.storage.reader import find_run
from agentdbg.tape.tape_reader import TapeReader, find_tape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CannotReplay", "Opened", "calls_ours", "open_recorded", "recorded_words"]

_MOST_RUNS_LOOKED_AT = 2_000
_FORMAT = 1


class CannotReplay(UsageError):
    """There is nothing that could be replayed; the message says why and what to do."""


class Opened:
    """The recorded runs of one process, the one that was asked for, and whether they were made here."""

    def __init__(self, main: RecordedRun, others: list[RecordedRun], *, is_own: bool, place: str) -> None:
        self.main = main
        self.runs = sorted([main, *others], key=lambda run: float(run.tape.head.get("started") or 0))
        self.is_own = is_own
        """Whether the tape proves that it was made in this data folder: only then is the program it names run."""
        self.place = place

    @property
    def head(self) -> Mapping[str, Any]:
        """What the tape says of the program."""
        return self.main.tape.head

    @property
    def argv(self) -> list[str] | None:
        """The recorded command line; None when it cannot be run as it stands."""
        return _whole_argv(self.head)

    def close(self) -> None:
        """Give the files back."""
        for run in self.runs:
            run.tape.close()


def _whole_argv(head: Mapping[str, Any]) -> list[str] | None:
    argv = head.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        return None
    return None if any(REDACTED in word for word in argv) else argv


def calls_ours(head: Mapping[str, Any]) -> bool:
    """Whether what was recorded is a function of ours, as by `agentdbg demo`; it then is the program."""
    call = head.get("call")
    return isinstance(call, dict) and str(call.get("function")).startswith("agentdbg.")


def recorded_words(head: Mapping[str, Any], place: str) -> list[str]:
    """The command line that a tape names, where it can be run as it stands. Raises CannotReplay."""
    argv = _whole_argv(head)
    if argv is None:
        raise CannotReplay(
            f"the command line of {place} was redacted; name the program: agentdbg replay {place} -- agent.py …"
        )
    if isinstance(module := head.get("module"), str) and module:
        return argv
    if argv[0] in ("", "-c", "-"):
        raise CannotReplay(
            f"there is no program to run: {place} was recorded in an interactive session or with `python -c`;"
            f" name a script: agentdbg replay {place} -- agent.py"
        )
    cwd = head.get("cwd")
    if not os.path.exists(os.path.join(cwd if isinstance(cwd, str) else "", argv[0])):
        raise CannotReplay(
            f"the script {argv[0]!r} of {place} is gone (it was run in {cwd});"
            f" name it: agentdbg replay {place} -- path/to/agent.py"
        )
    return argv


def open_recorded(wanted: str, data_dir: Path, *, with_others: bool = False) -> Opened:
    """
    Open a run by its id, a unique prefix, `latest`, or by the path of a file. Raises CannotReplay and others.

    `with_others` opens all runs of its process: whoever runs the whole program again needs them.
    """
    path = Path(wanted)
    if wanted.endswith((".jsonl", ".jsonl.gz", ".json")) or (os.sep in wanted and path.exists()):
        return _open_file(path)
    run_id = find_run(wanted, data_dir)
    main = _open_run(run_id, data_dir)
    same = _same_process(main, data_dir) if with_others else ()
    others = [_open_run(other, data_dir) for other in same if other != run_id]
    return Opened(main, others, is_own=main.tape.is_from(data_dir), place=run_id[:8])


def _open_run(run_id: str, data_dir: Path) -> RecordedRun:
    folder = run_dir(data_dir, run_id)
    meta = dict(load_run_meta(run_id, data_dir))
    path = find_tape(folder)
    if path is None:
        inside = sorted(_runs_inside(run_id, data_dir))
        if inside:
            count = len(inside) - 1
            others = f"; that replays the other{f' {count}' if count > 1 else ''} too" if count else ""
            raise CannotReplay(
                f"run {run_id[:8]} made no call by itself: its calls are in runs of their own."
                f" Replay the first: agentdbg replay {inside[0][1][:8]}{others}"
            )
        raise CannotReplay(f"run {run_id[:8]} has no tape, so it cannot be replayed: {_why_no_tape(meta)}")
    tape = _checked(TapeReader(path), run_id[:8])
    events, _ = last_events(str(folder), run_id)
    end = next((event["payload"] for event in reversed(events) if event["event_type"] == "RUN_END"), None)
    return RecordedRun(tape, meta, end)


def _open_file(path: Path) -> Opened:
    if not path.is_file():
        raise CannotReplay(f"there is no file {str(path)!r}; give a run's id or the path of a recording")
    tape = _checked(TapeReader(path), path.name)
    meta: dict[str, Any] = {}
    end: dict[str, Any] | None = None
    for event in _events_in(path):
        payload = event.get("payload")
        if event.get("event_type") == "RUN_START" and isinstance(payload, dict) and not meta:
            meta = {"run_id": event.get("run_id"), "run_name": payload.get("run_name")}
        elif event.get("event_type") == "RUN_END" and isinstance(payload, dict):
            end = payload
            summary = payload.get("summary")
            meta |= summary if isinstance(summary, dict) else {}
    return Opened(RecordedRun(tape, meta, end), [], is_own=False, place=str(path))


def _events_in(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for _, line in iter_lines(file):
            if line is None or is_too_long(line):
                continue
            if line.startswith(b'{"spec_version"') and (b'"RUN_START"' in line[:300] or b'"RUN_END"' in line[:300]):
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict):
                    yield event


def _checked(tape: TapeReader, shown: str) -> TapeReader:
    version = tape.head.get("tape")
    if not tape.head:
        tape.close()
        raise CannotReplay(f"the tape of {shown} has no head, so it cannot be replayed; it is damaged, or no tape")
    if version != _FORMAT:
        tape.close()
        raise CannotReplay(
            f"the tape of {shown} is in format {version!r}, this version reads {_FORMAT}; upgrade agentdbg"
        )
    return tape


def _why_no_tape(meta: Mapping[str, Any]) -> str:
    replay = meta.get("replay")
    why = replay.get("why") if isinstance(replay, dict) else None
    metadata = meta.get("metadata")
    if isinstance(metadata, dict) and ("imported_from" in metadata or "source" in metadata):
        return "it was imported; only runs that agentdbg recorded have one"
    if isinstance(replay, dict) and replay.get("state") == "none" and why is None:
        return "it made no call that could be replayed"
    if why is None and replay is None:
        return "it was recorded by an older agentdbg; record it again"
    if why is None:
        return "its tape was deleted, or dropped because it was old (tape_days); record it again"
    return f"{why}"


def _same_process(main: RecordedRun, data_dir: Path) -> Iterator[str]:
    """The ids of the runs that the same process recorded."""
    process = main.tape.head.get("process")
    if not isinstance(process, str):
        return
    for folder in _newest_runs(data_dir):
        try:
            if process.encode() in read_start(folder / "tape.jsonl", 8_192):
                yield folder.name
        except OSError:
            continue


def _runs_inside(run_id: str, data_dir: Path) -> Iterator[tuple[str, str]]:
    """When the runs began that say that they were made inside this one and have a tape, and their ids."""
    for folder in _newest_runs(data_dir):
        if find_tape(folder) is not None:
            meta = load_run_meta(folder.name, data_dir)
            if (meta.get("metadata") or {}).get("parent_run_id") == run_id:
                yield str(meta.get("started_at")), folder.name


def _newest_runs(data_dir: Path) -> Iterator[Path]:
    entries = sorted(os.scandir(data_dir / "runs"), key=lambda entry: -entry.stat(follow_symlinks=False).st_mtime)
    return (Path(entry.path) for entry in islice(entries, _MOST_RUNS_LOOKED_AT))
