"""
Spans that were events of ours before they were pushed, as the events they were.

Every such span carries its event whole, and those that have no length as span events; a lean one says what it says in
the words of the conventions. Ids are given anew by the caller,
because the run they came from may be here too; where a payload names other events, these ids are changed with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentdbg.events import EVENT_TYPES
from agentdbg.events.facts import amount
from agentdbg.interop.drafts import Step, read_arguments
from agentdbg.interop.otel.conventions import AgentDbg, GenAI
from agentdbg.interop.otel.spans_out import LOOP_FACTS, span_id_of
from agentdbg.interop.shapes import as_dict, as_list, as_number, as_word
from agentdbg.interop.span_steps import said_in, step_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentdbg.interop.otel_spans import Span

__all__ = ["ToldRun", "is_own", "told_event_id", "told_run", "told_run_id", "told_start_id", "told_steps"]

_TYPE = re.compile(r"[A-Z][A-Z0-9_]{0,59}", re.ASCII)
# What an event of each type has at least; a sender may leave out anything.
_LEAST: dict[str, dict[str, Any]] = {
    "LLM_CALL": {
        "model": "unknown",
        "prompt": None,
        "response": None,
        "usage": None,
        "provider": "unknown",
        "temperature": None,
        "stop_reason": None,
        "status": "ok",
        "error": None,
    },
    "TOOL_CALL": {"tool_name": "tool", "args": None, "result": None, "status": "ok", "error": None},
    "STATE_UPDATE": {"state": None, "diff": None},
    "ERROR": {"error_type": "Error", "message": "", "stack": None, "details": None},
    "LOOP_WARNING": {"pattern": "", "repetitions": 1, "window_size": 1, "evidence_event_ids": []},
}
_ID_FIELDS = ("call_id", "first_event_id")
_ID_LISTS = ("evidence_event_ids",)


@dataclass
class ToldRun:
    """What the span of a run says of it: its beginning, and its end if it had one."""

    name: str
    start: dict[str, Any]
    meta: dict[str, Any]
    failed: bool
    end: dict[str, Any] | None = None


def is_own(span: Span) -> bool:
    """Whether a span was an event of ours."""
    return AgentDbg.EVENT_TYPE in span.attributes and AgentDbg.RUN_ID in span.attributes


def told_run_id(span: Span) -> str:
    """The run a span was part of; empty when it was none of ours."""
    return _id(span.attributes, AgentDbg.RUN_ID) if is_own(span) else ""


def told_event_id(span: Span) -> str:
    """The event a span was; empty when it was none of ours."""
    return _id(span.attributes, AgentDbg.EVENT_ID) if is_own(span) else ""


def told_run(span: Span) -> ToldRun | None:
    """What the run's own span says; None for any other span."""
    attributes = span.attributes
    if attributes.get(AgentDbg.EVENT_TYPE) != "RUN_START":
        return None
    end = read_arguments(attributes.get(AgentDbg.RUN_END))
    return ToldRun(
        name=as_word(attributes.get(AgentDbg.RUN_NAME)) or span.name,
        start=_object(attributes.get(AgentDbg.PAYLOAD)),
        meta=_object(attributes.get(AgentDbg.META)),
        failed=attributes.get(AgentDbg.RUN_STATUS) == "error",
        end=end if isinstance(end, dict) else None,
    )


def told_steps(span: Span, rename: Callable[[str], str]) -> list[tuple[int, Step]]:
    """The events a span was, each with its place in the run; `rename` gives an event the id it has here."""
    step = _step(span.attributes, span.ended_ms, rename)
    if step is not None and AgentDbg.PAYLOAD not in span.attributes:
        _fill(step, span)
    own = [] if step is None else [(as_number(span.attributes.get(AgentDbg.SEQUENCE)), step)]
    return own + _moments(span, rename)


def told_start_id(spans: list[Span]) -> str | None:
    """The id RUN_START had, as far as the spans of one run tell: the run's own span, else the first thing in it."""
    direct: list[tuple[int, str]] = []
    for span in spans:
        attributes = span.attributes
        event_id, parent_id = _id(attributes, AgentDbg.EVENT_ID), _id(attributes, AgentDbg.PARENT_ID)
        if attributes.get(AgentDbg.EVENT_TYPE) == "RUN_START" and event_id:
            return event_id
        root = span_id_of(_id(attributes, AgentDbg.RUN_ID), None).hex()
        if parent_id and span.parent_id == root:
            direct.append((as_number(attributes.get(AgentDbg.SEQUENCE)), parent_id))
    return min(direct)[1] if direct else None


def _moments(span: Span, rename: Callable[[str], str]) -> list[tuple[int, Step]]:
    found = []
    for event in span.events:
        step = _step(event.attributes, event.at_ms, rename)
        if step is not None:
            if AgentDbg.PAYLOAD not in event.attributes:
                step.fields.update(_said_of_moment(step.event_type, event.attributes))
            found.append((as_number(event.attributes.get(AgentDbg.SEQUENCE)), step))
    return found


def _step(attributes: dict[str, Any], at_ms: float | None, rename: Callable[[str], str]) -> Step | None:
    event_type, event_id = as_word(attributes.get(AgentDbg.EVENT_TYPE)), _id(attributes, AgentDbg.EVENT_ID)
    if event_type in ("RUN_START", "RUN_END") or not event_id or not _is_type(event_type):
        return None
    parent_id = _id(attributes, AgentDbg.PARENT_ID)
    duration_ms, meta = attributes.get(AgentDbg.DURATION_MS), _object(attributes.get(AgentDbg.META))
    return Step(
        event_type,
        as_word(attributes.get(AgentDbg.NAME)),
        _renamed({**_LEAST.get(event_type, {}), **_object(attributes.get(AgentDbg.PAYLOAD))}, rename),
        at_ms=at_ms,
        duration_ms=as_number(duration_ms) if duration_ms is not None else None,
        key=rename(event_id),
        parent=rename(parent_id) if parent_id else None,
        meta=meta,
        is_span=event_type == "STATE_UPDATE" and "span" in meta,
        is_told=True,
    )


def _fill(step: Step, span: Span) -> None:
    """Take what a span that was sent without its event says in the words of the conventions."""
    said = step_of(span)
    if said.event_type != step.event_type:
        return
    step.fields.update(said.fields)
    if step.event_type == "STATE_UPDATE":  # only what lasted has a span of its own
        step.meta, step.is_span = {"span": step.name}, True
    elif step.event_type == "LLM_CALL":
        step.fields["cost_usd"] = amount(span.attributes.get(AgentDbg.COST_USD))
    elif step.event_type == "TOOL_CALL":  # a failed one may have a result, too
        step.fields["result"] = read_arguments(said_in(span.attributes).get("output"))


def _said_of_moment(event_type: str, attributes: dict[str, Any]) -> dict[str, Any]:
    if event_type == "ERROR":
        names = {
            "error_type": GenAI.EXCEPTION_TYPE,
            "message": GenAI.EXCEPTION_MESSAGE,
            "stack": GenAI.EXCEPTION_STACK,
        }
        return {key: attributes[name] for key, name in names.items() if name in attributes}
    if event_type == "LOOP_WARNING":
        return {key: attributes[name] for key, name in LOOP_FACTS.items() if name in attributes}
    return {}


def _is_type(name: str) -> bool:
    return name in EVENT_TYPES or _TYPE.fullmatch(name) is not None


def _renamed(payload: dict[str, Any], rename: Callable[[str], str]) -> dict[str, Any]:
    """A payload whose references to other events hold here too."""
    for key in _ID_FIELDS:
        if as_word(payload.get(key)):
            payload[key] = rename(payload[key])
    for key in _ID_LISTS:
        if isinstance(payload.get(key), list):
            payload[key] = [rename(item) if isinstance(item, str) else item for item in payload[key]]
    for example in as_list(payload.get("evidence")):
        if isinstance(example, dict) and as_word(example.get("event_id")):
            example["event_id"] = rename(example["event_id"])
    return payload


def _id(attributes: dict[str, Any], name: str) -> str:
    """An id as its sender spelt it; one that is no text, or cannot be written, is none."""
    found = as_word(attributes.get(name))
    return "" if found != found.encode(errors="replace").decode() else found


def _object(text: Any) -> dict[str, Any]:
    return as_dict(read_arguments(text))
