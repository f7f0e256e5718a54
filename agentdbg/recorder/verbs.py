"""
The verbs that record what has just happened: `record_llm_call`, `record_tool_call`, `record_state`, …

Each returns the event's id, or None when nothing is being recorded. A wrong type is recorded as best it can be; only
a guardrail the user asked for is ever raised. Each asks first, written out because most programs that call it are not
being recorded, whether this process has any run at all.
"""

from __future__ import annotations

from typing import Any

from agentdbg.exceptions import AgentDbgGuardrailExceeded, RunStopped
from agentdbg.faults import is_contained
from agentdbg.recorder.context import enter_scope, live_runs, own_scope
from agentdbg.recorder.given_values import with_effect
from agentdbg.recorder.run_lifecycle import IMPLICIT, scope_elsewhere, variables
from agentdbg.recorder.source_lines import user_source

__all__ = ["record_error", "record_event", "record_llm_call", "record_outcome", "record_state", "record_tool_call"]

STOPS = (AgentDbgGuardrailExceeded, RunStopped)
_UNKNOWN = "unknown"
_OK = "ok"


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
        fields, given = scope.run.llm_fields(
            model, prompt, response, usage, provider, temperature, stop_reason, status, error, extra
        )
        draft = scope.run.draft(
            "LLM_CALL",
            model,
            fields,
            meta,
            scope.parent_id,
            scope.budget,
            given,
            None if duration_ms is None else scope.run.whole_ms(duration_ms),
            None if "source" in extra else user_source(),
        )
        event_id = scope.run.emit(draft)
    except BaseException as fault:
        if not is_contained(fault, "record a model call", scope.run.count_fault):
            raise
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
        fields, given = scope.run.tool_fields(name, args, result, status, error, extra)
        draft = scope.run.draft(
            "TOOL_CALL",
            name,
            fields,
            meta,
            scope.llm_id or scope.parent_id,
            scope.budget,
            given,
            None if duration_ms is None else scope.run.whole_ms(duration_ms),
            None if "source" in extra else user_source(),
        )
        return scope.run.emit(draft)
    except BaseException as fault:
        if not is_contained(fault, "record a tool call", scope.run.count_fault):
            raise
        return None


def record_state(
    state: Any = None, meta: Any = None, diff: Any = None, name: str = "state", **extra: Any
) -> str | None:
    """Record the agent's state; what changed since the last state of that name is worked out."""
    scope = own_scope()
    if scope is None and (not (live_runs or IMPLICIT in variables) or (scope := scope_elsewhere()) is None):
        return None
    try:
        fields = {"state": state, "diff": diff, **extra}
        source = None if "source" in extra else user_source()
        draft = scope.run.draft("STATE_UPDATE", name, fields, meta, scope.parent_id, scope.budget, source=source)
        return scope.run.emit(draft)
    except BaseException as fault:
        if not is_contained(fault, "record a state", scope.run.count_fault):
            raise
        return None


def record_error(
    error: Any, context: Any = None, details: Any = None, fatal: bool = False, meta: Any = None
) -> str | None:
    """Record an error the program has dealt with, or is about to die of (`fatal`)."""
    scope = own_scope()
    if scope is None and (not (live_runs or IMPLICIT in variables) or (scope := scope_elsewhere()) is None):
        return None
    try:
        fields = scope.run.error_fields(error, context, details, fatal)
        name = fields["error_type"]
        draft = scope.run.draft("ERROR", name, fields, meta, scope.parent_id, scope.budget, source=user_source())
        return scope.run.emit(draft)
    except BaseException as fault:
        if not is_contained(fault, "record an error", scope.run.count_fault):
            raise
        return None


def record_outcome(
    passed: bool | None = None, *, score: float | None = None, why: str | None = None, **extra: Any
) -> str | None:
    """
    Record whether the run did its task, which a program knows that checks its own work; the last one counts.

    A score says it by itself if it is 1, or 0 and below, and one in between beside a `pass_mark`. The run goes on, and
    its status stays what it is.
    """
    if score is None and type(passed) in (int, float):
        passed, score = None, passed
    word = "outcome" if passed is None else "passed" if passed else "failed"
    return record_event("OUTCOME", word, {**extra, "passed": passed, "score": score, "why": why})


def record_event(
    event_type: str, name: str, payload: Any = None, meta: Any = None, duration_ms: float | None = None
) -> str | None:
    """Record an event of the user's own type, written in capitals (`"CHECKPOINT"`)."""
    scope = own_scope()
    if scope is None and (not (live_runs or IMPLICIT in variables) or (scope := scope_elsewhere()) is None):
        return None
    try:
        own_type = scope.run.own_type(event_type)
        if own_type is None:
            return None
        fields = payload if type(payload) is dict else {} if payload is None else {"value": payload}
        draft = scope.run.draft(
            own_type,
            name,
            fields,
            meta,
            scope.parent_id,
            scope.budget,
            duration_ms=scope.run.whole_ms(duration_ms),
            source=None if "source" in fields else user_source(),
        )
        return scope.run.emit(draft)
    except BaseException as fault:
        if not is_contained(fault, "record an event", scope.run.count_fault):
            raise
        return None
