"""
What one run writes: the lines of its events.jsonl, and run.json beside it.

A line is put together from parts that are JSON already: encoding the ten keys anew for each event would cost more than
writing it. The log knows how a name, a meta and an event of our own look on disk. When something is written is for the
run to say, which holds its lock then.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.events import MAX_LINE_BYTES, SPEC_VERSION, TRUNCATED, new_id, utc_timestamp
from agentdbg.events.totals import COST_DIGITS
from agentdbg.faults import pass_on
from agentdbg.owner import describe_owner
from agentdbg.recorder.given_values import as_mapping
from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.redaction.sizes import MAX_ENCODED_BYTES, fit_fields
from agentdbg.storage.writer import RunWriter
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentdbg.config import Config
    from agentdbg.recorder.counters import Counters

__all__ = [
    "NO_META",
    "LineMaker",
    "RunLog",
    "encode_run_meta",
    "end_summary",
    "fit_payload",
    "join_objects",
    "redactor_of",
    "start_fields",
]

NO_META = b"{}"
_BEFORE_ID = f'{{"spec_version":"{SPEC_VERSION}","event_id":"'
_CUT_META = f'{{"{TRUNCATED}":"{TRUNCATED}"}}'.encode()
_MOST_SOURCES = 10_000
_LONGEST_SOURCE = 4_000
_SURELY_FITS = MAX_LINE_BYTES // 2
_NO_SOURCE = b'},"meta":'


class LineMaker:
    """Makes the lines of one run."""

    __slots__ = ("_after_id", "_clean_text", "_endings")

    def __init__(self, run_id: str, clean_text: Callable[[str, int], str]) -> None:
        self._after_id = f'","run_id":"{run_id}","parent_id":"'
        self._clean_text = clean_text
        self._endings: dict[str, bytes] = {}

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
        place = self._clean_text(path, _LONGEST_SOURCE) + colon + line
        ending = b',"source":%b},"meta":' % encode_json(place)
        if len(self._endings) < _MOST_SOURCES:
            self._endings[source] = ending
        return ending


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
        known = (clean, encode_json(clean).decode())
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


_COUNTS = ("llm_calls", "tool_calls", "errors", "loop_warnings")


def start_fields(
    run_name: str, argv: list[str], start: Mapping[str, Any], guardrails: Mapping[str, Any]
) -> dict[str, Any]:
    """The payload of RUN_START; `argv` is redacted already."""
    return {
        "run_name": run_name,
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "platform": sys.platform,
        "cwd": _current_folder(),
        "argv": argv,
        **start,
        "guardrails": guardrails,
        "agentdbg_version": __version__,
    }


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError as error:
        pass_on(error)
        return None


def end_summary(counters: Counters, duration_ms: int) -> dict[str, Any]:
    """The `summary` of RUN_END."""
    return {
        "llm_calls": counters.whole("llm_calls"),
        "tool_calls": counters.whole("tool_calls"),
        "errors": counters.whole("errors"),
        "duration_ms": duration_ms,
        "loop_warnings": counters.whole("loop_warnings"),
        "total_tokens": _total_tokens(counters),
        "cost_usd": _cost_usd(counters),
        "loop_cost_usd": _loop_cost_usd(counters),
    }


def encode_run_meta(
    *,
    run_id: str,
    run_name: str,
    started_at: str,
    ended_at: str | None,
    duration_ms: int | None,
    status: str,
    last_event_ts: str,
    counters: Counters,
    guardrails: Mapping[str, Any],
    metadata: bytes,
    redaction: str,
    dropped_by_writer: int,
) -> bytes:
    """The content of run.json; `metadata` is JSON already."""
    meta: dict[str, Any] = {
        "spec_version": SPEC_VERSION,
        "run_id": run_id,
        "run_name": run_name,
        "started_at": started_at,
        "ended_at": ended_at,
        "duration_ms": duration_ms,
        "status": status,
        "counts": {name: counters.whole(name) for name in _COUNTS},
        "last_event_ts": last_event_ts,
        "total_tokens": _total_tokens(counters),
        "cost_usd": _cost_usd(counters),
        "loop_cost_usd": _loop_cost_usd(counters),
        "guardrails": guardrails,
    }
    rest: dict[str, Any] = {
        "agentdbg_version": __version__,
        "redaction": redaction,
        "dropped_events": dropped_by_writer + counters.whole("dropped"),
        "owner": describe_owner(),
    }
    if not counters.is_shared:  # forked children count their types for themselves; readers add the file up
        rest["event_counts"] = counters.by_type()
    return b'%b,"metadata":%b,%b\n' % (encode_json(meta)[:-1], metadata, encode_json(rest)[1:])


def _total_tokens(counters: Counters) -> int | None:
    return counters.whole("total_tokens") if counters.total("tokens_told") else None


def _cost_usd(counters: Counters) -> float | None:
    return round(counters.total("cost_usd"), COST_DIGITS) if counters.total("costs_told") else None


def _loop_cost_usd(counters: Counters) -> float | None:
    return round(counters.total("loop_cost_usd"), COST_DIGITS) if counters.total("loop_cost_known") else None


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
