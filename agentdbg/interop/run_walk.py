"""
A run that others recorded, on its way to the disk: enrich, redact, guard, append, as every event walks.

The parts are those a recorder uses, so what arrives is redacted, cut, counted and judged for loops like what is
recorded here. Steps may come all at once (an import) or as they happen (the receiver); `flush` hands what has come so
far to the kernel, and `count_again` takes in what an earlier process has written of the same run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.events import utc_timestamp
from agentdbg.interop.write_context import NO_GUARDRAILS, SPAN_MARK, CleanName, start_fields
from agentdbg.recorder.counters import Counters
from agentdbg.recorder.limits import Guards, Limits, detector_of
from agentdbg.recorder.payloads import diff_states
from agentdbg.recorder.run_log import NO_META, LineMaker, encode_run_meta, end_summary, fit_payload, join_objects
from agentdbg.storage.writer import RunWriter

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.events import Event
    from agentdbg.interop.drafts import Step
    from agentdbg.interop.write_context import WriteContext
    from agentdbg.loops import LoopFinding

__all__ = ["Ending", "RunWalk", "stable_id", "usable_duration"]

_NO_LIMITS = Limits()
_LONGEST_MS = 1e12
"""Some thirty years."""
_FLUSH_BYTES = 1 << 20
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
_RUN_END = CleanName("run_end", '"run_end"')


def stable_id(*parts: str) -> str:
    """A UUID of version 4 in shape that is always the same for the same parts."""
    digest = hashlib.sha256("\x00".join(parts).encode(errors="surrogatepass")).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-{_VARIANTS[digest[16]]}{digest[17:20]}-{digest[20:32]}"


def usable_duration(duration_ms: float | None) -> float | None:
    """A length of time that can be true; a file may say anything."""
    return duration_ms if duration_ms is not None and 0 <= duration_ms < _LONGEST_MS else None


@dataclass
class Ending:
    """How a run ended: its failure if it failed, and what else RUN_END should hold."""

    at_ms: float
    failure: dict[str, Any] | None = None
    outcome: dict[str, Any] = field(default_factory=dict)
    duration_ms: int | None = None
    """As a clock measured it; else from the beginning to the end."""
    is_told: bool = False
    """Whether the events of the end, but for RUN_END, are among the steps."""


class RunWalk:
    """One run; `run_id` and the ids of steps are the caller's."""

    def __init__(
        self, run_id: str, name: str, folder: str | Path, context: WriteContext, *, start_id: str | None = None
    ) -> None:
        config = context.config
        self.run_id = run_id
        self._name = context.names[name]
        self.start_id = start_id or stable_id(run_id, "0")
        self.started_ms = 0.0
        self.written = 0
        self.writer = RunWriter(folder, fsync=False)
        self._context = context
        self._redactor = context.redactor
        self._counters = Counters()
        self._guards = Guards(_NO_LIMITS, self._counters, partial(detector_of, config))
        self._line = LineMaker(run_id, self._redactor.clean_text).line
        self._lines: list[bytes] = []
        self._lines_size = 0
        self._states: dict[str, bytes] = {}
        self._last_state: bytes | None = None
        self._last_parent = self.start_id
        self._meta = NO_META
        self._last_ts = ""

    @property
    def name(self) -> str:
        """What the run is called, as it may be written."""
        return self._name.text

    def begin(self, at_ms: float, meta: dict[str, Any], known: dict[str, Any] | None = None) -> None:
        """Write RUN_START; `known` is what its payload says beyond what everybody's does."""
        self.started_ms = at_ms
        self._meta = self._redactor.seal(meta).encoded
        self._counters.count_type("RUN_START")
        if known:
            payload = self._redactor.seal({**start_fields(self.name), **known}).encoded
        else:
            payload = self._context.starts[self.name]
        self._append("RUN_START", self.start_id, None, _timestamp(at_ms), None, self._name, payload, self._meta)

    def take(self, step: Step, event_id: str, parent_id: str, at_ms: float) -> None:
        """One step, as an event with these ids; what it says of loops follows it."""
        length = usable_duration(step.duration_ms)
        duration_ms = None if length is None else round(length)
        value, payload = self._seal(step)
        meta, meta_bytes = self._seal_meta(step)
        name = self._context.names[step.name]
        ts = _timestamp(at_ms)
        finding = self._judge(step.event_type, event_id, ts, name.text, value, meta, is_span=step.is_span)
        self._append(step.event_type, event_id, parent_id, ts, duration_ms, name, payload, meta_bytes)
        self._last_parent = parent_id
        if not step.is_told:
            self._tell(finding, ts)

    def count_again(self, event: Event) -> None:
        """Take in an event of this run that is on disk already, as if it had just been written."""
        self.written += 1
        self._last_ts = event["ts"]
        if event["event_type"] == "RUN_START":
            self._counters.count_type("RUN_START")
            self._meta = encode_json(event["meta"])
        elif event["event_type"] == "LOOP_WARNING":
            self._counters.loop_warnings += 1
            self._counters.count_type("LOOP_WARNING")
        else:
            parts = (
                event["event_type"],
                event["event_id"],
                event["ts"],
                event["name"],
                event["payload"],
                event["meta"],
            )
            self._judge(*parts, is_span=SPAN_MARK in event["meta"])

    def end(self, ending: Ending) -> None:
        """Write RUN_END and the final run.json, and close the file."""
        at_ms = max(ending.at_ms, self.started_ms)
        ts = _timestamp(at_ms)
        if not ending.is_told:
            self._tell(self._guards.last_finding(), ts)
        failure = None if ending.failure is None else self._redactor.seal(ending.failure).value
        if failure is not None and not ending.is_told:
            self._fatal_error(failure, ts)
        duration_ms = ending.duration_ms
        if duration_ms is None:
            duration_ms = max(0, round(at_ms - self.started_ms))
        status = "ok" if failure is None else "error"
        summary = {"status": status, "summary": end_summary(self._counters, duration_ms)}
        outcome = {**ending.outcome, **({} if failure is None else {"error": failure})}
        payload = encode_json(summary)
        if outcome:
            payload = join_objects(payload, self._redactor.seal(outcome).encoded)
        if self._last_state is not None and "final_state" not in outcome:
            payload = join_objects(payload, b'{"final_state":%b}' % self._last_state)
        self._counters.count_type("RUN_END")
        end_id = stable_id(self.run_id, "end")
        self._append("RUN_END", end_id, self.start_id, ts, duration_ms, _RUN_END, fit_payload(payload))
        self.flush()
        self.refresh(ts, duration_ms, status)
        self.writer.close()

    def flush(self) -> None:
        """Hand what has come so far to the kernel; `writer.dropped` says what the disk did not take."""
        lines, self._lines, self._lines_size = self._lines, [], 0
        if lines and self.writer.append(b"".join(lines)):
            self.written += len(lines)

    def refresh(self, ended_at: str | None = None, duration_ms: int | None = None, status: str = "running") -> None:
        """Replace run.json by how the run stands."""
        self.writer.replace_meta(
            encode_run_meta(
                run_id=self.run_id,
                run_name=self.name,
                started_at=_timestamp(self.started_ms),
                ended_at=ended_at,
                duration_ms=duration_ms,
                status=status,
                last_event_ts=ended_at or self._last_ts,
                counters=self._counters,
                guardrails=NO_GUARDRAILS,
                metadata=self._meta,
                redaction=self._context.config.redaction,
                dropped_by_writer=self.writer.dropped,
            )
        )

    def describe(self, name: str, meta: dict[str, Any] | None = None) -> None:
        """What is known now of the run and was not when it began; run.json says so from its next refresh."""
        self._name = self._context.names[name]
        if meta is not None:
            self._meta = self._redactor.seal(meta).encoded

    def _seal(self, step: Step) -> tuple[dict[str, Any], bytes]:
        fields = step.fields
        if step.event_type == "LLM_CALL" and not step.is_told and fields["cost_usd"] is None:
            fields["cost_usd"] = self._context.prices.cost_usd(fields["model"], fields["usage"])
        sealed = self._redactor.seal(fields)
        if step.event_type != "STATE_UPDATE" or step.is_span:
            return sealed.value, sealed.encoded
        before, stored = self._states.get(step.name), encode_json(sealed.value.get("state"))
        self._states[step.name] = self._last_state = stored
        if before is None or step.is_told or sealed.value.get("diff") is not None:
            return sealed.value, sealed.encoded
        sealed.value["diff"] = diff_states(before, stored)
        return sealed.value, encode_json(sealed.value)

    def _seal_meta(self, step: Step) -> tuple[dict[str, Any], bytes]:
        if not step.meta:
            return {}, NO_META
        is_bare_span = len(step.meta) == 1 and step.meta.get(SPAN_MARK) == step.name
        sealed = self._context.span_metas[step.name] if is_bare_span else self._redactor.seal(step.meta)
        return sealed.value, sealed.encoded

    def _judge(
        self,
        event_type: str,
        event_id: str,
        ts: str,
        name: str,
        payload: dict[str, Any],
        meta: dict[str, Any],
        *,
        is_span: bool,
    ) -> LoopFinding | None:
        """Count an event and look for loops."""
        verdict = self._guards.judge_parts(event_type, event_id, ts, name, payload, meta, 0.0, is_span)
        if event_type == "LOOP_WARNING":
            self._counters.loop_warnings += 1
        return None if verdict is None else verdict.finding

    def _tell(self, finding: LoopFinding | None, ts: str) -> None:
        if finding is None:
            return
        self._counters.loop_warnings += 1
        self._counters.count_type("LOOP_WARNING")
        payload = self._redactor.seal(finding.payload()).encoded
        name = self._context.names[finding.pattern]
        event_id = stable_id(self.run_id, "loop", str(self.written + len(self._lines)))
        self._append("LOOP_WARNING", event_id, self._last_parent, ts, None, name, payload)

    def _fatal_error(self, failure: dict[str, Any], ts: str) -> None:
        """What ended the run, as a recorder writes it."""
        self._counters.add("ERROR", failure)
        self._counters.count_type("ERROR")
        payload = self._redactor.seal({**failure, "context": None, "fatal": True}).encoded
        name = self._context.names[failure["error_type"]]
        self._append("ERROR", stable_id(self.run_id, "error"), self.start_id, ts, None, name, payload)

    def _append(
        self,
        event_type: str,
        event_id: str,
        parent_id: str | None,
        ts: str,
        duration_ms: int | None,
        name: CleanName,
        payload: bytes,
        meta: bytes = NO_META,
    ) -> None:
        self._last_ts = ts
        line = self._line(event_type, event_id, parent_id, ts, duration_ms, name.encoded, payload, meta)
        self._lines.append(line)
        self._lines_size += len(line)
        if self._lines_size > _FLUSH_BYTES:
            self.flush()


def _timestamp(at_ms: float) -> str:
    # In seconds a whole millisecond may come out a trifle less than it was, and be cut to the one before.
    return utc_timestamp(at_ms / 1000 + 1e-6)
