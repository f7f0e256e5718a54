"""
The payload of each event, made from what the caller gave, in whatever words.

A value of a wrong type becomes what it can be. A state is stored with its difference to the one of that name before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.encoding import decode_json, encode_json
from agentdbg.events import BUILTIN_EVENT_TYPES
from agentdbg.faults import tell_once
from agentdbg.interruptions import is_interruption
from agentdbg.recorder.described_errors import describe_error, safe_text
from agentdbg.recorder.run_log import fit_payload, join_objects

if TYPE_CHECKING:
    from agentdbg.recorder.active_run import ActiveRun
    from agentdbg.redaction import Redactor

__all__ = ["Payload", "States", "diff_states", "error_fields", "llm_fields", "own_type", "tool_fields", "whole_ms"]

Payload = tuple[dict[str, Any], "tuple[Any, ...] | None"]
"""The fields of an event, and the values among them that came from outside; None: any of them may have."""

# Most calls leave these two as they are, which is quickly seen: the very same text then stands in the payload.
_UNKNOWN = "unknown"
_OK = "ok"
_LARGEST = 2**53  # beyond it numbers are no longer exact for every reader of JSON
# What is known of a model call before anything is; filling in a copy is quicker than making the dict anew.
_LLM_CALL: dict[str, Any] = {
    "model": _UNKNOWN,
    "prompt": None,
    "response": None,
    "usage": None,
    "provider": _UNKNOWN,
    "temperature": None,
    "stop_reason": None,
    "status": _OK,
    "error": None,
    "cost_usd": None,
}
_LONGEST_TYPE = 100
_TEXTS = (str, bytes, bytearray)
_OK_WORDS = {"ok", "success", "completed", "succeeded"}


def llm_fields(
    run: ActiveRun,
    model: Any,
    prompt: Any,
    response: Any,
    usage: Any,
    provider: Any,
    temperature: Any,
    stop_reason: Any,
    status: Any,
    error: Any,
    extra: dict[str, Any],
) -> Payload:
    """The payload of an LLM_CALL from what the caller gave, in whatever words."""
    if type(model) is not str:
        model = _text(model)
    fields = _LLM_CALL.copy()
    fields["model"] = model
    fields["prompt"] = prompt
    fields["response"] = response
    given: tuple[Any, ...] = (prompt, response) if run.clean_name(model) is model else (model, prompt, response)
    if usage is not None:
        fields["usage"], fields["cost_usd"] = run.prices.measured(model, usage)
        if fields["usage"] is not usage:  # it has more than the three counts
            given += (fields["usage"],)
    if provider is not _UNKNOWN:
        fields["provider"] = _text(provider)
        given += (fields["provider"],)
    if temperature is not None:
        fields["temperature"] = _number(temperature)
    if stop_reason is not None:
        fields["stop_reason"] = _text(stop_reason)
        given += (fields["stop_reason"],)
    if error is not None:
        fields["error"] = describe_error(error)
        fields["status"] = "error"
        given += (fields["error"],)
    elif status is not _OK:
        fields["status"] = _status(status)
    return (_with_extra(fields, extra), None) if extra else (fields, given)


def _with_extra(fields: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """A model call with what else the caller gave; the cost, and why the model stopped, may be among it."""
    cost = extra.pop("cost_usd", None)
    if cost is not None:  # the caller knows better
        fields["cost_usd"] = _number(cost)
    stop_reason = extra.pop("finish_reason", None) if fields["stop_reason"] is None else None
    if stop_reason is not None:
        fields["stop_reason"] = _text(stop_reason)
    return {**fields, **_without(extra, fields)}


def tool_fields(
    run: ActiveRun, name: Any, args: Any, result: Any, status: Any, error: Any, extra: dict[str, Any]
) -> Payload:
    """The payload of a TOOL_CALL from what the caller gave."""
    if error is not None:
        error = describe_error(error)
    fields = {
        "tool_name": run.clean_name(name),
        "args": args,
        "result": result,
        "status": "error" if error is not None else _OK if status is _OK else _status(status),
        "error": error,
    }
    if extra:
        return {**fields, **_without(extra, fields)}, None
    return fields, (args, result, error)


def whole_ms(value: Any) -> int | None:
    """A duration as the format wants it: a whole number from 0, or unknown."""
    if type(value) is int and 0 <= value <= _LARGEST:
        return value
    number = None if type(value) is bool else _number(value)
    return None if number is None else max(0, round(number))


def error_fields(error: Any, context: Any, details: Any, fatal: Any) -> dict[str, Any]:
    """The payload of an ERROR from what the caller gave."""
    fields = {**describe_error(error), "context": context, "fatal": _is_true(fatal)}
    if details is not None:
        fields["details"] = details
    return fields


def own_type(event_type: Any) -> str | None:
    """A user's own event type as it is stored; None, and a word about it, for what cannot be one."""
    name = _text(event_type)[:_LONGEST_TYPE].strip().upper().replace("-", "_").replace(" ", "_")
    if name in BUILTIN_EVENT_TYPES:
        message = f"record_event: {name} is a built-in type; use its own verb. Nothing was recorded."
    elif not name or not name.replace("_", "").isalnum() or not name.isascii() or not name[0].isalpha():
        shown = f"{_text(event_type)[:60]!r:.60}"
        message = f"record_event: {shown} cannot be an event type; write it in capitals, like CHECKPOINT."
    else:
        return name
    tell_once(f"event type:{name}", message)
    return None


def _without(extra: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in extra.items() if key not in fields}


def _status(status: Any) -> str:
    return "ok" if _text(status)[:20].lower() in _OK_WORDS else "error"


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    return "unknown" if value is None else safe_text(value)


def _number(value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = value if type(value) in (float, int) else float(value[:40] if type(value) in _TEXTS else value)
    except Exception as error:  # the value's own methods failed
        if is_interruption(error):
            raise
        return None
    return number if -_LARGEST <= number <= _LARGEST else None  # neither NaN nor infinity is JSON


def _is_true(value: Any) -> bool:
    try:
        return bool(value)
    except Exception as error:  # an array has no truth
        if is_interruption(error):
            raise
        return False


_MOST_NAMES = 1_000


class States:
    """Remembers the last state of each name, as it was stored."""

    __slots__ = ("_by_name", "_max_field_bytes", "_redactor", "last")

    def __init__(self, redactor: Redactor, max_field_bytes: int) -> None:
        self._redactor = redactor
        self._max_field_bytes = max_field_bytes
        self._by_name: dict[str, bytes] = {}
        self.last: bytes | None = None
        """The newest state of any name, as JSON."""

    def seal(self, name: str, fields: dict[str, Any], *, is_told: bool = False) -> tuple[dict[str, Any], bytes]:
        """The payload of a STATE_UPDATE; `diff` is worked out where the caller has none, unless the event is told."""
        extra = {key: value for key, value in fields.items() if key not in ("state", "diff")}
        diff = fields.get("diff")
        value, encoded = self._redactor.seal_parts({"state": fields.get("state")})
        stored = encoded[len(b'{"state":') : -1]
        before = self._by_name.get(name)
        rest = b""
        if diff is None and before is not None and not is_told:
            diff = diff_states(before, stored)
            # Taken from two stored states, so nothing in it is left to redact.
            rest = b"" if extra else encode_json({"diff": diff})
        if not rest or len(rest) > self._max_field_bytes:
            rest = self._redactor.seal({"diff": diff, **extra}).encoded
        if before is not None or len(self._by_name) < _MOST_NAMES:
            self._by_name[name] = stored
        self.last = stored
        return value, fit_payload(join_objects(encoded, rest))


def diff_states(before: bytes, after: bytes) -> dict[str, Any] | None:
    """
    The keys that are new or changed with their new values, and the removed ones with null.

    Both states are given as they were stored. None when either of them is not a dict. A key that became null and one
    that was removed are told apart by the state beside the diff.
    """
    if before == after:
        return {} if before.startswith(b"{") else None
    old, new = decode_json(before), decode_json(after)
    if not isinstance(old, dict) or not isinstance(new, dict):
        return None
    changed = {key: value for key, value in new.items() if key not in old or old[key] != value}
    return changed | {key: None for key in old if key not in new}
