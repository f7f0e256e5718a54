"""
The OpenAI Agents SDK: agents, handoffs and guardrails as spans, models as LLM_CALL, tools as TOOL_CALL.

    from agentdbg.integrations import openai_agents      # importing it registers everything

    openai_agents.local_only()      # besides: keep the SDK's own tracing from uploading anything

Responses and Chat Completions models, streaming, parallel tools with their real exceptions, agents as tools. The SDK's
own uploader stays registered beside ours unless `local_only` is called. Where the SDK's tracing is switched off
(`OPENAI_AGENTS_DISABLE_TRACING=1`, `tracing_disabled=True`) nothing is recorded. Supported: openai-agents >= 0.20.

Tracing processors cannot stop a run (the SDK swallows their exceptions), so the calls begin in run hooks, which can.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.exceptions import AgentDbgGuardrailExceeded, RunStopped
from agentdbg.integrations import openai as client
from agentdbg.integrations._client_recording import as_plain
from agentdbg.integrations._pairing import Pairing, contained

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    from agents import RunHooks, add_trace_processor, get_current_span, set_trace_processors
    from agents import tool as agents_tool
    from agents.lifecycle import RunHooksBase
    from agents.run import AgentRunner
    from agents.tracing import TracingProcessor
except ImportError as error:
    raise ImportError("agentdbg records the OpenAI Agents SDK, which is missing: pip install openai-agents") from error

__all__ = ["disable", "enable", "local_only"]

_pairing = Pairing("openai_agents")
_MODEL_SPANS = ("response", "generation")
_UNSEEN_SPANS = ("task", "turn")
_MOST_ERRORS = 1_000


class _Processor(TracingProcessor):  # type: ignore[misc]  # Any where it is not installed
    """Hears of every trace and span, in the context of the code that does the work."""

    def __init__(self) -> None:
        self.enabled = False
        self.registered = False
        self.tool_errors: dict[str, BaseException] = {}
        self._handled: dict[str, BaseException | None] = {}

    @contained
    def on_trace_start(self, trace: Any) -> None:
        if self.enabled:
            self._handled[trace.trace_id] = sys.exc_info()[1]
            _pairing.start(trace.trace_id, "run", trace.name)

    @contained
    def on_trace_end(self, trace: Any) -> None:
        _pairing.end(trace.trace_id, error=self._raised(trace.trace_id))

    @contained
    def on_span_start(self, span: Any) -> None:
        if not self.enabled:
            return
        kind, key, parent = _kind(span), span.span_id, span.parent_id or span.trace_id
        self._handled[key] = sys.exc_info()[1]
        if kind in _MODEL_SPANS:
            if not _pairing.adopt(("asked", parent), key):
                self._start_unannounced_model(span, parent)
        elif kind == "function":
            _pairing.prepare(key, parent)
        elif kind in _UNSEEN_SPANS:
            _pairing.skip(key, parent)
        else:
            name = getattr(span.span_data, "name", None) or kind
            _pairing.start(key, "span", name, parent_key=parent, meta=_span_meta(kind, span.span_data))

    @contained
    def on_span_end(self, span: Any) -> None:
        kind, key, data = _kind(span), span.span_id, span.span_data
        raised = self._raised(key)
        _pairing.drop(("asked", key))
        if kind in _MODEL_SPANS:
            outcome = _read_response(data) if kind == "response" else _read_generation(data)
            cancelled = isinstance(raised, GeneratorExit) or type(raised).__name__ == "CancelledError"
            if cancelled:
                outcome["meta"] = {**outcome.get("meta", {}), "cancelled": True}
            _pairing.end(key, error=None if cancelled else raised or _described(span), **outcome)
        elif kind == "function":
            known = self.tool_errors.pop(key, None) or _root(raised)
            _pairing.end(key, data.output, error=known or _described(span))
        else:
            self._end_step(key, kind, data, raised)

    def shutdown(self) -> None:
        pass

    def force_flush(self) -> None:
        pass

    def _start_unannounced_model(self, span: Any, parent: str) -> None:
        """A model called past the run hooks (a retry of the SDK, or a runner of somebody's own)."""
        try:
            _pairing.start(span.span_id, "llm", getattr(span.span_data, "model", None) or "unknown", parent_key=parent)
        except AgentDbgGuardrailExceeded as stop:
            raise RunStopped(stop) from None  # the SDK would swallow an Exception here and make the call

    def _end_step(self, key: str, kind: str, data: Any, raised: BaseException | None) -> None:
        if kind == "handoff":
            _pairing.end(key, name=f"handoff to {data.to_agent}", meta=_span_meta(kind, data))
        elif kind == "guardrail":
            message = f"the guardrail {data.name} was triggered"
            failure = {"error_type": "GuardrailTripwireTriggered", "message": message} if data.triggered else None
            _pairing.end(key, {"triggered": data.triggered}, error=raised or failure)
        else:
            _pairing.end(key, getattr(data, "data", None), error=raised)

    def _raised(self, key: str) -> BaseException | None:
        """The exception that is leaving a span, and not one that was being handled when it began."""
        now, before = sys.exc_info()[1], self._handled.pop(key, None)
        return None if now is before else now


class _Hooks(RunHooks):  # type: ignore[misc]  # Any where it is not installed
    """The program's own run hooks, if any, with ours before them. Ours may raise: that is how a guardrail stops."""

    def __init__(self, hooks: Any) -> None:
        self._hooks = hooks


def _hook(name: str, ours: Callable[..., None] | None) -> Any:
    async def hook(self: _Hooks, *args: Any, **kwargs: Any) -> None:
        if ours is not None:
            ours(*args, **kwargs)
        if self._hooks is not None:
            await getattr(self._hooks, name)(*args, **kwargs)

    hook.__name__ = name
    return hook


@contained
def _model_asked(_context: Any, agent: Any, system_prompt: str | None, input_items: list[Any]) -> None:
    span = get_current_span()
    if not _processor.enabled or span is None:
        return
    prompt = [*([{"role": "system", "content": system_prompt}] if system_prompt else []), *input_items]
    model = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", None)
    parent = span.span_id
    fields = {"temperature": getattr(agent.model_settings, "temperature", None)}
    meta = {"agent_name": agent.name}
    _pairing.start(("asked", parent), "llm", model or "unknown", prompt, parent_key=parent, meta=meta, **fields)


@contained
def _tool_called(context: Any, agent: Any, tool: Any) -> None:
    span = get_current_span()
    call_id = getattr(context, "tool_call_id", None)
    if not _processor.enabled or span is None or _kind(span) != "function":
        return
    meta = {"agent_name": agent.name, **({"tool_call_id": call_id} if call_id else {})}
    _pairing.start(span.span_id, "tool", tool.name, _arguments(context), asked_by=call_id, meta=meta)


_OURS: dict[str, Callable[..., None]] = {"on_llm_start": _model_asked, "on_tool_start": _tool_called}
for _name in dir(RunHooks):
    if _name.startswith("on_"):
        setattr(_Hooks, _name, _hook(_name, _OURS.get(_name)))


_processor = _Processor()


def enable() -> None:
    """Record every agent of this process from now on."""
    from agents import RunHooks as Current  # noqa: PLC0415

    if Current is not RunHooks:  # the program has imported the SDK anew, with classes of its own
        importlib.reload(sys.modules[__name__])
        return
    if not _processor.registered:
        _processor.registered = True
        add_trace_processor(_processor)
        for method in ("run", "run_streamed"):
            setattr(AgentRunner, method, _with_hooks(getattr(AgentRunner, method)))
        _catch_tool_errors()
    _processor.enabled = True
    client.complete_others()


def disable() -> None:
    """Record no more agents."""
    _processor.enabled = False


def local_only() -> None:
    """Keep the SDK's own tracing from uploading: this recorder becomes the only one that hears of anything."""
    enable()
    set_trace_processors([_processor])


def _with_hooks(run: Any) -> Any:
    @functools.wraps(run)
    def run_with_hooks(self: Any, *args: Any, **kwargs: Any) -> Any:
        _add_hooks(kwargs)
        return run(self, *args, **kwargs)

    return run_with_hooks


@contained
def _add_hooks(kwargs: dict[str, Any]) -> None:
    hooks = kwargs.get("hooks")
    # What is not a set of run hooks is left to the SDK to complain about.
    if _processor.enabled and (hooks is None or isinstance(hooks, RunHooksBase)) and not isinstance(hooks, _Hooks):
        kwargs["hooks"] = _Hooks(hooks)


def _catch_tool_errors() -> None:
    """The SDK turns a tool's exception into words for the model; here it still has the exception in its hand."""
    name = "maybe_invoke_function_tool_failure_error_function"
    original = getattr(agents_tool, name, None)
    if original is None:
        return  # then the event has the SDK's own words

    @functools.wraps(original)
    async def tell_the_model(*args: Any, **kwargs: Any) -> Any:
        _note_tool_error(kwargs.get("error"))
        return await original(*args, **kwargs)

    setattr(agents_tool, name, tell_the_model)


@contained
def _note_tool_error(raised: Any) -> None:
    span = get_current_span()
    if span is not None and isinstance(raised, BaseException) and len(_processor.tool_errors) < _MOST_ERRORS:
        _processor.tool_errors[span.span_id] = raised


# What the SDK's objects say.


def _kind(span: Any) -> str:
    """response, generation, function, agent, turn, task …; some of them call themselves "custom"."""
    return type(span.span_data).__name__.removesuffix("SpanData").lower()


def _span_meta(kind: str, data: Any) -> dict[str, Any]:
    if kind == "agent":
        return {"agent_name": data.name, "agent_type": "agent"}
    if kind == "handoff":
        return {"from_agent": data.from_agent, "to_agent": data.to_agent}
    return {"span_type": kind}


def _read_response(data: Any) -> dict[str, Any]:
    response = as_plain(data.response) if data.response is not None else {}
    return client.read_response(response) if response else {"usage": _known_usage(data.usage)}


def _read_generation(data: Any) -> dict[str, Any]:
    messages = [dict(message) for message in data.output or ()]
    answers = [client.chat_answer(message) for message in messages]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return {
        "result": answers[0] if len(answers) == 1 else answers or None,
        "name": data.model,
        "usage": _known_usage(data.usage),
        "asks_for": [call["id"] for call in calls if call.get("id")],
    }


def _known_usage(usage: Any) -> Any:
    """The SDK says 0 where a stream did not count; what is not known stays unknown."""
    return usage if usage and any(usage.get(key) for key in ("input_tokens", "output_tokens")) else None


def _described(span: Any) -> dict[str, Any] | None:
    """The SDK's own words for what went wrong, where there is no exception to be had."""
    if span.error is None:
        return None
    details = (span.error.get("data") or {}).get("error")
    return {"error_type": "AgentsError", "message": str(details or span.error["message"]), "details": span.error}


def _root(raised: BaseException | None) -> BaseException | None:
    """A tool's exception, out of the one the SDK wraps around it."""
    return raised.__cause__ or raised if raised is not None else None


def _arguments(context: Any) -> Any:
    text = getattr(context, "tool_arguments", None)
    try:
        return json.loads(text) if text else {}
    except (TypeError, ValueError):
        return text


enable()
