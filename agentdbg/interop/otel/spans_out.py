"""
The spans of a run, complete: ids, times, status, attributes and the events in them.

Ids come from the ids of the run and its events, so the same event is the same span wherever and how often it is sent.
Every span carries its event whole under `agentdbg.*`; beside that it says the same in the words that were asked for.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentdbg.analysis import conversation
from agentdbg.analysis.checks.run_facts import AnswerReader
from agentdbg.analysis.run_columns import CALL_START, EXCEPTION, LLM, LOOP, SPAN, TOOL, kind_of
from agentdbg.encoding import encode_json
from agentdbg.events.facts import call_failed, cost_of
from agentdbg.interop.otel import genai, openinference
from agentdbg.interop.otel.conventions import AgentDbg, GenAI, OpenInference
from agentdbg.interop.otel.outline import RUN
from agentdbg.interop.shapes import as_dict, as_word
from agentdbg.storage.dialects import timestamp_ms

if TYPE_CHECKING:
    from agentdbg.events import Event, RunMeta
    from agentdbg.interop.otel.outline import Moment, Node

__all__ = ["LOOP_FACTS", "SpanEvent", "SpanMaker", "span_id_of", "trace_id_of"]

_ROOT = "run"
_MESSAGE = "agentdbg.message"
_COPIES = (AgentDbg.PAYLOAD, AgentDbg.META, AgentDbg.RUN_END)
"""What holds an event as it is stored."""
LOOP_FACTS = {
    "kind": AgentDbg.LOOP_KIND,
    "severity": AgentDbg.LOOP_SEVERITY,
    "pattern": AgentDbg.LOOP_PATTERN,
    "repetitions": AgentDbg.LOOP_REPETITIONS,
    "explanation": AgentDbg.LOOP_EXPLANATION,
}


@dataclass
class SpanEvent:
    """Something that happened in a span, and when, in milliseconds since 1970."""

    name: str
    at_ms: int
    attributes: dict[str, Any]


@dataclass
class SpanOut:
    """A span before it is put on the wire. Attributes that are None are left out."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    is_client: bool
    start_ms: int
    end_ms: int
    attributes: dict[str, Any]
    failed: bool | None = None
    """None where the event says nothing about it."""
    message: str = ""
    events: list[SpanEvent] = field(default_factory=list)


def trace_id_of(run_id: str) -> bytes:
    """The id of the trace that a run becomes."""
    return hashlib.sha256(f"agentdbg trace {run_id}".encode()).digest()[:16]


def span_id_of(run_id: str, event_id: str | None) -> bytes:
    """The id of the span that an event becomes; the run's own for None."""
    return hashlib.sha256(f"agentdbg span {run_id} {event_id or _ROOT}".encode()).digest()[:8]


class SpanMaker:
    """
    Makes the spans of one run, in the words of the GenAI conventions or of OpenInference.

    With `lean` a span says what it says in those words alone, without the event as it is stored.
    """

    def __init__(self, run_id: str, *, openinference_names: bool = False, lean: bool = False) -> None:
        self._run_id = run_id
        self._lean = lean
        self._asked: str | None = None
        self._answer = AnswerReader()
        self._trace_id = trace_id_of(run_id)
        self._words = openinference if openinference_names else genai

    def hear(self, event: Event) -> None:
        """Take note of what was asked and answered; lists of traces show that of the run itself."""
        payload = as_dict(event["payload"])
        name = as_word(payload.get("tool_name")) or event["name"]
        self._answer.add(event["event_type"], name, payload)
        if self._asked is None and event["event_type"] == "LLM_CALL":
            asked = (turn.text for turn in conversation.turns(payload.get("prompt")) if turn.role == "user")
            self._asked = next((text for text in asked if text.strip()), None)

    def make(self, node: Node, meta: RunMeta) -> SpanOut:
        """The span of one node; `meta` is what is known of the run now."""
        span = self._make(node, meta)
        if self._lean:
            # What a person said stands nowhere else.
            moments = [event.attributes for event in span.events if event.name != _MESSAGE]
            for attributes in (span.attributes, *moments):
                for copy in _COPIES:
                    attributes.pop(copy, None)
        return span

    def _make(self, node: Node, meta: RunMeta) -> SpanOut:
        if node.kind == RUN:
            return self._run(node, meta)
        assert node.event is not None
        event, kind = node.event, node.kind
        if kind == CALL_START:
            return self._unfinished_call(node, event)
        end_ms = timestamp_ms(event["ts"])
        payload = event["payload"]
        says: dict[str, Any] = {}
        name = event["name"]
        if kind in (LLM, TOOL, SPAN):
            says = self._words.span_says(kind, name, payload)
            name = genai.span_name(kind, name, payload)
        span = self._span(node, name, end_ms - (event["duration_ms"] or 0), end_ms, says)
        if kind in (LLM, TOOL, SPAN):
            span.failed = call_failed(payload)
        if span.failed:
            _fail(span, payload.get("error"))
        if kind == LLM:
            span.attributes[AgentDbg.COST_USD] = cost_of(payload)
        return span

    def _run(self, node: Node, meta: RunMeta) -> SpanOut:
        start = node.event
        payload = start["payload"] if start else {}
        ended = node.end.event if node.end else None
        end = ended["payload"] if ended else {}
        name = meta["run_name"] or as_word(payload.get("run_name")) or "run"
        started_ms = timestamp_ms(start["ts"] if start else meta["started_at"])
        ended_ms = timestamp_ms(ended["ts"] if ended else node.last_ts or meta["started_at"])
        given = {**as_dict(payload.get("args")), **as_dict(payload.get("kwargs"))}
        answer = self._answer.text() or None
        says = self._words.agent_attributes(name, given or self._asked, end.get("result") or answer)
        # Phoenix and MLflow show these in their lists, whatever words the rest is in.
        says[OpenInference.INPUT] = genai.text_of(self._asked or given or None)
        says[OpenInference.OUTPUT] = genai.text_of(answer or end.get("result"))
        span = self._span(node, f"{GenAI.INVOKE_AGENT} {name}", started_ms, max(ended_ms, started_ms), says)
        span.failed = meta["status"] != "ok" if ended is None else call_failed(end)
        span.attributes.update(_session(meta.get("metadata") or {}))
        span.attributes[AgentDbg.RUN_NAME] = name
        span.attributes[AgentDbg.RUN_STATUS] = "error" if span.failed else "ok"
        if node.end is not None:
            span.attributes[AgentDbg.RUN_END] = encode_json(end).decode()
            span.attributes[AgentDbg.RUN_END_ID] = node.end.event["event_id"]
            span.attributes[AgentDbg.RUN_END_SEQUENCE] = node.end.sequence
        if span.failed:
            reason = end.get("error") or {"error_type": "RunNotEnded", "message": meta.get("status_reason", "")}
            # The ERROR that ended the run tells the same with its stack, where there is one.
            told = any(kind_of(moment.event["event_type"], None) == EXCEPTION for moment in node.moments)
            _fail(span, reason, tell=not told)
        return span

    def _unfinished_call(self, node: Node, event: Event) -> SpanOut:
        """A call that was running when the run's process died."""
        payload = event["payload"]
        kind = LLM if payload.get("kind") == "llm" else TOOL
        known = {"prompt": payload.get("input")} if kind == LLM else {"args": payload.get("input")}
        started_ms = timestamp_ms(event["ts"])
        span = self._span(
            node,
            genai.span_name(kind, event["name"], known),
            started_ms,
            max(timestamp_ms(node.last_ts), started_ms),
            self._words.span_says(kind, event["name"], known),
        )
        span.span_id = span_id_of(self._run_id, as_word(payload.get("call_id")) or event["event_id"])
        span.failed = True
        _fail(span, {"error_type": "CallNotEnded", "message": "the run ended while this call was still running"})
        return span

    def _span(self, node: Node, name: str, start_ms: int, end_ms: int, says: dict[str, Any]) -> SpanOut:
        event = node.event
        is_run = node.kind == RUN
        own = _whole(event, node.sequence) if event else {AgentDbg.EVENT_TYPE: "RUN_START"}
        return SpanOut(
            trace_id=self._trace_id,
            span_id=span_id_of(self._run_id, None if is_run or event is None else event["event_id"]),
            parent_id=b"" if is_run else span_id_of(self._run_id, node.parent_id),
            name=name,
            is_client=node.kind == LLM or (event is not None and event["payload"].get("kind") == "llm"),
            start_ms=max(start_ms, 0),
            end_ms=end_ms,
            attributes={**says, **_source(event), **_session(event["meta"] if event else {}), **own}
            | {AgentDbg.RUN_ID: self._run_id},
            events=[_span_event(moment) for moment in node.moments],
        )


def _whole(event: Event, sequence: int) -> dict[str, Any]:
    """The event itself, as attributes."""
    return {
        AgentDbg.EVENT_ID: event["event_id"],
        AgentDbg.EVENT_TYPE: event["event_type"],
        AgentDbg.NAME: event["name"],
        AgentDbg.PARENT_ID: event["parent_id"],
        AgentDbg.SEQUENCE: sequence,
        AgentDbg.DURATION_MS: event["duration_ms"],
        AgentDbg.PAYLOAD: encode_json(event["payload"]).decode(),
        AgentDbg.META: encode_json(event["meta"]).decode() if event["meta"] else None,
    }


def _span_event(moment: Moment) -> SpanEvent:
    event = moment.event
    kind = kind_of(event["event_type"], None)
    payload = event["payload"]
    attributes = _whole(event, moment.sequence)
    name = f"agentdbg.{event['event_type'].lower()}"
    if kind == EXCEPTION:
        name = GenAI.EXCEPTION
        attributes.update(_exception(payload))
    elif kind == LOOP:
        attributes.update({attribute: payload.get(key) for key, attribute in LOOP_FACTS.items()})
    return SpanEvent(name, timestamp_ms(event["ts"]), attributes)


def _fail(span: SpanOut, error: Any, *, tell: bool = True) -> None:
    """Say of a span that it failed, and why; `tell` adds the exception as something that happened in it."""
    facts = _exception(as_dict(error) or {"message": as_word(error)})
    span.attributes[GenAI.ERROR_TYPE] = facts[GenAI.EXCEPTION_TYPE]
    span.message = facts[GenAI.EXCEPTION_MESSAGE] or facts[GenAI.EXCEPTION_TYPE]
    if tell:
        span.events.append(SpanEvent(GenAI.EXCEPTION, span.end_ms, facts))


def _exception(error: dict[str, Any]) -> dict[str, Any]:
    return {
        GenAI.EXCEPTION_TYPE: as_word(error.get("error_type")) or "_OTHER",
        GenAI.EXCEPTION_MESSAGE: as_word(error.get("message")),
        GenAI.EXCEPTION_STACK: as_word(error.get("stack")) or None,
    }


def _source(event: Event | None) -> dict[str, Any]:
    """Where in the user's code it was recorded."""
    path, colon, line = as_word(event["payload"].get("source") if event else None).rpartition(":")
    return {GenAI.CODE_FILE: path, GenAI.CODE_LINE: int(line)} if colon and line.isdecimal() else {}


def _session(meta: dict[str, Any]) -> dict[str, Any]:
    session, user = as_word(meta.get("session_id")) or None, as_word(meta.get("user_id")) or None
    return {GenAI.CONVERSATION_ID: session, GenAI.SESSION_ID: session, GenAI.USER_ID: user}
