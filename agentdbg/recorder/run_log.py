"""
What one run writes: the lines of its events.jsonl, and run.json beside it.

The log knows how a name, a meta and an event of our own look on disk. When something is written is for the run to say,
which holds its lock then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg import encoding
from agentdbg.events import new_id, utc_timestamp
from agentdbg.recorder.event_lines import NO_META, LineMaker
from agentdbg.recorder.given_meta import as_mapping
from agentdbg.recorder.run_summary import encode_run_meta
from agentdbg.storage.writer import RunWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentdbg.config import Config
    from agentdbg.recorder.counters import Counters
    from agentdbg.redaction import Redactor

__all__ = ["RunLog"]

_MOST_NAMES = 1_000


class RunLog(LineMaker):
    """One run's way to the disk."""

    __slots__ = (
        "_counters",
        "_guardrails",
        "_metadata",
        "_names",
        "_redaction",
        "_redactor",
        "_run_id",
        "_run_name",
        "_started_at",
        "_writer",
        "begin",
        "close",
        "holds",
    )

    def __init__(
        self,
        folder: str,
        run_id: str,
        config: Config,
        redactor: Redactor,
        counters: Counters,
        guardrails: Mapping[str, Any],
    ) -> None:
        super().__init__(run_id, redactor.clean_text)  # a file may be named after anything
        self._run_id = run_id
        self._redaction = config.redaction
        self._redactor = redactor
        self._counters = counters
        self._guardrails = guardrails
        self._names: dict[str, tuple[str, str]] = {}
        self._run_name = self._started_at = ""
        self._metadata = NO_META
        self._writer = RunWriter(folder, fsync=config.fsync)
        self.begin = self._writer.begin
        self.close = self._writer.close
        self.holds = self._writer.holds

    def prepare(self, start_id: str, run_name: str, started_at: str, payload: bytes, metadata: bytes) -> None:
        """Have RUN_START ready, as the first line of all; `refresh` tells what is given here from then on."""
        self._run_name, name_json = self.name(run_name)
        self._started_at = started_at
        self._metadata = metadata
        self._counters.count_type("RUN_START")
        self._writer.prepare(self.line("RUN_START", start_id, None, started_at, None, name_json, payload, metadata))

    def append(self, lines: bytes) -> bool:
        """Write whole lines at once; False when they could not all be written."""
        is_written = self._writer.append(lines)
        if self._counters.is_shared:
            self._counters.publish()
        return is_written

    def extra_line(self, event_type: str, name: str, fields: dict[str, Any], parent_id: str) -> bytes:
        """The line of an event of our own making, counted."""
        self._counters.count_type(event_type)
        payload = self._redactor.seal(fields).encoded
        return self.line(event_type, new_id(), parent_id, utc_timestamp(), None, self.name(name)[1], payload)

    def name(self, name: Any) -> tuple[str, str]:
        """A name as it is stored, and its JSON; the few names of a run come up again and again."""
        if type(name) is str and name in self._names:
            return self._names[name]
        clean = self._redactor.clean_text(name)
        known = (clean, encoding.encode(clean).decode())
        if type(name) is str and len(self._names) < _MOST_NAMES:
            self._names[name] = known
        return known

    def seal_meta(self, meta: Any) -> tuple[dict[str, Any], bytes]:
        """A meta as it is stored, and its JSON."""
        if meta is None:
            return {}, NO_META
        return self._redactor.seal_parts(meta if type(meta) is dict else as_mapping(meta))

    def refresh(self, last_event_ts: str, ended_at: str | None, duration_ms: int | None, status: str) -> None:
        """Replace run.json with what is known by now."""
        self._writer.replace_meta(
            encode_run_meta(
                run_id=self._run_id,
                run_name=self._run_name,
                started_at=self._started_at,
                ended_at=ended_at,
                duration_ms=duration_ms,
                status=status,
                last_event_ts=last_event_ts,
                counters=self._counters,
                guardrails=self._guardrails,
                metadata=self._metadata,
                redaction=self._redaction,
                dropped_by_writer=self._writer.dropped,
            )
        )
