"""
What a span says happened: a model call, a tool call, or a stretch of work.

One mapping for every instrumentation, used for files of spans and for spans as they arrive. Tokens that came from a
cache are part of the input, whichever way they were counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.events.facts import whole_number
from agentdbg.interop.drafts import Step, model_call, read_arguments, span, tool_call
from agentdbg.interop.otel.conventions import GenAI, OpenInference, provider_here
from agentdbg.interop.shapes import as_dict, as_list, as_word
from agentdbg.interop.span_messages import finish_reason_in, listed_under, messages_in, tools_in
from agentdbg.interop.span_names import KIND_NAMES, said_in

if TYPE_CHECKING:
    from agentdbg.interop.spans import Span

__all__ = ["facts_of", "failure_of", "name_of_run", "output_of", "step_of"]

_KINDS = {
    **dict.fromkeys(("llm", "chat", "text_completion", "generate_content", "completion"), "model"),
    **dict.fromkeys(("embeddings", "embedding"), "embedding"),
    **dict.fromkeys(("tool", "execute_tool", "retriever", "reranker", "retrieval", "rerank"), "tool"),
    **dict.fromkeys(("agent", "chain", "workflow", "task", "evaluator", "guardrail"), ""),
    **dict.fromkeys(("invoke_agent", "create_agent", "invoke_workflow"), ""),
}


def step_of(found: Span) -> Step:
    """One span as a step; `key` and `parent` are span ids."""
    place: dict[str, Any] = {
        "key": found.span_id,
        "parent": found.parent_id,
        "at_ms": found.ended_ms if found.ended_ms is not None else found.started_ms,
        "duration_ms": found.duration_ms,
    }
    error = failure_of(found) if found.failed else None
    kind, said = _kind(found.attributes), said_in(found.attributes)
    if kind == "model":
        return _model_step(found, said, error, place)
    if kind == "embedding":
        return _embedding_step(found, said, error, place)
    given, output = _input_of(said), read_arguments(said.get("output"))
    if kind == "tool":
        return tool_call(said.get("tool_name") or found.name, given, None if error else output, error=error, **place)
    return span(found.name, error=error, input=given, output=output, **place)


def output_of(found: Span) -> Any:
    """What the work of a span came to."""
    return read_arguments(said_in(found.attributes).get("output"))


def name_of_run(found: Span) -> str:
    """What a run is called that this span is the root of."""
    return str(said_in(found.attributes).get("agent_name") or found.name)


def facts_of(found: Span) -> dict[str, Any]:
    """What a span says of its run beyond what happened: whose it is, where it ran."""
    facts: dict[str, Any] = {"trace_id": found.trace_id}
    said = {**said_in(found.attributes), "service": found.resource.get("service.name")}
    facts.update((name, said[name]) for name in ("service", "session_id", "user_id") if as_word(said.get(name)))
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
    for name in KIND_NAMES:
        told = attributes.get(name)
        kind = _KINDS.get(told.lower()) if isinstance(told, str) else None
        if kind is not None:
            return kind
    if GenAI.REQUEST_MODEL in attributes or "llm.request.type" in attributes:
        return "model"
    return "tool" if GenAI.TOOL_NAME in attributes or "ai.toolCall.name" in attributes else ""


def _model_step(found: Span, said: dict[str, Any], error: dict[str, Any] | None, place: dict[str, Any]) -> Step:
    prompt = messages_in(found, "input")
    if prompt is None:
        given = _input_of(said)
        prompt = given.get("messages", given) if isinstance(given, dict) else given
    answers = messages_in(found, "output")
    response: Any = answers[0] if answers and len(answers) == 1 else answers
    if response is None:
        response = read_arguments(said.get("output"))
    call = {"prompt": prompt, "response": response, "tools": tools_in(found.attributes), "usage": _usage(said)}
    return _call_of_model(found, said, call, error, place)


def _embedding_step(found: Span, said: dict[str, Any], error: dict[str, Any] | None, place: dict[str, Any]) -> Step:
    """Embeddings, told by how many and how long they are: the numbers themselves say nothing to a person."""
    listed = listed_under(found.attributes, "embedding.embeddings.")
    items = [as_dict(as_dict(item).get("embedding")) for item in listed]
    vectors = [item["vector"] for item in items if isinstance(item.get("vector"), list)]
    texts = [item["text"] for item in items if "text" in item]
    texts = texts or [as_dict(message).get("content") for message in messages_in(found, "input") or ()]
    dimensions = len(vectors[0]) if vectors else found.attributes.get("gen_ai.embeddings.dimension.count")
    usage = _usage(said)
    if usage is not None and usage["total_tokens"] is None:
        usage["total_tokens"] = usage["prompt_tokens"]  # nothing is generated
    call = {
        "prompt": texts[0] if len(texts) == 1 else texts or _input_of(said),
        "response": None if dimensions is None else {"embeddings": len(vectors) or None, "dimensions": dimensions},
        "usage": usage,
    }
    return _call_of_model(found, said, call, error, place)


def _call_of_model(
    found: Span, said: dict[str, Any], call: dict[str, Any], error: dict[str, Any] | None, place: dict[str, Any]
) -> Step:
    told = found.attributes.get(OpenInference.PARAMETERS)
    parameters = {} if told is None else as_dict(read_arguments(told))
    if error:
        call["response"] = None
    return model_call(
        said.get("model") or parameters.get("model") or found.name,
        provider=provider_here(as_word(said.get("provider")).lower()),
        temperature=said.get("temperature", parameters.get("temperature")),
        stop_reason=_stop_reason(found, said),
        error=error,
        cost_usd=said.get("cost_usd"),
        **call,
        **place,
    )


def _stop_reason(found: Span, said: dict[str, Any]) -> str | None:
    reasons = as_list(read_arguments(found.attributes.get(GenAI.FINISH_REASONS)))
    first = as_word(reasons[0]) if reasons else ""
    reason = first or as_word(said.get("stop_reason")) or finish_reason_in(found)
    # The conventions name it in the singular, OpenAI and everybody else in the plural.
    return {"tool_call": "tool_calls", "tool-calls": "tool_calls"}.get(reason, reason) if reason else None


def _usage(said: dict[str, Any]) -> dict[str, Any] | None:
    prompt, completion = whole_number(said.get("input_tokens")), whole_number(said.get("output_tokens"))
    total = whole_number(said.get("total_tokens"))
    cached, written = whole_number(said.get("cache_read_tokens")), whole_number(said.get("cache_write_tokens"))
    reasoning = whole_number(said.get("reasoning_tokens"))
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


def _input_of(said: dict[str, Any]) -> Any:
    given = read_arguments(said.get("input"))
    if isinstance(given, dict) and set(given) <= {"args", "kwargs", "sanitize_inputs_outputs"}:
        # What smolagents hands to a tool: its arguments by name, if it was not called by place.
        if given.get("kwargs") and not given.get("args"):
            return given["kwargs"]
        if not given.get("kwargs") and "args" in given:
            return given["args"] or {}
    return given
