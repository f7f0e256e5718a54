"""
What one run writes: the lines of its events.jsonl, and run.json beside it.

A line is put together from parts that are JSON already: encoding the ten keys anew for each event would cost more than
writing it. The log knows how a name, a meta and an event of our own look on disk. When something is written is for the
run to say, which holds its lock then.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.events import MAX_LINE_BYTES, SPEC_VERSION, TRUNCATED
from agentdbg.faults import pass_on
from agentdbg.own_os import os
from agentdbg.owner import describe_owner
from agentdbg.recorder.given_values import as_mapping
from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.redaction.sizes import MAX_ENCODED_BYTES, fit_fields
from agentdbg.storage.writer import RunWriter
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentdbg.config import Config
    from agentdbg.recorder.counters import Counters
    from agentdbg.tape.tape_writer import TapeWriter

__all__ = [
    "NO_META",
    "RunLog",
    "fit_payload",
    "join_objects",
    "own_start_fields",
    "redactor_of",
    "set_origin",
    "start_fields",
]

NO_META = b"{}"
_BEFORE_ID = f'{{"spec_version":"{SPEC_VERSION}","event_id":"'
_CUT_META = f'{{"{TRUNCATED}":"{TRUNCATED}"}}'.encode()
_MOST_SOURCES = 10_000
_LONGEST_SOURCE = 4_000
_SURELY_FITS = MAX_LINE_BYTES // 2
_NO_SOURCE = b'},"meta":'
_COUNTS = ("llm_calls", "tool_calls", "errors", "loop_warnings")
_MOST_NAMES, _LONGEST_NAME = 1_000, 200

_origin: dict[str, Any] = {}
"""What the runs of this process come from; mostly nothing."""


class RunLog:
    """One run's way to the disk."""

    __slots__ = (
        "_after_id",
        "_batch",
        "_batch_bytes",
        "_batch_size",
        "_counters",
        "_endings",
        "_guardrails",
        "_metadata",
        "_names",
        "_origin",
        "_redaction",
        "_redactor",
        "_run_id",
        "_run_name",
        "_started_at",
        "_why_no_tape",
        "_writer",
        "begin",
        "tape",
    )

    def __init__(
        self,
        folder: str,
        run_id: str,
        config: Config,
        redactor: Redactor,
        counters: Counters,
        guardrails: Mapping[str, Any],
        *,
        names: dict[str, tuple[str, str]] | None = None,
        batch_bytes: int = 0,
    ) -> None:
        """`names` are shared with other runs; with `batch_bytes`, lines wait until so many bytes have come."""
        self._after_id = f'","run_id":"{run_id}","parent_id":"'
        self._endings: dict[str, bytes] = {}
        self._run_id = run_id
        self._redaction = config.redaction
        self._redactor = redactor
        self._counters = counters
        self._guardrails = guardrails
        self._names = {} if names is None else names
        self._run_name = self._started_at = ""
        self._metadata = NO_META
        self._batch: list[bytes] = []
        self._batch_size = 0
        self._batch_bytes = batch_bytes
        self._writer = RunWriter(folder, fsync=config.fsync and not batch_bytes)
        self.begin = self._writer.begin
        self.tape: TapeWriter | None = None
        """What keeps the whole values of calls; None when nobody wants them kept."""
        self._why_no_tape: str | None = None
        self._origin = dict(_origin)

    def describe(self, run_name: str, started_at: str, metadata: bytes) -> None:
        """What run.json says of the run from its next refresh on."""
        self._run_name = self.name(run_name)[0]
        self._started_at = started_at
        self._metadata = metadata

    def prepare(self, start_id: str, run_name: str, started_at: str, payload: bytes, metadata: bytes) -> None:
        """Have RUN_START ready, as the first line of all."""
        self.describe(run_name, started_at, metadata)
        self._counters.count_type("RUN_START")
        name_json = self.name(run_name)[1]
        self._writer.prepare(self.line("RUN_START", start_id, None, started_at, None, name_json, payload, metadata))

    def open_tape(self, tape: TapeWriter | None, why_not: str | None) -> None:
        """From now on this tape is written too; `why_not` says why there is none."""
        self.tape = tape
        self._why_no_tape = why_not

    # Lines.

    def line(
        self,
        event_type: str,
        event_id: str,
        parent_id: str | None,
        ts: str,
        duration_ms: int | None,
        name_json: str,
        payload: bytes,
        meta: bytes = NO_META,
        source: str | None = None,
    ) -> bytes:
        """
        The line of one event, newline included; `name_json`, `payload` and `meta` are JSON.

        `source` is the place in the user's code it was recorded at, and goes into the payload.
        """
        duration: Any = "null" if duration_ms is None else duration_ms
        head = (
            f'{_BEFORE_ID}{event_id}{self._after_id}{parent_id}","event_type":"{event_type}",'
            f'"ts":"{ts}","duration_ms":{duration},"name":{name_json},"payload":'
        ).encode()
        if parent_id is None:  # once in a run
            head = head.replace(b'"parent_id":"None"', b'"parent_id":null', 1)
        ending = _NO_SOURCE if source is None else self._endings.get(source) or self._make_ending(source)
        size = len(payload)
        if size == 2 and source is not None:  # {}
            ending = ending[1:]
        if size + len(meta) > _SURELY_FITS and len(head) + size + len(ending) + len(meta) > MAX_LINE_BYTES - 20:
            meta = _CUT_META  # the others are bounded
        return b"".join((head, payload[:-1], ending, meta, b"}\n"))

    def _make_ending(self, source: str) -> bytes:
        """What ends a payload, up to the meta; the few places of a program come up again and again."""
        path, colon, line = source.rpartition(":")  # `reset_password.py` is no secret's name, and 42 not its value
        place = self._redactor.clean_text(path, _LONGEST_SOURCE) + colon + line
        ending = b',"source":%b},"meta":' % encode_json(place)
        if len(self._endings) < _MOST_SOURCES:
            self._endings[source] = ending
        return ending

    def name(self, name: Any) -> tuple[str, str]:
        """A name as it is stored, and its JSON; the few names of a run come up again and again."""
        if type(name) is str and name in self._names:
            return self._names[name]
        clean = self._redactor.clean_text(name)
        known = (clean, encode_json(clean).decode())
        if type(name) is str and len(name) <= _LONGEST_NAME and len(self._names) < _MOST_NAMES:
            self._names[name] = known
        return known

    def seal_meta(self, meta: Any) -> tuple[dict[str, Any], bytes]:
        """A meta as it is stored, and its JSON."""
        if meta is None:
            return {}, NO_META
        return self._redactor.seal_parts(meta if type(meta) is dict else as_mapping(meta))

    # Files.

    def close(self) -> None:
        """Give the descriptors back."""
        if self.tape is not None:
            self.tape.close()
        self._writer.close()

    def append(self, lines: bytes) -> bool:
        """Write whole lines at once; False when they could not all be written."""
        if not self._batch_bytes:
            return self._writer.append(lines)
        self._batch.append(lines)
        self._batch_size += len(lines)
        return self._batch_size < self._batch_bytes or self.flush()

    def flush(self) -> bool:
        """Hand what waits to the kernel."""
        batch, self._batch, self._batch_size = self._batch, [], 0
        return not batch or self._writer.append(b"".join(batch))

    @property
    def is_batched(self) -> bool:
        """Whether lines may wait before they are written."""
        return bool(self._batch_bytes)

    @property
    def dropped(self) -> int:
        """How many lines the disk did not take, but for those that were taken note of."""
        return self._writer.dropped

    def take_dropped(self) -> int:
        """How many lines the disk did not take since this was last asked."""
        dropped, self._writer.dropped = self._writer.dropped, 0
        return dropped

    def holds(self, line: bytes) -> bool:
        """Whether a line is among the last that were written."""
        return any(line in lines for lines in self._batch) or self._writer.holds(line)

    def refresh(self, last_event_ts: str, ended_at: str | None, duration_ms: int | None, status: str) -> None:
        """Replace run.json with what is known by now."""
        counters = self._counters
        meta: dict[str, Any] = {
            "spec_version": SPEC_VERSION,
            "run_id": self._run_id,
            "run_name": self._run_name,
            "started_at": self._started_at,
            "ended_at": ended_at,
            "duration_ms": duration_ms,
            "status": status,
            "counts": {name: counters.whole(name) for name in _COUNTS},
            "last_event_ts": last_event_ts,
            **counters.spent(),
            "guardrails": self._guardrails,
        }
        rest: dict[str, Any] = {
            "agentdbg_version": __version__,
            "redaction": self._redaction,
            "dropped_events": counters.whole("dropped"),
            "owner": describe_owner(),
        }
        if self.tape is not None:
            rest["replay"] = {"state": self.tape.state, "why": self.tape.why, **self._origin}
        elif self._why_no_tape is not None:
            rest["replay"] = {"state": "none", "why": self._why_no_tape}
        if not counters.is_shared:  # forked children count their types for themselves; readers add the file up
            rest["event_counts"] = counters.by_type()
        content = b'%b,"metadata":%b,%b\n' % (encode_json(meta)[:-1], self._metadata, encode_json(rest)[1:])
        self._writer.replace_meta(content)

    def end_summary(self, duration_ms: int) -> dict[str, Any]:
        """The `summary` of RUN_END."""
        counts = {name: self._counters.whole(name) for name in _COUNTS}
        loop_warnings = counts.pop("loop_warnings")
        dropped = self._counters.whole("dropped")  # here too: run.json may not find room on the disk that took none
        return {
            **counts,
            "duration_ms": duration_ms,
            "loop_warnings": loop_warnings,
            **self._counters.spent(),
            **({"dropped_events": dropped} if dropped else {}),
        }


def fit_payload(payload: bytes) -> bytes:
    """A payload joined from two sealed ones: each fits a line, both together may not."""
    if len(payload) <= MAX_ENCODED_BYTES:
        return payload
    return encode_json(fit_fields(decode_json(payload), MAX_ENCODED_BYTES))


def join_objects(first: bytes, second: bytes) -> bytes:
    """Two JSON objects as one, the keys of the second after those of the first."""
    if second == b"{}":
        return first
    if first == b"{}":
        return second
    return b"".join((first[:-1], b",", second[1:]))


def set_origin(facts: dict[str, Any] | None) -> None:
    """Say what the runs of this process come from: a replay or a fork of which run, changed where."""
    _origin.clear()
    _origin.update(facts or {})


def start_fields(run_name: str, argv: list[str], start: Mapping[str, Any]) -> dict[str, Any]:
    """What RUN_START says of the program; `argv` is redacted already."""
    return {
        "run_name": run_name,
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "platform": sys.platform,
        "cwd": _current_folder(),
        "argv": argv,
        **start,
        **({"replay": dict(_origin)} if _origin else {}),
    }


def own_start_fields(guardrails: Mapping[str, Any]) -> dict[str, Any]:
    """What it says of the run: nothing of the user's, so it is there also where the time for that ran out."""
    return {"guardrails": guardrails, "agentdbg_version": __version__}


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError as error:
        pass_on(error)
        return None


def redactor_of(config: Config) -> Redactor:
    """The redactor of these settings; one for all runs of a process that have the same."""
    return _redactor(
        RedactionRules(
            enabled=config.redact,
            keys=config.redact_keys,
            values=config.redact_values,
            patterns=config.redact_patterns,
            max_field_bytes=config.max_field_bytes,
        )
    )


@lru_cache(maxsize=8)
def _redactor(rules: RedactionRules) -> Redactor:
    return Redactor(rules)  # compiling the rules takes as long as a hundred events
