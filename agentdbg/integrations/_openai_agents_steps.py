"""
The steps of the OpenAI Agents SDK: agents, handoffs, guardrails, function tools and a program's own spans.

The SDK puts a span around each of them, in the context of the code that does the work, also where its tracing is
switched off; then the span is one that does nothing. So this stands where spans of either kind start and finish. No
processor is registered that a program could replace, and nothing that the SDK exports changes.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, cast

from agents.tracing import get_current_span, get_current_trace
from agents.tracing.spans import NoOpSpan, SpanImpl
from agents.tracing.traces import NoOpTrace, TraceImpl

from agentdbg.around import Pairing, contained

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Steps", "end_of", "kind_of", "pairing"]

pairing = Pairing("openai_agents")
_UNNAMED = "no-op"
_DEFAULT_WORKFLOW = "Agent workflow"
_PASSED_THROUGH = ("task", "turn", "response", "generation")
_MOST_ERRORS = 1_000


class Steps:
    """What the SDK has begun and not ended, told by its traces and spans."""

    def __init__(self) -> None:
        self.enabled = False
        self._results: dict[Hashable, Any] = {}
        self._tool_errors: dict[Hashable, Any] = {}
        self._handled: dict[Hashable, BaseException | None] = {}
        self._calls: dict[Hashable, list[Hashable]] = {}

    def install(self) -> None:
        """Hear of every trace and span from now on."""
        for trace in (TraceImpl, NoOpTrace):
            _before(trace, "start", self.trace_starts)
            _before(trace, "finish", self.trace_ends)
        for span in (SpanImpl, NoOpSpan):
            _before(span, "start", self.span_starts)
            _before(span, "finish", self.span_ends)

    def here(self) -> Hashable:
        """The key of the innermost step around this code; None outside any."""
        around = get_current_span() or get_current_trace()
        return None if around is None else _key(around)

    def expects(self, call: Hashable, step: Hashable) -> None:
        """A call began in this step, and nobody may ever say that it ended: it is over when the step is."""
        self._calls.setdefault(step, []).append(call)

    def tool_returned(self, step: Hashable, result: Any) -> None:
        """What a tool gave, where a trace is not allowed to hold it."""
        if step in self._handled:
            self._results[step] = result

    def tool_failed(self, step: Hashable, error: Any) -> None:
        """What a tool raised or called an error, before the SDK made words for the model of it."""
        if step in self._handled and len(self._tool_errors) < _MOST_ERRORS:
            self._tool_errors.setdefault(step, error)

    @contained
    def trace_starts(self, trace: Any) -> None:
        key = _key(trace)
        if self.enabled and key not in self._handled:
            self._handled[key] = sys.exc_info()[1]
            name = _DEFAULT_WORKFLOW if trace.name == _UNNAMED else trace.name
            pairing.start(key, "span", name, meta=_given_meta(trace))

    @contained
    def trace_ends(self, trace: Any) -> None:
        key = _key(trace)
        raised = self._raised(key)
        self._end_calls(key, raised)
        pairing.end(key, error=raised)

    @contained
    def span_starts(self, span: Any) -> None:
        key = _key(span)
        if not self.enabled or key in self._handled:
            return
        kind, parent = kind_of(span), self._parent(span)
        self._handled[key] = sys.exc_info()[1]
        if kind == "function":
            pairing.prepare(key, parent)
        elif kind in _PASSED_THROUGH:
            pairing.skip(key, parent)
        else:
            name = getattr(span.span_data, "name", None) or kind
            pairing.start(key, "span", name, parent_key=parent, meta=_meta(kind, span.span_data))

    @contained
    def span_ends(self, span: Any) -> None:
        kind, key, data = kind_of(span), _key(span), span.span_data
        raised = self._raised(key)
        self._end_calls(key, raised)
        if kind == "function":
            result, known = self._results.pop(key, None), self._tool_errors.pop(key, None) or _root(raised)
            pairing.end(key, result if data.output is None else data.output, error=known or _described(span))
        elif kind == "handoff":
            pairing.end(key, name=f"handoff to {data.to_agent}", meta=_meta(kind, data))
        elif kind == "guardrail":
            message = f"the guardrail {data.name} was triggered"
            failure = {"error_type": "GuardrailTripwireTriggered", "message": message} if data.triggered else None
            pairing.end(key, {"triggered": data.triggered}, error=raised or failure)
        else:
            pairing.end(key, getattr(data, "data", None), error=raised)

    def _parent(self, span: Any) -> Hashable:
        return (span.parent_id or span.trace_id) if isinstance(span, SpanImpl) else self.here()

    def _end_calls(self, step: Hashable, raised: BaseException | None) -> None:
        for call in self._calls.pop(step, ()):
            pairing.end(call, **end_of(raised))

    def _raised(self, key: Hashable) -> BaseException | None:
        """The exception that is leaving a step, and not one that was being handled when it began."""
        now, before = sys.exc_info()[1], self._handled.pop(key, None)
        return None if now is before else now


def end_of(raised: BaseException | None) -> dict[str, Any]:
    """How a call ended that came to no answer, as arguments of `Pairing.end`."""
    if raised is None or isinstance(raised, GeneratorExit) or type(raised).__name__ == "CancelledError":
        return {"meta": {"cancelled": True}}
    return {"error": raised}


def kind_of(span: Any) -> str:
    """response, generation, function, agent, turn, task …; some of them call themselves "custom"."""
    return type(span.span_data).__name__.removesuffix("SpanData").lower()


def _before(owner: Any, method: str, tell: Callable[[Any], None]) -> None:
    original = vars(owner)[method]

    @functools.wraps(original)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        tell(self)
        return original(self, *args, **kwargs)

    setattr(owner, method, told)


def _key(step: Any) -> Hashable:
    """A trace's or span's id; one that does nothing has none, and is its own key."""
    if isinstance(step, (NoOpSpan, NoOpTrace)):
        return cast("Hashable", step)
    return str(getattr(step, "span_id", None) or step.trace_id)


def _given_meta(trace: Any) -> dict[str, Any]:
    """What the program told the SDK about this work: a conversation's id, and anything else."""
    told = getattr(trace, "metadata", None)
    meta = {str(key): value for key, value in told.items()} if isinstance(told, dict) else {}
    group_id = getattr(trace, "group_id", None)
    return {"span_type": "trace", **({"session_id": group_id, "group_id": group_id} if group_id else {}), **meta}


def _meta(kind: str, data: Any) -> dict[str, Any]:
    if kind == "agent":
        return {"agent_name": data.name, "agent_type": "agent"}
    if kind == "handoff":
        return {"from_agent": data.from_agent, "to_agent": data.to_agent}
    return {"span_type": kind}


def _described(span: Any) -> dict[str, Any] | None:
    """The SDK's own words for what went wrong, where there is no exception to be had."""
    if span.error is None:
        return None
    details = (span.error.get("data") or {}).get("error")
    return {"error_type": "AgentsError", "message": str(details or span.error["message"]), "details": span.error}


def _root(raised: BaseException | None) -> BaseException | None:
    """A tool's exception, out of the one the SDK wraps around it."""
    return raised.__cause__ or raised if raised is not None else None
