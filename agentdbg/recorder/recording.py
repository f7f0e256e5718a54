"""
The verbs that record what has just happened: `record_llm_call`, `record_tool_call`, `record_state`, …

Each returns the event's id, or None when nothing is being recorded. A wrong type is recorded as best it can be; only
a guardrail the user asked for is ever raised. Each asks first, written out because most programs that call it are not
being recorded, whether this process has any run at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events import BUILTIN_EVENT_TYPES
from agentdbg.exceptions import AgentDbgGuardrailExceeded, RunStopped
from agentdbg.faults import contain, tell_once
from agentdbg.recorder.context import enter_scope, live_runs, own_scope
from agentdbg.recorder.errors import describe_error, safe_text
from agentdbg.recorder.given_meta import with_effect
from agentdbg.recorder.runs import IMPLICIT, scope_elsewhere, variables
from agentdbg.recorder.sources import user_source

if TYPE_CHECKING:
    from agentdbg.recorder.pipeline import ActiveRun

__all__ = ["record_error", "record_event", "record_llm_call", "record_state", "record_tool_call"]

STOPS = (AgentDbgGuardrailExceeded, RunStopped)
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


def record_llm_call(
    model: str = "unknown",
    prompt: Any = None,
    response: Any = None,
    usage: Any = None,
    meta: Any = None,
    provider: str = _UNKNOWN,
    temperature: float | None = None,
    stop_reason: str | None = None,
    status: str = _OK,
    error: Any = None,
    duration_ms: float | None = None,
    **extra: Any,
) -> str | None:
    """Record a model call that has been made. `finish_reason` is `stop_reason`; other keywords land in the payload."""
    scope = own_scope()
    if scope is None and (not (live_runs or IMPLICIT in variables) or (scope := scope_elsewhere()) is None):
        return None
    try:
        fields, given = llm_fields(
            scope.run, model, prompt, response, usage, provider, temperature, stop_reason, status, error, extra
        )
        event_id = scope.run.emit(
            "LLM_CALL",
            model,
            fields,
            meta,
            scope.parent_id,
            given,
            None if duration_ms is None else whole_ms(duration_ms),
            None if "source" in extra else user_source(),
        )
    except STOPS:
        raise
    except Exception as fault:  # noqa: BLE001
        contain(fault, "record a model call", scope.run.count_fault)
        return None
    if event_id is not None:
        enter_scope(scope.after_model_call(event_id))
    return event_id


def record_tool_call(
    name: str,
    args: Any = None,
    result: Any = None,
    meta: Any = None,
    status: str = _OK,
    error: Any = None,
    duration_ms: float | None = None,
    **extra: Any,
) -> str | None:
    """
    Record a tool call that has been made; it hangs under the model call that led to it.

    `effect="write"` says that it changed something outside the agent, `effect="read"` that it did not; other keywords
    land in the payload.
    """
    scope = own_scope()
    if scope is None and (not (live_runs or IMPLICIT in variables) or (scope := scope_elsewhere()) is None):
        return None
    try:
        if "effect" in extra:
            meta = with_effect(meta, extra.pop("effect"))
        fields, given = tool_fields(scope.run, name, args, result, status, error, extra)
        return scope.run.emit(
            "TOOL_CALL",
            name,
            fields,
            meta,
            scope.llm_id or scope.parent_id,
            given,
            None if duration_ms is None else whole_ms(duration_ms),
            None if "source" in extra else user_source(),
        )
    except STOPS:
        raise
    except Exception as fault:  # noqa: BLE001
        contain(fault, "record a tool call", scope.run.count_fault)
        return None


def record_state(
    state: Any = None, meta: Any = None, diff: Any = None, name: str = "state", **extra: Any
) -> str | None:
    """Record the agent's state; what changed since the last state of that name is worked out."""
    scope = own_scope()
    if scope is None and (not (live_runs or IMPLICIT in variables) or (scope := scope_elsewhere()) is None):
        return None
    try:
        return scope.run.emit_state(
            name,
            state,
            diff,
            extra,
            meta,
            parent_id=scope.parent_id,
            source=None if "source" in extra else user_source(),
        )
    except STOPS:
        raise
    except Exception as fault:  # noqa: BLE001
        contain(fault, "record a state", scope.run.count_fault)
        return None


def record_error(
    error: Any, context: Any = None, details: Any = None, fatal: bool = False, meta: Any = None
) -> str | None:
    """Record an error the program has dealt with, or is about to die of (`fatal`)."""
    scope = own_scope()
    if scope is None and (not (live_runs or IMPLICIT in variables) or (scope := scope_elsewhere()) is None):
        return None
    try:
        fields = {**describe_error(error), "context": context, "fatal": _is_true(fatal)}
        if details is not None:
            fields["details"] = details
        return scope.run.emit(
            "ERROR", fields["error_type"], fields, meta, parent_id=scope.parent_id, source=user_source()
        )
    except STOPS:
        raise
    except Exception as fault:  # noqa: BLE001
        contain(fault, "record an error", scope.run.count_fault)
        return None


def record_event(
    event_type: str, name: str, payload: Any = None, meta: Any = None, duration_ms: float | None = None
) -> str | None:
    """Record an event of the user's own type, written in capitals (`"CHECKPOINT"`)."""
    scope = own_scope()
    if scope is None and (not (live_runs or IMPLICIT in variables) or (scope := scope_elsewhere()) is None):
        return None
    try:
        own_type = _own_type(event_type)
        if own_type is None:
            return None
        fields = payload if type(payload) is dict else {} if payload is None else {"value": payload}
        return scope.run.emit(
            own_type,
            name,
            fields,
            meta,
            parent_id=scope.parent_id,
            duration_ms=whole_ms(duration_ms),
            source=None if "source" in fields else user_source(),
        )
    except STOPS:
        raise
    except Exception as fault:  # noqa: BLE001
        contain(fault, "record an event", scope.run.count_fault)
        return None


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
    given: tuple[Any, ...] = (model, prompt, response)
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


def _own_type(event_type: Any) -> str | None:
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
    except Exception:  # noqa: BLE001 -- the value's own methods failed
        return None
    return number if -_LARGEST <= number <= _LARGEST else None  # neither NaN nor infinity is JSON


def _is_true(value: Any) -> bool:
    try:
        return bool(value)
    except Exception:  # noqa: BLE001 -- an array has no truth
        return False
