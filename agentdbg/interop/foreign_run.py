"""
A run that others recorded, driven along the recorder's one walk to the disk.

What arrives is redacted, cut, counted and judged for loops like what is recorded here. Steps may come all at once (an
import) or as they happen (the receiver); `flush` hands what has come so far to the kernel, and `count_again` takes in
what an earlier process has written of the same run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import encode_json
from agentdbg.events import utc_timestamp
from agentdbg.recorder.limits import Limits
from agentdbg.recorder.walk import Draft, EventWalk
from agentdbg.version import __version__

if TYPE_CHECKING:
    from agentdbg.config import Config
    from agentdbg.events import Event
    from agentdbg.interop.drafts import Step

__all__ = ["Ending", "ForeignRun", "Names", "stable_id", "usable_duration"]

Names = dict[str, tuple[str, str]]
"""What was made of names so far: the same few come up in run after run."""
_NO_LIMITS = Limits()
_LONGEST_MS = 1e12
"""Some thirty years."""
_BATCH_BYTES = 1 << 20
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


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


class ForeignRun(EventWalk):
    """One run; `run_id` and the ids of steps are the caller's."""

    __slots__ = ("_meta", "_name", "started_ms")

    def __init__(
        self, run_id: str, name: str, folder: str, config: Config, names: Names, *, start_id: str | None = None
    ) -> None:
        super().__init__(
            config,
            run_id,
            folder,
            _NO_LIMITS,
            start_id=start_id or stable_id(run_id, "0"),
            make_id=self._id_of_extra,
            names=names,
            batch_bytes=_BATCH_BYTES,
        )
        self._name = name
        self._meta = b"{}"
        self.started_ms = 0.0

    @property
    def name(self) -> str:
        """What the run is called, as it may be written."""
        return self.clean_name(self._name)

    @property
    def written(self) -> int:
        """How many events it has."""
        return sum(self.counters.by_type().values())

    @property
    def dropped(self) -> int:
        """How many of them the disk did not take."""
        return self._log.dropped + self.counters.whole("dropped")

    def begin(self, at_ms: float, meta: dict[str, Any], known: dict[str, Any] | None = None) -> None:
        """Write RUN_START; `known` is what its payload says beyond what everybody's does."""
        self.started_ms = at_ms
        self._meta = self._log.seal_meta(meta)[1]
        payload = self._redactor.seal_parts({**_start_fields(self.name), **(known or {})})[1]
        self._log.prepare(self.start_id, self._name, _timestamp(at_ms), payload, self._meta)

    def take(self, step: Step, event_id: str, parent_id: str, at_ms: float) -> None:
        """One step, as an event with these ids; what it says of loops follows it."""
        length, fields = usable_duration(step.duration_ms), step.fields
        if step.event_type == "LLM_CALL" and not step.is_told and fields["cost_usd"] is None:
            fields["cost_usd"] = self.prices.cost_usd(fields["model"], fields["usage"])
        draft = Draft(
            step.event_type,
            step.name,
            fields,
            step.meta or None,
            parent_id,
            duration_ms=None if length is None else round(length),
            event_id=event_id,
            ts=_timestamp(at_ms),
            is_span=step.is_span,
            is_told=step.is_told,
        )
        self.emit(draft)

    def count_again(self, event: Event) -> None:
        """Take in an event of this run that is on disk already, as if it had just been written."""
        self._last_event_ts = event["ts"]
        if event["event_type"] == "RUN_START":
            self._meta = encode_json(event["meta"])
        parts = (event["event_type"], event["event_id"], event["ts"], event["name"], event["payload"], event["meta"])
        self.budget.judge(*parts, "span" in event["meta"])

    def end(self, ending: Ending) -> None:
        """Write RUN_END and the final run.json, and close the file."""
        at_ms = max(ending.at_ms, self.started_ms)
        ts = _timestamp(at_ms)
        if not ending.is_told:
            self._append(self._last_finding_line(ts), self.budget.chain)
            if ending.failure is not None:
                fields = {**ending.failure, "context": None, "fatal": True}
                error_id = stable_id(self.run_id, "error")
                self.emit(Draft("ERROR", fields["error_type"], fields, None, self.start_id, event_id=error_id, ts=ts))
        duration_ms = ending.duration_ms
        if duration_ms is None:
            duration_ms = max(0, round(at_ms - self.started_ms))
        status, rest = self.conclude(ending.failure, ending.outcome)
        self._describe()
        self.write_end(stable_id(self.run_id, "end"), rest, (ts, duration_ms, status), is_told=ending.is_told)

    def flush(self) -> None:
        """Hand what has come so far to the kernel; `dropped` says what the disk did not take."""
        self._log.flush()

    def refresh(self) -> None:
        """Replace run.json by how the run stands."""
        self._describe()
        self._refresh()

    def describe(self, name: str, meta: dict[str, Any] | None = None) -> None:
        """What is known now of the run and was not when it began; run.json says so from its next refresh."""
        self._name = name
        if meta is not None:
            self._meta = self._log.seal_meta(meta)[1]

    def let_go(self) -> None:
        """Close the file and leave the run as it is on disk."""
        self._log.close()

    def _describe(self) -> None:
        self._log.describe(self._name, _timestamp(self.started_ms), self._meta)

    def _id_of_extra(self, kind: str) -> str:
        return stable_id(self.run_id, kind, str(self.written))


def _start_fields(run_name: str) -> dict[str, Any]:
    """What RUN_START says of a run that was recorded elsewhere, when nothing more is known."""
    return {
        "run_name": run_name,
        "python_version": "",
        "platform": "",
        "cwd": None,
        "argv": [],
        "guardrails": _NO_LIMITS.as_dict(),
        "agentdbg_version": __version__,
    }


def _timestamp(at_ms: float) -> str:
    # In seconds a whole millisecond may come out a trifle less than it was, and be cut to the one before.
    return utc_timestamp(at_ms / 1000 + 1e-6)
