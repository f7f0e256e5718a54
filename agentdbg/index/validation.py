"""
Check whether a stored run is what the trace format says: every line by its schema, and the whole by what must agree.

What readers understand is no problem. An older or looser form (`finish_reason`, an error that is only a text, a field
that was left out) is a note: it says what a newer writer would store. A line that is no event, a value that readers
have to drop, an id given twice, a parent that does not exist, events after the end and counters that are not the
events' are problems. What a run that is still being recorded has not written yet is none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json
from agentdbg.events import MAX_LINE_BYTES, SPEC_VERSION
from agentdbg.schemas import event_problems, run_problems
from agentdbg.storage.dialects import DamagedLine, parse_event, parse_timestamp
from agentdbg.storage.layout import RUN_FILE
from agentdbg.storage.lines import iter_lines, open_events, read_regular
from agentdbg.storage.runfile import rebuild_run, run_from_json
from agentdbg.tape.tape_check import tape_problems
from agentdbg.tape.tape_reader import TapeDamaged, find_tape

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Problem", "RunCheck"]

_LARGEST_RUN_JSON = 2_000_000
_MOST_OF_ONE_EVENT = 5
_MOST_NOTES = 1_000
_LONGEST = 300
_ANY_ID = "00000000-0000-4000-8000-000000000000"
_COMPARED = ("status", "counts", "event_counts", "total_tokens")


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be. `line` counts from 1 in events.jsonl; None is about the whole run."""

    kind: str
    """`damaged`: no JSON; `schema`: wrong shape; `integrity`: parts that disagree; `tape`; `note`: an older form."""
    line: int | None
    sentence: str

    def as_json(self) -> dict[str, Any]:
        """The problem as plain JSON."""
        return {"kind": self.kind, "line": self.line, "problem": self.sentence}


class RunCheck:
    """
    One strict look at the run in a folder. `problems` finds them one after another; afterwards `lines` and `events`
    say how much there is, and `notes` what is in an older form (the first thousand of them).
    """

    def __init__(self, folder: str | Path, run_id: str, *, is_running: bool = False) -> None:
        self.lines = 0
        self.events = 0
        self.notes: list[Problem] = []
        self._folder = os.fspath(folder)
        self._run_id = run_id
        self._is_running = is_running
        self._ids: set[str] = set()
        self._parents: dict[str, int] = {}
        self._open_calls: dict[str, int] = {}
        self._end_line: int | None = None
        self._is_end_told = False

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong, in the order of the file, what concerns the whole run at the end."""
        file = open_events(self._folder)
        if file is None:
            yield Problem("integrity", None, "there is no events.jsonl")
        else:
            with file:
                for _, line in iter_lines(file):
                    self.lines += 1
                    yield from self._line(line)
            yield from self._links()
        yield from self._run_json()
        yield from self._tape()

    def _tape(self) -> Iterator[Problem]:
        path = find_tape(Path(self._folder))
        if path is None:
            return
        try:
            for sentence in tape_problems(path, self._run_id, self._ids, is_whole=self._end_line is not None):
                yield Problem("tape", None, _cut(sentence))
        except TapeDamaged as error:
            yield Problem("tape", None, _cut(str(error)))

    def _line(self, line: bytes | None) -> Iterator[Problem]:
        if line is not None and not line.strip():
            yield Problem("damaged", self.lines, "the line is empty")
            return
        if line is None or len(line) + 1 > MAX_LINE_BYTES:
            yield Problem("damaged", self.lines, f"the line is longer than {MAX_LINE_BYTES:,} bytes")
            if line is None:
                return
        try:
            event = decode_json(line)
        except ValueError as error:
            yield Problem("damaged", self.lines, _cut(f"the line is not JSON: {error}"))
            return
        if not isinstance(event, dict):
            yield Problem("damaged", self.lines, f"the line is a JSON {type(event).__name__}, not an object")
            return
        self.events += 1
        for sentence in self._shape_problems(event, line):
            yield Problem("schema", self.lines, _cut(sentence))
        yield from self._place(event)

    def _shape_problems(self, event: dict[str, Any], line: bytes) -> list[str]:
        """What readers cannot make sense of; what they can, though newer writers would store it otherwise, is noted."""
        try:
            read: dict[str, Any] = {**parse_event(line, self._run_id)}
        except DamagedLine as error:
            return [str(error)]
        problems = [*_lost_values(event), *event_problems({**read, **_usual_marks(read)}, may_lack_fields=True)]
        if not problems:
            self._note(self.lines, event_problems(event) or _older_forms(event, read))
        return problems[:_MOST_OF_ONE_EVENT]

    def _note(self, line: int | None, sentences: list[str]) -> None:
        for sentence in sentences[: min(_MOST_OF_ONE_EVENT, _MOST_NOTES - len(self.notes))]:
            self.notes.append(Problem("note", line, _cut(sentence)))

    def _place(self, event: dict[str, Any]) -> Iterator[Problem]:
        """What is wrong between this event and those before it."""
        event_id, event_type = event.get("event_id"), event.get("event_type")
        if event.get("run_id") not in (self._run_id, None):
            yield self._disagreement(f"the event is of run {_cut(str(event['run_id']))}")
        if isinstance(event_id, str):
            if event_id in self._ids:
                yield self._disagreement(f"the id {_cut(event_id)} was given before")
            self._ids.add(event_id)
            self._open_calls.pop(event_id, None)
        if (event_type == "RUN_START") != (self.events == 1):
            yield self._disagreement(
                "the run begins a second time" if self.events > 1 else "the first event is not RUN_START"
            )
        if self._end_line is not None and not self._is_end_told:
            self._is_end_told = True
            yield self._disagreement(f"there is more after RUN_END, which is line {self._end_line}")
        if event_type == "RUN_END":
            self._end_line = self._end_line or self.lines
        parent_id, payload = event.get("parent_id"), event.get("payload")
        if isinstance(parent_id, str):
            self._parents.setdefault(parent_id, self.lines)
        if event_type == "CALL_START" and isinstance(payload, dict) and isinstance(payload.get("call_id"), str):
            self._open_calls[payload["call_id"]] = self.lines

    def _links(self) -> Iterator[Problem]:
        """What only the end of the file can tell."""
        if self._end_line is None:
            if not self._is_running:
                yield Problem("integrity", None, "the run was never closed: there is no RUN_END")
            return
        for call_id, line in self._open_calls.items():
            yield Problem("integrity", line, f"the call {_cut(call_id)} began here and has no end")
        for parent_id, line in self._parents.items():
            if parent_id not in self._ids and parent_id not in self._open_calls:
                yield Problem("integrity", line, f"the parent {_cut(parent_id)} does not exist")

    def _run_json(self) -> Iterator[Problem]:
        try:
            said = decode_json(read_regular(os.path.join(self._folder, RUN_FILE), _LARGEST_RUN_JSON))
        except (OSError, ValueError):
            yield Problem("integrity", None, "there is no run.json that can be read; it is rebuilt from the events")
            return
        sentences = [f"run.json: {sentence}" for sentence in run_problems(said)[:_MOST_OF_ONE_EVENT]]
        if isinstance(said, dict) and run_from_json(said, self._run_id) is not None:
            self._note(None, sentences)
        else:
            yield from (Problem("schema", None, _cut(sentence)) for sentence in sentences)
        if self._is_running or self._end_line is None or not isinstance(said, dict):
            return
        counted: dict[str, Any] = {**rebuild_run(self._folder, self._run_id)}
        for key in _COMPARED:
            if key in said and said[key] != counted.get(key):
                yield Problem(
                    "integrity", None, _cut(f"run.json says {key} is {said[key]}, the events say {counted.get(key)}")
                )

    def _disagreement(self, sentence: str) -> Problem:
        return Problem("integrity", self.lines, sentence)


def _lost_values(event: dict[str, Any]) -> list[str]:
    """What stands in the envelope and cannot be read at all, so that readers do without it."""
    lost = []
    if parse_timestamp(event.get("ts")) is None:
        lost.append(f"event.ts is {event.get('ts')!r}, which is not a time" if "ts" in event else "event lacks 'ts'")
    duration_ms = event.get("duration_ms")
    if duration_ms is not None and (isinstance(duration_ms, bool) or not isinstance(duration_ms, (int, float))):
        lost.append(f"event.duration_ms is {type(duration_ms).__name__}, not integer or null")
    return lost


def _usual_marks(event: dict[str, Any]) -> dict[str, str]:
    """Ids and a version of the usual form: readers take every text for an id, and every 0.x."""
    ids = {key: _ANY_ID for key in ("event_id", "run_id", "parent_id") if event.get(key)}
    return {**ids, "spec_version": SPEC_VERSION}


def _older_forms(event: dict[str, Any], read: dict[str, Any]) -> list[str]:
    """Where an event is valid, but is not what a newer writer would store."""
    before, after = event["payload"], read["payload"]
    fields = [key for key in after if key not in before or before[key] != after[key]]
    return [f"event.payload.{key} has a newer form, or is new; readers fill it in" for key in fields]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
