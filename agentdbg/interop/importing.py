"""
Take a drafted run through the walk every event takes: enrich, redact, guard, append.

The parts are those a recorder uses, so an imported run is redacted, cut, counted and judged for loops like a recorded
one. It appears whole or not at all: it is written aside and then moved to its place. Ids are made from the run's
identity, so the same run gets the same ids every time, and one that is here already is left alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.encoding import encode_json
from agentdbg.events import SPEC_VERSION, utc_timestamp
from agentdbg.interop.prompts import PromptFitter
from agentdbg.loops import LoopDetector
from agentdbg.recorder.counters import Counters
from agentdbg.recorder.errors import describe_error
from agentdbg.recorder.event_lines import NO_META, LineMaker, join_objects
from agentdbg.recorder.guardrails import Guards, Limits
from agentdbg.recorder.prices import PriceTable
from agentdbg.recorder.run_summary import encode_run_meta, end_summary
from agentdbg.recorder.state_diff import diff_states
from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.storage.layout import index_dir, make_private_folder, run_dir, runs_dir
from agentdbg.storage.writer import RunWriter
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentdbg.config import Config
    from agentdbg.interop.drafts import RunDraft, Step
    from agentdbg.loops import LoopFinding

__all__ = ["NotWritten", "StoredRun", "make_redactor", "run_id_of", "stable_id", "store_run", "writing_aside"]

_NO_LIMITS = Limits()
_LONGEST_MS = 1e12
"""Some thirty years."""


class NotWritten(OSError):
    """The disk did not take the whole run."""


class StoredRun(NamedTuple):
    """A run that is in the data folder; `is_new` is False when it was there before."""

    run_id: str
    run_name: str
    events: int
    is_new: bool


def stable_id(*parts: str) -> str:
    """A UUID of version 4 in shape that is always the same for the same parts."""
    digest = hashlib.sha256("\x00".join(parts).encode(errors="surrogatepass")).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


def run_id_of(draft: RunDraft) -> str:
    """The id the run has here, from whatever its format knows it by."""
    return stable_id("run", draft.format, _canonical(draft.identity))


def store_run(draft: RunDraft, config: Config, redactor: Redactor, file_ms: float, origin: dict[str, Any]) -> StoredRun:
    """Write a drafted run into the data folder; `file_ms` is the time of its file, for a run that knows no times."""
    run_id = run_id_of(draft)
    if os.path.lexists(run_dir(config.data_dir, run_id)):
        return StoredRun(run_id, redactor.clean_text(draft.name), 0, is_new=False)
    with writing_aside(config.data_dir, run_id) as folder:
        walk = _Walk(run_id, draft, config, redactor, folder, file_ms, origin)
        walk.write()
    return StoredRun(run_id, walk.name, walk.written, is_new=True)


def make_redactor(config: Config) -> Redactor:
    """The redactor the settings ask for; one serves any number of runs."""
    return Redactor(
        RedactionRules(
            enabled=config.redact,
            keys=config.redact_keys,
            values=config.redact_values,
            patterns=config.redact_patterns,
            max_field_bytes=config.max_field_bytes,
        )
    )


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


class _Walk:
    """One run on its way to the disk."""

    def __init__(
        self,
        run_id: str,
        draft: RunDraft,
        config: Config,
        redactor: Redactor,
        folder: Path,
        file_ms: float,
        origin: dict[str, Any],
    ) -> None:
        self.run_id = run_id
        self.name = redactor.clean_text(draft.name)
        self.written = 0
        self._draft = draft
        self._redactor = redactor
        self._redaction = config.redaction
        self._prompts = PromptFitter(config.max_field_bytes)
        self._prices = PriceTable(config.prices)
        self._counters = Counters()
        self._detector = LoopDetector(config.loop_window, config.loop_repetitions, config.loop_ignore_tools)
        self._guards = Guards(_NO_LIMITS, self._counters, self._detector)
        self._line = LineMaker(run_id)
        self._writer = RunWriter(folder, fsync=False)
        self._start_id = stable_id(run_id, "0")
        self._ids: dict[str, str] = {}
        self._failures: set[tuple[str, str]] = set()
        self._states: dict[str, bytes] = {}
        self._last_state: bytes | None = None
        self._last_parent = self._start_id
        begins = [step.at_ms - (_usable(step.duration_ms) or 0) for step in draft.steps if step.at_ms is not None]
        self._started_ms = draft.started_ms if draft.started_ms is not None else min(begins, default=file_ms)
        self._now_ms = self._started_ms
        self._meta = redactor.seal({**draft.meta, "imported_from": origin}).encoded

    def write(self) -> None:
        self._begin()
        # A parent is often written after its children, so the ids are given out first.
        for number, step in enumerate(self._draft.steps, 1):
            if step.key is not None:
                self._ids.setdefault(step.key, stable_id(self.run_id, str(number)))
        for number, step in enumerate(self._draft.steps, 1):
            self._step(step, number)
        self._end()
        if self._writer.dropped:
            raise NotWritten(f"the disk did not take {self._writer.dropped} of its events")

    def _begin(self) -> None:
        fields: dict[str, Any] = {
            "run_name": self.name,
            "python_version": "",
            "platform": "",
            "cwd": None,
            "argv": [],
            "guardrails": _NO_LIMITS.as_dict(),
            "agentdbg_version": __version__,
        }
        payload = self._redactor.seal(fields).encoded
        self._count("RUN_START")
        self._append("RUN_START", self._start_id, None, None, self.name, payload, self._meta)

    def _step(self, step: Step, number: int) -> None:
        parent_id = self._ids.get(step.parent, self._start_id) if step.parent is not None else self._start_id
        event_id = self._ids.get(step.key) if step.key is not None else None
        event_id = event_id or stable_id(self.run_id, str(number))
        self._advance(step)
        length = _usable(step.duration_ms)
        duration_ms = None if length is None else round(length)
        value, payload = self._seal(step)
        meta = self._redactor.seal(step.meta) if step.meta else None
        name = self._redactor.clean_text(step.name)
        event: Any = {
            "spec_version": SPEC_VERSION,
            "event_id": event_id,
            "run_id": self.run_id,
            "parent_id": parent_id,
            "event_type": step.event_type,
            "ts": utc_timestamp(self._now_ms / 1000),
            "duration_ms": duration_ms,
            "name": name,
            "payload": value,
            "meta": {} if meta is None else meta.value,
        }
        repeats = step.event_type == "ERROR" and (step.fields["error_type"], step.fields["message"]) in self._failures
        verdict = self._guards.judge(event, is_span=step.is_span, recorded_by_call=repeats, elapsed_s=0.0)
        self._append(
            step.event_type, event_id, parent_id, duration_ms, name, payload, NO_META if meta is None else meta.encoded
        )
        self._last_parent = parent_id
        self._note_failure(step)
        self._tell(verdict.finding)

    def _advance(self, step: Step) -> None:
        """The clock of the run: the step's own time, else what the steps so far took."""
        if step.at_ms is not None:
            self._now_ms = step.at_ms
        else:
            self._now_ms += _usable(step.duration_ms) or 0.0

    def _seal(self, step: Step) -> tuple[dict[str, Any], bytes]:
        fields = step.fields
        if step.event_type == "LLM_CALL":
            fields["prompt"] = self._prompts.fit(fields["prompt"])
            if fields["cost_usd"] is None:
                fields["cost_usd"] = self._prices.cost_usd(fields["model"], fields["usage"])
        sealed = self._redactor.seal(fields)
        if step.event_type != "STATE_UPDATE" or step.is_span:
            return sealed.value, sealed.encoded
        stored = encode_json(sealed.value["state"])
        if sealed.value["diff"] is None and step.name in self._states:
            sealed.value["diff"] = diff_states(self._states[step.name], stored)
        self._states[step.name] = self._last_state = stored
        return sealed.value, encode_json(sealed.value)

    def _note_failure(self, step: Step) -> None:
        error = step.fields.get("error")
        if step.event_type in ("LLM_CALL", "TOOL_CALL") and isinstance(error, dict):
            self._failures.add((error["error_type"], error["message"]))

    def _tell(self, finding: LoopFinding | None) -> None:
        if finding is None:
            return
        self._counters.loop_warnings += 1
        self._count("LOOP_WARNING")
        payload = self._redactor.seal(finding.payload()).encoded
        event_id = stable_id(self.run_id, "loop", str(self.written))
        self._append("LOOP_WARNING", event_id, self._last_parent, None, finding.pattern, payload)

    def _end(self) -> None:
        self._tell(self._detector.finish())
        draft = self._draft
        failure = None if draft.error is None else describe_error(draft.error)
        if failure is not None:
            self._fatal_error(failure)
        if draft.ended_ms is not None:
            self._now_ms = max(draft.ended_ms, self._started_ms)
        duration_ms = max(0, round(self._now_ms - self._started_ms))
        status = "ok" if failure is None else "error"
        summary = {"status": status, "summary": end_summary(self._counters, duration_ms)}
        outcome = (
            {"error": failure} if failure is not None else {} if draft.result is None else {"result": draft.result}
        )
        payload = join_objects(encode_json(summary), self._redactor.seal(outcome).encoded)
        if self._last_state is not None:
            payload = join_objects(payload, b'{"final_state":%b}' % self._last_state)
        self._count("RUN_END")
        self._append("RUN_END", stable_id(self.run_id, "end"), self._start_id, duration_ms, "run_end", payload)
        ended_at = utc_timestamp(self._now_ms / 1000)
        self._writer.replace_meta(
            encode_run_meta(
                run_id=self.run_id,
                run_name=self.name,
                started_at=utc_timestamp(self._started_ms / 1000),
                ended_at=ended_at,
                duration_ms=duration_ms,
                status=status,
                last_event_ts=ended_at,
                counters=self._counters,
                guardrails=_NO_LIMITS.as_dict(),
                metadata=self._meta,
                redaction=self._redaction,
                dropped_by_writer=0,
            )
        )
        self._writer.close()

    def _fatal_error(self, failure: dict[str, Any]) -> None:
        """What ended the run, as a recorder writes it; not counted again when a failed call was it."""
        if (failure["error_type"], failure["message"]) not in self._failures:
            self._counters.errors += 1
        self._count("ERROR")
        payload = self._redactor.seal({**failure, "context": None, "fatal": True}).encoded
        name = self._redactor.clean_text(failure["error_type"])
        self._append("ERROR", stable_id(self.run_id, "error"), self._start_id, None, name, payload)

    def _append(
        self,
        event_type: str,
        event_id: str,
        parent_id: str | None,
        duration_ms: int | None,
        name: str,
        payload: bytes,
        meta: bytes = NO_META,
    ) -> None:
        ts = utc_timestamp(self._now_ms / 1000)
        name_json = encode_json(name).decode()
        line = self._line(event_type, event_id, parent_id, ts, duration_ms, name_json, payload, meta)
        self.written += self._writer.append(line)

    def _count(self, event_type: str) -> None:
        by_type = self._counters.by_type
        by_type[event_type] = by_type.get(event_type, 0) + 1


def _usable(duration_ms: float | None) -> float | None:
    """A length of time that can be true; a file may say anything."""
    return duration_ms if duration_ms is not None and 0 <= duration_ms < _LONGEST_MS else None


def _canonical(identity: Any) -> str:
    """An identity as text that does not depend on the order of keys."""
    import json  # noqa: PLC0415 -- sorted keys, and it takes what strict JSON does not

    return json.dumps(identity, sort_keys=True, ensure_ascii=True, default=str)
