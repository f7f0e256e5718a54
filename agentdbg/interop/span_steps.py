"""
What a span says happened: a model call, a tool call, or a stretch of work.

One mapping for every instrumentation, used for files of spans and for spans as they arrive. Tokens that came from a
cache are part of the input, whichever way they were counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import Step, model_call, read_arguments, span, tool_call
from agentdbg.interop.otel.conventions import GenAI, OpenInference, provider_here
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.span_messages import finish_reason_in, listed_under, messages_in, tools_in
from agentdbg.interop.span_names import SpanNames

if TYPE_CHECKING:
    from agentdbg.interop.spans import Span

__all__ = ["facts_of", "failure_of", "name_of_run", "output_of", "step_of"]

_MODEL_KINDS = frozenset({"llm", "chat", "text_completion", "generate_content", "completion"})
_EMBEDDING_KINDS = frozenset({"embeddings", "embedding"})
_TOOL_KINDS = frozenset({"tool", "execute_tool", "retriever", "reranker", "retrieval", "rerank"})
_SPAN_KINDS = frozenset(
    {"agent", "chain", "workflow", "task", "invoke_agent", "create_agent", "invoke_workflow", "evaluator", "guardrail"}
)


def step_of(found: Span) -> Step:
    """One span as a step; `key` and `parent` are span ids."""
    place: dict[str, Any] = {
        "key": found.span_id,
        "parent": found.parent_id,
        "at_ms": found.ended_ms if found.ended_ms is not None else found.started_ms,
        "duration_ms": found.duration_ms,
    }
    error = failure_of(found) if found.failed else None
    kind = _kind(found.attributes)
    if kind == "model":
        return _model_step(found, error, place)
    if kind == "embedding":
        return _embedding_step(found, error, place)
    given, output = _input_of(found), output_of(found)
    if kind == "tool":
        name = _first(found.attributes, *SpanNames.TOOL_NAME) or found.name
        return tool_call(name, given, None if error else output, error=error, **place)
    return span(found.name, error=error, input=given, output=output, **place)


def output_of(found: Span) -> Any:
    """What the work of a span came to."""
    return read_arguments(_first(found.attributes, *SpanNames.OUTPUT))


def name_of_run(found: Span) -> str:
    """What a run is called that this span is the root of."""
    return str(_first(found.attributes, *SpanNames.AGENT_NAME) or found.name)


def facts_of(found: Span) -> dict[str, Any]:
    """What a span says of its run beyond what happened: whose it is, where it ran."""
    facts: dict[str, Any] = {"trace_id": found.trace_id}
    said = {
        "service": found.resource.get("service.name"),
        "session_id": _first(found.attributes, *SpanNames.SESSION_ID),
        "user_id": _first(found.attributes, *SpanNames.USER_ID),
    }
    facts.update((name, value) for name, value in said.items() if isinstance(value, str) and value)
    return facts


def failure_of(found: Span) -> dict[str, Any]:
    """The exception a failed span recorded, else its status."""
    for event in reversed(found.events):
        if event.name == GenAI.EXCEPTION:
            return {
                "error_type": _class_name(event.attributes.get(GenAI.EXCEPTION_TYPE)),
                "message": event.attributes.get(GenAI.EXCEPTION_MESSAGE) or found.message,
                "stack": event.attributes.get(GenAI.EXCEPTION_STACK),
            }
    kind, separator, message = found.message.partition(": ")
    if separator and kind.replace(".", "").replace("_", "").isalnum():
        return {"error_type": _class_name(kind), "message": message}
    error_type = _class_name(found.attributes.get(GenAI.ERROR_TYPE))
    return {"error_type": error_type, "message": found.message or f"{found.name} failed"}


def _class_name(told: Any) -> str:
    """An exception's class without its module, as a recorder names it."""
    return as_word(told).rpartition(".")[2] or "Error"


def _kind(attributes: dict[str, Any]) -> str:
    for key in SpanNames.KIND:
        told = as_word(attributes.get(key)).lower()
        if told in _MODEL_KINDS:
            return "model"
        if told in _EMBEDDING_KINDS:
            return "embedding"
        if told in _TOOL_KINDS:
            return "tool"
        if told in _SPAN_KINDS:
            return ""
    if GenAI.REQUEST_MODEL in attributes or "llm.request.type" in attributes:
        return "model"
    return "tool" if GenAI.TOOL_NAME in attributes or "ai.toolCall.name" in attributes else ""


def _model_step(found: Span, error: dict[str, Any] | None, place: dict[str, Any]) -> Step:
    attributes = found.attributes
    prompt = messages_in(found, "input")
    if prompt is None:
        given = _input_of(found)
        prompt = given.get("messages", given) if isinstance(given, dict) else given
    answers = messages_in(found, "output")
    response: Any = answers[0] if answers and len(answers) == 1 else answers
    if response is None:
        response = output_of(found)
    return _call_of_model(found, prompt, response, error, place, tools=tools_in(attributes), usage=_usage(attributes))


def _embedding_step(found: Span, error: dict[str, Any] | None, place: dict[str, Any]) -> Step:
    """Embeddings, told by how many and how long they are: the numbers themselves say nothing to a person."""
    items = [
        as_dict(as_dict(item).get("embedding")) for item in listed_under(found.attributes, "embedding.embeddings.")
    ]
    vectors = [item["vector"] for item in items if isinstance(item.get("vector"), list)]
    prompt = [item["text"] for item in items if "text" in item]
    prompt = prompt or [as_dict(message).get("content") for message in messages_in(found, "input") or ()]
    dimensions = len(vectors[0]) if vectors else found.attributes.get("gen_ai.embeddings.dimension.count")
    response = None if dimensions is None else {"embeddings": len(vectors) or None, "dimensions": dimensions}
    usage = _usage(found.attributes)
    if usage is not None and usage["total_tokens"] is None:
        usage["total_tokens"] = usage["prompt_tokens"]  # nothing is generated
    given = prompt[0] if len(prompt) == 1 else prompt or _input_of(found)
    return _call_of_model(found, given, response, error, place, usage=usage)


def _call_of_model(
    found: Span, prompt: Any, response: Any, error: dict[str, Any] | None, place: dict[str, Any], **more: Any
) -> Step:
    attributes = found.attributes
    parameters = as_dict(read_arguments(attributes.get(OpenInference.PARAMETERS)))
    temperature = attributes.get(GenAI.TEMPERATURE)
    provider = as_word(_first(attributes, *SpanNames.PROVIDER)).lower()
    return model_call(
        _first(attributes, *SpanNames.MODEL) or parameters.get("model") or found.name,
        prompt,
        None if error else response,
        provider=provider_here(provider),
        temperature=temperature if temperature is not None else parameters.get("temperature"),
        stop_reason=_stop_reason(found),
        error=error,
        cost_usd=_first(attributes, *SpanNames.COST),
        **more,
        **place,
    )


def _stop_reason(found: Span) -> str | None:
    reasons = read_arguments(found.attributes.get(GenAI.FINISH_REASONS))
    told = next((reason for reason in as_list(reasons) if as_word(reason)), None)
    reason = as_word(told) or as_word(_first(found.attributes, *SpanNames.STOP_REASON)) or finish_reason_in(found)
    # The conventions name it in the singular, OpenAI and everybody else in the plural.
    return {"tool_call": "tool_calls", "tool-calls": "tool_calls"}.get(reason, reason) if reason else None


def _usage(attributes: dict[str, Any]) -> dict[str, Any] | None:
    prompt = _count(attributes, SpanNames.INPUT_TOKENS)
    completion = _count(attributes, SpanNames.OUTPUT_TOKENS)
    total = _count(attributes, SpanNames.TOTAL_TOKENS)
    cached = _count(attributes, SpanNames.CACHE_READ_TOKENS)
    written = _count(attributes, SpanNames.CACHE_WRITE_TOKENS)
    reasoning = _count(attributes, SpanNames.REASONING_TOKENS)
    beside = (cached or 0) + (written or 0)
    if prompt is not None and beside > prompt:
        # More from the cache than there was input: it was counted beside the input, as Anthropic does.
        prompt += beside
        total = None
    if prompt is completion is total is None:
        return None
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    if total is None and prompt is not None and completion is not None:
        usage["total_tokens"] = prompt + completion
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if written is not None:
        usage["cache_creation_input_tokens"] = written
    if reasoning is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return usage


def _count(attributes: dict[str, Any], names: tuple[str, ...]) -> int | None:
    value = _first(attributes, *names)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _input_of(found: Span) -> Any:
    given = read_arguments(_first(found.attributes, *SpanNames.INPUT))
    if isinstance(given, dict) and set(given) <= {"args", "kwargs", "sanitize_inputs_outputs"}:
        # What smolagents hands to a tool: its arguments by name, if it was not called by place.
        if given.get("kwargs") and not given.get("args"):
            return given["kwargs"]
        if not given.get("kwargs") and "args" in given:
            return given["args"] or {}
    return given


def _first(attributes: dict[str, Any], *keys: str) -> Any:
    for key in keys:
        value = attributes.get(key)
        if value is not None:
            return value
    return None
