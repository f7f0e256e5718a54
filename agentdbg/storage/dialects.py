"""
Read what other versions and other writers wrote as if we had written it.

`parse_event` turns one line of events.jsonl into the ten keys, or raises `DamagedLine`. It accepts every looser form
the documents of the trace format show (microseconds, `success`, `finish_reason`, `stack_trace`, fields beside the
payload and so on) and changes nothing in an event that is already in the strict form.
"""

from __future__ import annotations

import json
import math
import re
import uuid
from datetime import datetime, timedelta, timezone
from typing import Any

from agentdbg.events import EVENT_KEYS, SPEC_VERSION, Event, utc_timestamp
from agentdbg.events.facts import ERROR_WORDS, OK_WORDS, error_of, is_span

__all__ = ["DamagedLine", "is_supported_version", "parse_event", "parse_timestamp", "plain_status", "timestamp_ms"]

_STRICT_TIMESTAMP = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-\d\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}Z", re.ASCII)
_LOOSE_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?\s*([Zz]|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_ENVELOPE = frozenset(EVENT_KEYS)
# What stands where a line gives no time at all and nothing before it does either.
_NO_TIME = "1970-01-01T00:00:00.000Z"


class DamagedLine(ValueError):
    """A line that is no event: torn, not JSON, not an object, or of a format we do not read."""


def parse_event(line: bytes, run_id: str, offset: int = 0, fallback_ts: str = _NO_TIME) -> Event:
    """
    The event one line holds, in the strict form.

    `offset` is where the line starts, so that an event without an id gets the same one at every reading;
    `fallback_ts` stands in for a time that is missing or unreadable.
    """
    raw = _parse_object(line)
    spec_version = raw.get("spec_version", SPEC_VERSION)
    if not is_supported_version(spec_version):
        raise DamagedLine(f"trace format {spec_version!r} is not 0.x")
    event_type = raw.get("event_type")
    if not isinstance(event_type, str) or not event_type:
        raise DamagedLine("no event_type")
    meta = _as_object(raw.get("meta"))
    payload = _with_stray_fields(_as_object(raw.get("payload")), raw)
    name = raw.get("name")
    payload = _canonical_payload(event_type, payload, meta, name if isinstance(name, str) else "")
    event_id, parent_id, owner = raw.get("event_id"), raw.get("parent_id"), raw.get("run_id")
    return {
        "spec_version": str(spec_version),
        "event_id": event_id if isinstance(event_id, str) and event_id else _stand_in_id(run_id, offset),
        "run_id": owner if isinstance(owner, str) and owner else run_id,
        "parent_id": parent_id if isinstance(parent_id, str) and parent_id else None,
        "event_type": event_type,
        "ts": parse_timestamp(raw.get("ts")) or fallback_ts,
        "duration_ms": _whole_number(raw.get("duration_ms")),
        "name": name if isinstance(name, str) else _stand_in_name(event_type, payload),
        "payload": payload,
        "meta": meta,
    }


def is_supported_version(spec_version: Any) -> bool:
    """Whether events marked with this version are ours to read: any 0.x."""
    return str(spec_version) == "0" or str(spec_version).startswith("0.")


def parse_timestamp(value: Any) -> str | None:
    """Any readable moment as UTC with milliseconds and Z; None when it is not one. No offset means UTC."""
    if isinstance(value, str):
        if _STRICT_TIMESTAMP.fullmatch(value) and _is_moment(value[:19]):
            return value
        return _from_loose_text(value.strip())
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        seconds = value / 1000 if abs(value) > 1e11 else value  # JavaScript's clock counts milliseconds
        if 0 < seconds < 253_402_300_800:
            return utc_timestamp(seconds)
    return None


def timestamp_ms(text: str) -> int:
    """Milliseconds since 1970 of a strict timestamp."""
    moment = datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc)
    return int(moment.timestamp()) * 1000 + int(text[20:23])


def plain_status(value: Any, has_error: bool = False) -> str:
    """`ok` or `error`, whatever word a writer used; an unknown word is judged by whether an error stands beside it."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in OK_WORDS:
        return "ok"
    if word in ERROR_WORDS or has_error:
        return "error"
    return "ok"


def _parse_object(line: bytes) -> dict[str, Any]:
    from agentdbg.encoding import decode_json  # noqa: PLC0415 -- listing runs needs no fast decoder

    line = line.strip(b"\x00 \t\r\n").removeprefix(b"\xef\xbb\xbf")
    if not line.startswith(b"{"):
        raise DamagedLine("not a JSON object")
    value: dict[str, Any]
    try:
        value = decode_json(line)
    except (ValueError, RecursionError):
        value = _parse_with_large_numbers(line)
    return value


def _parse_with_large_numbers(line: bytes) -> Any:
    """1e999 is JSON, though no float, and so is an integer longer than Python reads: both are kept as their digits."""

    def keep_finite(digits: str) -> float | str:
        number = float(digits)
        return number if math.isfinite(number) else digits

    def keep_readable(digits: str) -> int | str:
        try:
            return int(digits)
        except ValueError:
            return digits

    def refuse(constant: str) -> Any:
        raise DamagedLine(f"{constant} is not JSON")

    try:
        text = line.decode()
        value = json.loads(text, parse_float=keep_finite, parse_int=keep_readable, parse_constant=refuse)
        # What a lone surrogate escape decodes to can be neither stored nor served.
        json.dumps(value, ensure_ascii=False).encode()
    except DamagedLine:
        raise
    except (ValueError, RecursionError) as error:
        raise DamagedLine(str(error)) from None
    return value


def _as_object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {} if value is None else {"value": value}


def _with_stray_fields(payload: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Fields written beside the payload belong inside it, unless it has them already."""
    if len(raw) <= len(EVENT_KEYS) and raw.keys() <= _ENVELOPE:
        return payload
    return {**{key: value for key, value in raw.items() if key not in _ENVELOPE}, **payload}


def _canonical_payload(event_type: str, payload: dict[str, Any], meta: dict[str, Any], name: str) -> dict[str, Any]:
    if event_type in ("LLM_CALL", "TOOL_CALL"):
        payload = _canonical_call(event_type, payload, name)
    elif event_type == "STATE_UPDATE":
        payload = payload if is_span(event_type, meta) else _canonical_state(payload)
    elif event_type == "ERROR":
        payload = _canonical_error(payload)
        payload = payload if "error_type" in payload or not name else {"error_type": name, **payload}
    elif event_type == "LOOP_WARNING":
        payload = _canonical_loop(payload)
    elif event_type == "RUN_END":
        payload = _with_outcome(payload)
    return payload


def _canonical_call(event_type: str, payload: dict[str, Any], name: str) -> dict[str, Any]:
    subject = "model" if event_type == "LLM_CALL" else "tool_name"
    if not isinstance(payload.get(subject), str):
        payload = {**payload, subject: name or "unknown"}
    payload = _renamed(payload, "finish_reason", "stop_reason") if event_type == "LLM_CALL" else payload
    return _with_outcome(payload)


def _with_outcome(payload: dict[str, Any]) -> dict[str, Any]:
    """A payload whose error is an object or null, and whose status is one of our two words."""
    if payload.get("error") is not None:
        error = error_of(payload)
        payload = {**payload, "error": None if error is None else _error_object(error)}
    status = plain_status(payload.get("status"), payload.get("error") is not None)
    return payload if payload.get("status") == status else {**payload, "status": status}


def _canonical_state(payload: dict[str, Any]) -> dict[str, Any]:
    """A payload without `state` is the state itself, unless it only says what changed."""
    if "state" in payload:
        return payload
    return {"state": None, **payload} if payload.keys() <= {"diff", "source"} else {"state": payload, "diff": None}


def _canonical_loop(payload: dict[str, Any]) -> dict[str, Any]:
    payload = _renamed(payload, "repetition_count", "repetitions")
    if "evidence_event_ids" not in payload:
        evidence = payload.get("evidence")
        ids = [item for item in evidence if isinstance(item, str)] if isinstance(evidence, list) else []
        payload = {**payload, "evidence_event_ids": ids}
    return payload


def _error_object(error: Any) -> dict[str, Any]:
    if isinstance(error, dict):
        return _canonical_error(error)
    return {"error_type": "Error", "message": error if isinstance(error, str) else json.dumps(error), "stack": None}


def _canonical_error(error: dict[str, Any]) -> dict[str, Any]:
    return _renamed(_renamed(error, "type", "error_type"), "stack_trace", "stack")


def _renamed(record: dict[str, Any], alias: str, key: str) -> dict[str, Any]:
    """`record` with `alias` under its proper name, in the same place; untouched when the proper name is there."""
    if alias not in record or record.get(key) is not None:
        return record
    return {key if field == alias else field: value for field, value in record.items() if field != key}


def _stand_in_id(run_id: str, offset: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"agentdbg:{run_id}:{offset}"))


def _stand_in_name(event_type: str, payload: dict[str, Any]) -> str:
    for key in ("tool_name", "model", "error_type", "pattern", "run_name", "name"):
        if isinstance(payload.get(key), str):
            return str(payload[key])
    return event_type.lower()


def _whole_number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # More milliseconds than a float counts are no time anything took.
    return max(0, round(value)) if abs(value) < 1 << 53 else None


def _from_loose_text(text: str) -> str | None:
    found = _LOOSE_TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    day, clock, fraction, offset = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}")
        if offset and offset not in "Zz":
            digits = offset[1:].replace(":", "").ljust(4, "0")
            shift = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
            moment = moment - shift if offset[0] == "+" else moment + shift
    except (ValueError, OverflowError):
        return None
    return f"{moment.isoformat()}.{(fraction or '').ljust(3, '0')[:3]}Z"


def _is_moment(text: str) -> bool:
    """Whether a date and time of the right shape exists: there is no 31st of February."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
